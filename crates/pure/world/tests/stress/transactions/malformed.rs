// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions that must be refused: their status, where DW0 points, and that nothing has changed.

use super::{DELETE, ENGINES, Entry, RETRIEVE, STORE, VERSIONS, pack, transact};
use crate::stress::groups::{end, roomy, small_with};
use crate::stress::rig::{Machine, Rig};
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_nvme::Status;
use saker_nvme::group::{Ask, CountedRange, Form, GroupMode};
use saker_nvme::vendor_specific::Methods;
use saker_segment_store::Stream;
use saker_world::{Clocked, Inline};

const TRANSACTION: GroupMode = GroupMode { is_transaction: true, has_versions: false };

fn entry(ask: Ask, key: &[u8], rest: &[u8]) -> Entry {
    (ask, key.to_vec(), rest.to_vec())
}

/// What is wrong, form, payload, status, DW0.
fn cases() -> Vec<(&'static str, Form, Vec<u8>, Status, u32)> {
    let (field, key_size) = (Status::INVALID_FIELD, Status::INVALID_KEY_SIZE);
    let raw = |bytes: &[u8]| (Form::Mixed, bytes.to_vec());
    let behind = |other: Entry| pack(&[entry(STORE, b"new", b"1"), other, entry(STORE, b"too", b"2")]);
    let long = vec![0; 64 << 10];
    let with = |what, (form, payload), status, at| (what, form, payload, status, at);
    vec![
        with("no count", raw(&[1, 0]), field, 0),
        with("no entries", raw(&[0; 4]), field, 0),
        with("more entries than bytes", raw(b"\x09\0\0\0\x10\0\0\0\x01\0\0\0k\0\0\0"), field, 16),
        with("a count that overflows", raw(b"\xFF\xFF\xFF\xFF\x10\0\0\0\x01\0\0\0k\0\0\0"), field, 16),
        with("a key past the end", raw(b"\x01\0\0\0\x10\0\0\0\x05\0\0\0abcd"), field, 8),
        with(
            "a length that overflows",
            raw(b"\x01\0\0\0\x13\0\0\0\x01\0\0\0k\0\0\0\xFC\xFF\xFF\xFF"),
            field,
            16,
        ),
        with("no key", raw(b"\x01\0\0\0\x11\0\0\0\0\0\0\0"), key_size, 8),
        with(
            "a key of 256 bytes",
            raw(&[&b"\x01\0\0\0\x11\0\0\0\0\x01\0\0"[..], &[1; 256]].concat()),
            key_size,
            8,
        ),
        with("padding", raw(b"\x01\0\0\0\x10\0\0\0\x01\0\0\0k\0\0\x01"), field, 13),
        with("bytes behind the end", raw(b"\x01\0\0\0\x10\0\0\0\x01\0\0\0k\0\0\0\0"), field, 16),
        with("an unknown type", raw(b"\x01\0\0\0\x15\0\0\0\x01\0\0\0k\0\0\0"), field, 4),
        with("a reserved flag", raw(b"\x01\0\0\0\x10\x01\0\0\x01\0\0\0k\0\0\0"), field, 4),
        with("a short version", raw(b"\x01\0\0\0\x12\0\0\0\x01\0\0\0k\0\0\0\x04\0\0\0abcd"), field, 16),
        with("a short range", raw(b"\x01\0\0\0\x14\0\0\0\x01\0\0\0k\0\0\0\x03\0\0\0abc\0"), field, 16),
        with("a range up to a long key", pack(&[entry(Ask::Range, b"k", &[7; 21])]), field, 16),
        with("a range from a long key", pack(&[entry(Ask::Range, &[7; 17], &[0; 4])]), key_size, 8),
        with("a long payload", behind(entry(STORE, b"k", &long)), field, 0),
        with("absent", behind(entry(Ask::Absent, b"a", b"")), Status::PRECONDITION_FAILED, 1),
        with("present", behind(entry(Ask::Present, b"no", b"")), Status::PRECONDITION_FAILED, 1),
        with("a value", behind(entry(Ask::Value, b"a", b"keep")), Status::PRECONDITION_FAILED, 1),
        with("a version", behind(entry(Ask::Version, b"a", &[1; 24])), Status::PRECONDITION_FAILED, 1),
        with("no version", behind(entry(Ask::Version, b"a", &[0; 24])), Status::PRECONDITION_FAILED, 1),
        with("nothing to delete", behind(entry(DELETE, b"no", b"")), Status::KEY_DOES_NOT_EXIST, 1),
        with("a key stored twice", behind(entry(STORE, b"new", b"")), Status::WRITTEN_TWICE, 1),
        with("a key deleted, too", behind(entry(DELETE, b"new", b"")), Status::WRITTEN_TWICE, 1),
        with(
            "a condition before a key that is written twice",
            pack(&[entry(STORE, b"b", b"1"), entry(Ask::Present, b"no", b""), entry(DELETE, b"b", b"")]),
            Status::PRECONDITION_FAILED,
            1,
        ),
        with(
            "stores alone, one twice",
            pack(&[entry(STORE, b"b", b"1"), entry(STORE, b"c", b"2"), entry(STORE, b"b", b"3")]),
            Status::WRITTEN_TWICE,
            2,
        ),
        with(
            "a long key that is not there",
            behind(entry(DELETE, &[b'x'; 40], b"")),
            Status::KEY_DOES_NOT_EXIST,
            1,
        ),
        with(
            "a long key that is",
            behind(entry(Ask::Absent, &[b'l'; 40], b"")),
            Status::PRECONDITION_FAILED,
            1,
        ),
    ]
}

