// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Vendor commands of the Key Value command set: published ways to move a small value without a page.
//!
//! Opcodes C0h to FFh are the vendor's (Base, "Opcodes for I/O Commands"). Bits 1:0 tell the direction of the data that
//! DPTR names, so commands that carry their data elsewhere have 00b there: nobody on the way mistakes payload for an
//! address. `docs/vendor-commands.md` has every field; a test holds it and [`COMMANDS`] together.

mod capabilities;
mod counters;
mod fragment;
mod hybrid;
mod indirect;
mod inline;
mod iterator;
mod mmio;
mod piggyback;
mod retrieve;
mod settings;
mod write_stalls;

pub use capabilities::{Capabilities, Methods};
pub use counters::{
    CommandClass, Counter, CounterEntry, CounterKind, CounterOf, CountersHead, LATENCY_BUCKETS,
    asks_for_counters, command_name, latency_bucket, status_detail, status_of,
};
pub use fragment::{Fragment, TRANSFER_BYTES, parts_sum};
pub use hybrid::{HYBRID_PAGE_BYTES, HybridStore, store_hybrid, tail, tail_commands};
pub use indirect::{INDIRECT_KEY_BYTES_MIN, IndirectCommand, IndirectOp, is_indirect};
pub use inline::{InlineStore, SLOT_BYTES, inline_slots, store_inline};
pub use iterator::{IteratorCommand, IteratorRange, NextAnswer, RangeParts, is_iterator};
pub use mmio::{MmioStore, store_mmio};
pub use piggyback::{PIGGYBACK_BYTES, PiggybackStore, piggyback_commands, store_piggyback, transfer};
pub use retrieve::{CQ_SLOT_BYTES, InlineRetrieve, TINY_BYTES, cq_slots, retrieve_inline, retrieve_tiny};
pub use settings::{SetSetting, SettingEntry, SettingPhase, SettingsHead, text, text_of};
pub use write_stalls::{WriteStallEntry, WriteStallSum, WriteStallsHead, WriteState};

/// Log page identifier of [`Capabilities`].
pub const LID_CAPABILITIES: u8 = 0xC0;

/// Log page identifier of [`SettingsHead`].
pub const LID_SETTINGS: u8 = 0xC1;

/// Log page identifier of [`WriteStallsHead`].
pub const LID_WRITE_STALLS: u8 = 0xC2;

/// Log page identifier of [`CountersHead`].
pub const LID_COUNTERS: u8 = 0xC3;

/// Feature identifier of [`SetSetting`].
pub const FID_SETTING: u8 = 0xC0;

/// Declares the opcodes, each with its name and whether it changes content.
macro_rules! commands {
    ($( $(#[$doc:meta])* $opcode:ident = $code:literal, $name:literal, $changes:literal; )*) => {
        /// Opcodes.
        pub mod opcode {
            $( $(#[$doc])* pub const $opcode: u8 = $code; )*
        }

        /// Every vendor command: opcode, name, whether it changes content.
        pub const COMMANDS: [(u8, &str, bool); [$($code),*].len()] =
            [$( (opcode::$opcode, $name, $changes) ),*];
    };
}

commands! {
    /// Store whose value is in the entry, the rest in [`TRANSFER`]s: no data at DPTR.
    STORE_PIGGYBACK = 0xC0, "Store Piggyback", true;
    /// Store of whole pages at DPTR after [`TAIL`]s: data from the host.
    STORE_HYBRID = 0xC1, "Store Hybrid", true;
    /// 56 bytes of the value that a piggyback store began: no data at DPTR.
    TRANSFER = 0xC4, "Transfer", true;
    /// 56 bytes of what follows the pages of the next hybrid store: no data at DPTR.
    TAIL = 0xC8, "Tail", false;
    /// Store whose value is in the queue entries behind it: no data at DPTR.
    STORE_INLINE = 0xCC, "Store Inline", true;
    /// Store whose value the host has stored through the BAR: no data at DPTR.
    STORE_MMIO = 0xD0, "Store MMIO", true;
    /// Retrieve of a value of up to 4 bytes in the completion: no data at DPTR.
    RETRIEVE_TINY = 0xD4, "Retrieve Tiny", false;
    /// Retrieve into the completion queue: no data at DPTR.
    RETRIEVE_INLINE = 0xD8, "Retrieve Inline", false;
    /// Retrieve with the version of the pair before its value: data to the host.
    RETRIEVE_VERSIONED = 0xD2, "Retrieve Versioned", false;
    /// Results of a group, by its identification: data to the host.
    GROUP_RESULTS = 0xC2, "Group Results", false;
    /// Many operations, and their results in the same buffer: data both ways.
    GROUP_BOTH_WAYS = 0xC3, "Group Both Ways", true;
    /// Many operations: data from the host.
    GROUP = 0xC5, "Group", true;
    /// Keys that belong together: data from the host.
    GROUP_PREFETCH = 0xC9, "Prefetch Group", false;
    /// Store with a key by pointer: data from the host.
    STORE_INDIRECT = 0xCD, "Store Indirect", true;
    /// Retrieve with a key by pointer: data to the host.
    RETRIEVE_INDIRECT = 0xCE, "Retrieve Indirect", false;
    /// Delete with a key by pointer: no data at DPTR.
    DELETE_INDIRECT = 0xDC, "Delete Indirect", true;
    /// Exist with a key by pointer: no data at DPTR.
    EXIST_INDIRECT = 0xE0, "Exist Indirect", false;
    /// Stores named by a vector of addresses: the vector comes from the host.
    GROUP_VECTOR = 0xD1, "Group Vector", true;
    /// Stores that the device unpacks into records of their own: data from the host.
    BULK_PUT = 0xD5, "Bulk Put", true;
    /// Begins to iterate over a range of keys: the range comes from the host.
    ITERATOR_OPEN = 0xD9, "Iterator Open", false;
    /// The next pairs of an iterator: data to the host.
    ITERATOR_NEXT = 0xDA, "Iterator Next", false;
    /// Ends an iterator: no data at DPTR.
    ITERATOR_CLOSE = 0xE4, "Iterator Close", false;
    /// Entries of a transaction in parts: data from the host.
    TRANSACTION_PART = 0xDD, "Transaction Part", true;
    /// Begins, commits or ends a transaction in parts, or asks what became of it: no data at DPTR.
    TRANSACTION_CONTROL = 0xE8, "Transaction Control", true;
}
