// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decisions of `saker_nvme::kv` where the specification is silent, end to end.

use crate::stress::oracle::set_key;
use crate::stress::rig::{self, KV, Machine, Rig};
use saker_host::RawData;
use saker_link::Sqe;
use saker_nvme::{NSID_ALL, Status, kv};
use saker_world::{Clocked, Inline};

/// The table "where the specification is silent", end to end.
fn silent<D: Machine>() {
    let mut rig = Rig::<D>::new(&rig::roomy(true, 1));
    let named = |opcode, name: &[u8], length, size: u32| {
        let mut sqe = Sqe::new(opcode, KV);
        let mut key = [0xEE; 16];
        key[..name.len()].copy_from_slice(name);
        sqe.cdw10.set(size);
        set_key(&mut sqe, &key, length);
        sqe
    };
    let mut ask = |sqe: Sqe, data: RawData<'_>| rig.call(KV, sqe, data);
    let stored = ask(named(1, b"ab", 2, 3), RawData::ToDevice(b"xyz"));
    assert!(stored.status.is_success() && stored.dw0 == 0, "{stored:?}");
    for opcode in [1, 2, 0x10, 0x14, 6] {
        for length in [17, 255] {
            let answer = ask(named(opcode, b"ab", length, 64), RawData::FromDevice(64));
            assert!(answer.status.is(Status::INVALID_FIELD), "KL {length}, opcode {opcode:#x}: {answer:?}");
        }
        let answer = ask(named(opcode, b"", 0, 64), RawData::FromDevice(64));
        let expected = if opcode == 6 { Status::SUCCESS } else { Status::INVALID_KEY_SIZE };
        assert!(answer.status.is(expected), "KL 0, opcode {opcode:#x}: {answer:?}");
        let broadcast = Sqe { nsid: NSID_ALL.into(), ..named(opcode, b"ab", 2, 64) };
        assert!(ask(broadcast, RawData::FromDevice(64)).status.is(Status::INVALID_FIELD));
        for flags in [1, 2, 0x40, 0x80, 0xC0] {
            let answer = ask(Sqe { flags, ..named(opcode, b"ab", 2, 64) }, RawData::FromDevice(64));
            assert!(answer.status.is(Status::INVALID_FIELD), "flags {flags:#x}: {answer:?}");
        }
    }
    // Bytes beyond KL do not make another key.
    let answer = ask(named(0x14, b"abz", 2, 0), RawData::Untouched);
    assert!(answer.status.is_success() && answer.dw0 == 0, "{answer:?}");
    // List: fewer bytes than NRK needs; one entry with its padding is 4 + 4 bytes; past the last key, none.
    assert!(ask(named(6, b"", 0, 3), RawData::FromDevice(64)).status.is(Status::INVALID_FIELD));
    let seven = ask(named(6, b"", 0, 7), RawData::FromDevice(64));
    assert!(seven.status.is_success() && seven.dw0 == 0 && seven.data[..4] == [0; 4], "{seven:?}");
    let eight = ask(named(6, b"", 0, 8), RawData::FromDevice(64));
    assert_eq!(&eight.data[..8], [1, 0, 0, 0, 2, 0, b'a', b'b'].as_slice());
    // Both conditions at once; unknown option bits; reserved bits anywhere.
    let both = Sqe { cdw11: (0b011 << 8 | 2).into(), ..named(1, b"ab", 2, 3) };
    assert!(ask(both, RawData::ToDevice(b"xyz")).status.is(Status::INVALID_FIELD));
    let reserved = Sqe { cdw11: (0xFFFF_F800 | 2).into(), cdw12: u32::MAX.into(), ..named(1, b"ab", 2, 3) };
    assert!(ask(reserved, RawData::ToDevice(b"new")).status.is_success());
    let raw = Sqe { cdw11: (1 << 8 | 2).into(), ..named(2, b"ab", 2, 64) };
    let answer = ask(raw, RawData::FromDevice(64));
    assert!(answer.status.is_success() && answer.dw0 == 3 && &answer.data[..3] == b"new", "{answer:?}");
    // Delete of a missing key is a success by default; reservations and unknown opcodes are 01h.
    let answer = ask(named(0x10, b"no", 2, 0), RawData::Untouched);
    assert!(answer.status.is_success() && answer.dw0 == 0, "{answer:?}");
    for opcode in [0x0D, 0x0E, 0x11, 0x15, 0x05, 0x80, 0xFF] {
        assert!(ask(named(opcode, b"ab", 2, 0), RawData::Untouched).status.is(Status::INVALID_OPCODE));
    }
    assert!(ask(kv::flush(NSID_ALL), RawData::Untouched).status.is_success());
}

#[test]
fn where_the_specification_is_silent() {
    silent::<Inline>();
    silent::<Clocked>();
}