/// What was appended to the log. To look for a key, a hash FTL may send sections away: their pages do not count.
fn records_written<D: Machine>(rig: &mut Rig<D>) -> ([u64; Stream::COUNT], u64) {
    let log = rig.machine.stats().namespaces[0].log;
    let mut appended = log.bytes_appended;
    appended[Stream::Map as usize] = 0;
    (appended, log.segments_erased)
}

fn refused<D: Machine>(build: &Build) {
    let mut rig = Rig::<D>::new(build);
    let good = [entry(STORE, b"a", b"kept"), entry(STORE, &[b'l'; 40], b"kept, too")];
    transact(&mut rig, &good).expect("room");
    rig.machine.rest();
    for (what, form, payload, status, at) in cases() {
        let before = (rig.machine.digest(), records_written(&mut rig));
        let id = saker_nvme::Key::new(b"id").expect("a name");
        for id in [None, Some(id)] {
            let ticket = rig.kv.group_in_mode(form, TRANSACTION, id, &payload).expect("room");
            let ended = end(&mut rig, ticket);
            assert!(ended.0.is(status) && ended.1 == at, "{what}: {} at {}", ended.0, ended.1);
        }
        let buffer = payload.len().max(4096) as u32;
        let ticket = rig.kv.group_both_ways_in_mode(form, VERSIONS, &payload, buffer).expect("room");
        let ended = end(&mut rig, ticket);
        assert!(ended.0.is(status) && ended.1 == at, "{what}: {} at {}", ended.0, ended.1);
        rig.machine.rest();
        let after = (rig.machine.digest(), records_written(&mut rig));
        assert_eq!(before, after, "{what}");
        let ticket = rig.kv.group_results(id, 64).expect("room");
        assert!(end(&mut rig, ticket).0.is(Status::KEY_DOES_NOT_EXIST), "{what}: it has no results");
    }
}

#[test]
fn refused_without_time() {
    refused::<Inline>(&roomy(true, 1));
    ENGINES.iter().for_each(|engine| refused::<Inline>(&small_with(*engine, true, 1)));
}

#[test]
fn refused_in_virtual_time() {
    ENGINES.iter().for_each(|engine| refused::<Clocked>(&small_with(*engine, true, 2)));
}

/// A buffer without room for the results without values is refused before anything is done.
#[test]
fn a_buffer_that_is_too_short() {
    let mut rig = Rig::<Inline>::new(&roomy(true, 1));
    let entries: Vec<_> = (0..9).map(|n| entry(STORE, &[n + 1], b"")).collect();
    let (form, payload) = pack(&entries);
    let heads = 4 + 9 * 32;
    assert!(payload.len() < heads as usize);
    let ticket = rig.kv.group_both_ways_in_mode(form, VERSIONS, &payload, heads - 1).expect("room");
    let ended = end(&mut rig, ticket);
    assert!(ended.0.is(Status::INVALID_FIELD), "{}", ended.0);
    let found = transact(&mut rig, &[entry(RETRIEVE, &[1], b"")]).expect("a read");
    assert!(found[0].1.is_absent());
    let ticket = rig.kv.group_both_ways_in_mode(form, VERSIONS, &payload, heads).expect("room");
    assert!(end(&mut rig, ticket).0.is_success());
}

/// A device without the bit of the log page refuses the bits of the command, as every device did.
#[test]
fn a_device_without_transactions_refuses_their_bits() {
    let mut build = roomy(true, 1);
    build.config.methods = Methods(Methods::ALL.0).with_transactions(false);
    let mut rig = Rig::<Inline>::new(&build);
    let refused = transact(&mut rig, &[entry(STORE, b"a", b"1")]).expect_err("it has none");
    assert!(refused.0.is(Status::INVALID_FIELD), "{}", refused.0);
}

/// A range that has another count refuses the transaction, one with the right count does not; engines without an order of keys say so.
#[test]
fn ranges_are_judged_where_keys_are_in_order() {
    for engine in ENGINES.iter().copied() {
        let mut rig = Rig::<Inline>::new(&small_with(engine, true, 6));
        let stores: Vec<_> = [b"a", b"b", b"c", b"x"].iter().map(|key| entry(STORE, *key, b"1")).collect();
        transact(&mut rig, &stores).expect("room");
        let counted = |count, to: &[u8]| {
            vec![entry(Ask::Range, b"b", &CountedRange { count, to }.encode()), entry(STORE, b"bb", b"new")]
        };
        let refused = transact(&mut rig, &counted(3, b"x")).expect_err("there are two");
        if ![EngineKind::LSM, EngineKind::TREE].contains(&engine) {
            assert!(refused.0.is(Status::NO_RANGES) && refused.1 == 0, "{engine:?}: {}", refused.0);
            continue;
        }
        assert!(refused.0.is(Status::PRECONDITION_FAILED) && refused.1 == 0, "{engine:?}: {}", refused.0);
        // The first adds a key to the range.
        for (count, to, holds) in
            [(2, &b"x"[..], true), (2, b"x", false), (3, b"x", true), (5, b"", false), (4, b"", true)]
        {
            let done = transact(&mut rig, &counted(count, to));
            let unmet = done.as_ref().is_err_and(|(status, _)| status.is(Status::PRECONDITION_FAILED));
            assert_eq!((done.is_ok(), unmet), (holds, !holds), "{engine:?}: {count} up to {to:?}");
        }
    }
}
