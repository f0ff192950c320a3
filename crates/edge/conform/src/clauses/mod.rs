// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The clauses, in the order in which they are examined.

mod identify;
mod keys;
mod listing;
mod malformed;
mod order;
mod removal;
mod values;

use crate::session::{Checked, Session};

/// A clause.
pub(crate) struct Clause {
    /// Short name, stable.
    pub id: &'static str,
    /// Where the specification says it.
    pub source: &'static str,
    /// What it says.
    pub says: &'static str,
    /// Examines it.
    pub check: fn(&mut Session<'_>) -> Checked,
}

macro_rules! clauses {
    ($($id:literal, $source:literal, $says:literal, $check:path;)*) => {
        &[$(Clause { id: $id, source: $source, says: $says, check: $check }),*]
    };
}

/// All of them.
pub(crate) const ALL: &[Clause] = clauses! {
    "identify-descriptors", "Base 5.17.2.3", "the descriptors of the namespace tell CSI 01h", identify::descriptors;
    "identify-sets", "Base 5.17.2.20", "a combination of command sets has Key Value", identify::command_sets;
    "identify-formats", "KV 4.1.5.1", "there are 1 to 16 formats, the one in force has keys of 1 to 16 bytes and values", identify::formats;
    "identify-reserved", "KV 4.1.5.1", "reserved fields of the namespace's data are zero", identify::reserved;
    "identify-usage", "KV 4.1.5.1", "NUSE is at most NSZE, and follows what is stored", identify::usage;
    "identify-ready", "Base 5.17.2.8", "the namespace is ready (NSTAT bit 0) in data of all command sets", identify::ready;
    "identify-missing", "Base 5.17.2", "a namespace that is not there is 0Bh, or all zero", identify::missing;
    "identify-effects", "Base 5.16.1.6", "the effects log lists the five commands; Store and Delete change content", identify::effects;
    "identify-ednek", "KV 4.1.3.1", "feature 20h can be read", identify::key_value_feature;
    "value-sizes", "KV 3.2.5, 3.2.4", "values of all sizes up to KVVML come back as stored, DW0 is the size", values::sizes;
    "value-empty", "KV 3.2.5", "an empty value is a pair like any other", values::empty;
    "value-replace", "KV 3.2.5", "Store replaces the whole value, a longer one too", values::replace;
    "value-too-long", "KV 3.2.5", "a value above KVVML is 85h, and nothing is stored", values::too_long;
    "retrieve-missing", "KV 3.2.4", "Retrieve of a key that is not there is 87h", values::missing;
    "retrieve-short", "KV 3.2.4", "a short buffer gets the value's first bytes; success, DW0 is the whole size", values::short_buffer;
    "retrieve-long", "KV 3.2.4", "a long buffer gets the value and nothing behind it", values::long_buffer;
    "retrieve-size", "KV 3.2.4", "a buffer of no bytes asks for the size", values::size_only;
    "retrieve-raw", "KV 3.2.4", "a controller that does not compress ignores the raw bit", values::raw_bit;
    "store-must-exist", "KV 3.2.5", "option bit 8: only if the key exists, else 87h", values::must_exist;
    "store-must-not-exist", "KV 3.2.5", "option bit 9: only if the key does not exist, else 89h", values::must_not_exist;
    "store-no-compression", "KV 3.2.5", "option bit 10 changes nothing of the value", values::no_compression;
    "store-both", "KV 3.2.5", "options bit 8 and 9 together", values::both_options;
    "key-lengths", "KV 2.1", "keys of every length up to KVKML are keys", keys::lengths;
    "key-extended", "KV 2.1", "a key and its longer forms with zeros are different keys", keys::extended;
    "key-binary", "KV 2.1", "keys are bytes, none of them special", keys::binary;
    "key-too-long", "KV 2.1.5", "a key length above 16 is 02h for every command", keys::above_16;
    "key-above-format", "KV 3.2.3 to 3.2.5", "a key length above KVKML is 86h", keys::above_format;
    "key-empty", "KV 2.1", "a key length of 0", keys::empty;
    "key-rest", "KV 3.2", "key bytes behind the length", keys::rest;
    "exist", "KV 3.2.2", "Exist: success for a key that is there, 87h for one that is not", removal::exist;
    "delete", "KV 3.2.1", "Delete removes the pair, and no other", removal::delete;
    "delete-store", "KV 3.2.1", "a deleted key can be stored again", removal::again;
    "delete-ednek-0", "KV 4.1.3.1", "with EDNEK 0 deleting a key that is not there succeeds", removal::lenient;
    "delete-ednek-1", "KV 4.1.3.1", "with EDNEK 1 deleting a key that is not there is 87h", removal::strict;
    "list-all", "KV 3.2.3", "paging through List names every key once", listing::all;
    "list-start", "KV 3.2.3", "a List begins with the key it is given, if that exists", listing::start;
    "list-stable", "KV 3.2.3", "the order does not change while nothing is stored or deleted", listing::stable;
    "list-missing-start", "KV 3.2.3", "the first key after one that does not exist is always the same", listing::missing_start;
    "list-fits", "KV 3.2.3", "as many whole keys are returned as the buffer takes", listing::fits;
    "list-aligned", "KV 3.2.3", "entries begin at multiples of four bytes", listing::aligned;
    "list-changes", "KV 3.2.3", "deleted keys are gone from List, stored ones are there", listing::changes;
    "list-end", "KV 3.2.3", "a List from the last key on", listing::end;
    "list-tiny", "KV 3.2.3", "a buffer of less than four bytes", listing::tiny;
    "opcode-unknown", "Base 3.3.3.2", "an opcode that is none is 01h", malformed::opcode;
    "namespace-missing", "Base 3.3.3.2", "a command for a namespace that is not there is 0Bh", malformed::namespace;
    "namespace-all", "KV 3", "Key Value commands take no NSID FFFFFFFFh", malformed::all_namespaces;
    "fused", "KV 3", "there are no fused operations", malformed::fused;
    "reserved-fields", "Base 1.4", "commands with reserved fields set do what they say, or fail and do nothing", malformed::reserved;
    "flush", "Base 7.1", "Flush succeeds and keeps what is stored", malformed::flush;
    "atomic", "KV 2.2", "a Retrieve beside Stores of its key sees one of the values whole", order::atomic;
    "many", "Base 3.3", "commands in flight together are all answered, each with its own data", order::many;
};
