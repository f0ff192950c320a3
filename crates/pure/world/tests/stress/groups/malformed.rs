// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups that must be refused: their status, where DW0 points, and that nothing has changed.

use super::{end, pack, roomy};
use crate::stress::rig::{Machine, Rig};
use saker_nvme::Status;
use saker_nvme::group::{Form, Op};
use saker_world::{Clocked, Inline};

const STORE: Form = Form::All(Op::Store);
const DELETE: Form = Form::All(Op::Delete);

fn cases() -> Vec<(&'static str, Form, Vec<u8>, Status, u32)> {
    let (field, key_size) = (Status::INVALID_FIELD, Status::INVALID_KEY_SIZE);
    let pair = |k: &[u8]| (Op::Store, k.to_vec(), b"v".to_vec());
    let twice = pack(STORE, &[pair(b"a"), pair(b"b"), pair(b"a")]);
    let read_too = [pair(b"a"), (Op::Retrieve, b"a".to_vec(), vec![])];
    let deleted_twice = [(Op::Delete, b"a".to_vec(), vec![]), (Op::Delete, b"a".to_vec(), vec![])];
    let too_long = pack(STORE, &[(Op::Store, b"a".to_vec(), vec![0; 64 << 10])]);
    vec![
        ("no count", STORE, vec![1, 0], field, 0),
        ("no entries", STORE, vec![0; 4], field, 0),
        ("more entries than bytes", STORE, b"\x09\0\0\0\x01\0\0\0k\0\0\0\0\0\0\0".to_vec(), field, 16),
        ("a key past the end", DELETE, b"\x01\0\0\0\x05\0\0\0abcd".to_vec(), field, 4),
        ("a value past the end", STORE, b"\x01\0\0\0\x01\0\0\0k\0\0\0\xFC\xFF\xFF\xFF".to_vec(), field, 12),
        ("no key", DELETE, b"\x01\0\0\0\0\0\0\0".to_vec(), key_size, 4),
        ("a key of 256 bytes", DELETE, [&b"\x01\0\0\0\0\x01\0\0"[..], &[1; 256]].concat(), key_size, 4),
        ("padding", DELETE, b"\x01\0\0\0\x01\0\0\0k\0\0\x01".to_vec(), field, 9),
        ("bytes behind the end", DELETE, b"\x01\0\0\0\x01\0\0\0k\0\0\0\0".to_vec(), field, 12),
        ("an unknown type", Form::Mixed, b"\x01\0\0\0\x05\0\0\0\x01\0\0\0k\0\0\0".to_vec(), field, 4),
        ("a reserved flag", Form::Mixed, b"\x01\0\0\0\x03\x01\0\0\x01\0\0\0k\0\0\0".to_vec(), field, 4),
        ("a key stored twice", STORE, twice, field, 4 + 2 * 16),
        ("a key stored and read", Form::Mixed, pack(Form::Mixed, &read_too), field, 4 + 20 + 4),
        ("a key deleted twice", DELETE, pack(DELETE, &deleted_twice), field, 4 + 8),
        ("a payload longer than the store takes", STORE, too_long, field, 0),
    ]
}

fn refused<D: Machine>() {
    let mut rig = Rig::<D>::new(&roomy(true, 1));
    let good = pack(STORE, &[(Op::Store, b"a".to_vec(), b"kept".to_vec())]);
    let ticket = rig.kv.group(STORE, None, &good).expect("room");
    assert!(end(&mut rig, ticket).0.is_success());
    rig.machine.rest();
    for (what, form, payload, status, at) in cases() {
        let before = (rig.machine.digest(), rig.machine.stats().namespaces[0].log);
        let id = saker_nvme::Key::new(b"id").ok().filter(|_| form.may_read());
        let ticket = rig.kv.group(form, id, &payload).expect("room");
        let ended = end(&mut rig, ticket);
        assert_eq!((ended.0, ended.1), (status, at), "{what}");
        rig.machine.rest();
        let after = (rig.machine.digest(), rig.machine.stats().namespaces[0].log);
        assert_eq!(before, after, "{what}");
    }
    let ticket = rig.kv.group_results(saker_nvme::Key::new(b"id").expect("a name"), 64).expect("room");
    assert!(end(&mut rig, ticket).0.is(Status::KEY_DOES_NOT_EXIST), "a refused group has no results");
}

#[test]
fn refused_without_time() {
    refused::<Inline>();
}

#[test]
fn refused_in_virtual_time() {
    refused::<Clocked>();
}
