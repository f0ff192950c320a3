// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Key Value commands: golden entries, the decisions of the module's table, round trips.

use proptest::prelude::*;
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::{Key, KvCommand, NSID_ALL, PointerRule, Sqe, Status};
use zerocopy::{FromBytes, IntoBytes};

fn key() -> Key {
    Key::new(b"ABCDEFGHIJ").unwrap()
}

/// Opcode, NSID 7 and the ten-byte key; CDW10 and CDW11 as given.
fn expected(opcode: u8, cdw10: &[u8], cdw11: &[u8]) -> Vec<u8> {
    crate::golden::image(
        64,
        &[(0, &[opcode]), (4, &[7]), (8, b"ABCDEFGH"), (40, cdw10), (44, cdw11), (56, b"IJ")],
    )
}

#[test]
fn golden_entries() {
    let all = StoreOptions::MUST_EXIST | StoreOptions::DO_NOT_COMPRESS;
    assert_eq!(kv::store(7, &key(), 0x0403_0201, all).as_bytes(), expected(1, &[1, 2, 3, 4], &[10, 5]));
    let absent = StoreOptions::MUST_NOT_EXIST;
    assert_eq!(kv::store(7, &key(), 0, absent).as_bytes(), expected(1, &[], &[10, 2]));
    assert_eq!(kv::retrieve(7, &key(), 0x1000).as_bytes(), expected(2, &[0, 0x10], &[10]));
    assert_eq!(kv::retrieve_raw(7, &key(), 0x1000).as_bytes(), expected(2, &[0, 0x10], &[10, 1]));
    assert_eq!(kv::list(7, Some(&key()), 44).as_bytes(), expected(6, &[44], &[10]));
    assert_eq!(kv::delete(7, &key()).as_bytes(), expected(0x10, &[], &[10]));
    assert_eq!(kv::exist(7, &key()).as_bytes(), expected(0x14, &[], &[10]));
    let list = crate::golden::image(64, &[(0, &[6]), (4, &[7]), (40, &[44])]);
    assert_eq!(kv::list(7, None, 44).as_bytes(), list);
    assert_eq!(kv::flush(NSID_ALL).as_bytes(), crate::golden::image(64, &[(4, &[255; 4])]));
}

/// One entry of each command that names a key.
fn keyed() -> [Sqe; 5] {
    let key = key();
    [
        kv::store(7, &key, 1, StoreOptions::NONE),
        kv::retrieve(7, &key, 1),
        kv::delete(7, &key),
        kv::exist(7, &key),
        kv::list(7, Some(&key), 44),
    ]
}

fn with_kl(mut sqe: Sqe, kl: u32) -> Sqe {
    sqe.cdw11 = kl.into();
    sqe
}

#[test]
fn key_length_above_16_is_an_invalid_field() {
    for sqe in keyed() {
        for kl in [17, 18, 255] {
            assert_eq!(KvCommand::decode(&with_kl(sqe, kl)), Err(Status::INVALID_FIELD), "{sqe:?}");
        }
    }
}

#[test]
fn key_length_0_is_an_invalid_key_but_for_list() {
    let [keyed @ .., list] = keyed();
    for sqe in keyed {
        assert_eq!(KvCommand::decode(&with_kl(sqe, 0)), Err(Status::INVALID_KEY_SIZE), "{sqe:?}");
    }
    let decoded = KvCommand::decode(&with_kl(list, 0));
    assert_eq!(decoded, Ok(KvCommand::List { start: None, buffer_bytes: 44 }));
}

#[test]
fn list_needs_room_for_nrk() {
    for (bytes, ok) in [(0, false), (3, false), (4, true)] {
        assert_eq!(KvCommand::decode(&kv::list(7, None, bytes)).is_ok(), ok, "{bytes}");
    }
    assert_eq!(KvCommand::decode(&kv::list(7, None, 3)), Err(Status::INVALID_FIELD));
}

#[test]
fn contradictory_store_is_an_invalid_field() {
    let both = StoreOptions::MUST_EXIST | StoreOptions::MUST_NOT_EXIST;
    for options in [both, both | StoreOptions::DO_NOT_COMPRESS] {
        assert_eq!(KvCommand::decode(&kv::store(7, &key(), 1, options)), Err(Status::INVALID_FIELD));
    }
}

#[test]
fn reserved_bits_are_ignored() {
    for clean in keyed() {
        let mut sqe = clean;
        sqe.flags |= 0x3C;
        sqe.cdw12 = u32::MAX.into();
        sqe.cdw13 = u32::MAX.into();
        sqe.mptr = u64::MAX.into();
        let defined = match sqe.opcode {
            kv::opcode::STORE => 0x07FF,
            kv::opcode::RETRIEVE => 0x01FF,
            _ => 0x00FF,
        };
        sqe.cdw11 = (sqe.cdw11.get() | !defined).into();
        if matches!(sqe.opcode, kv::opcode::DELETE | kv::opcode::EXIST) {
            sqe.cdw10 = u32::MAX.into();
        }
        assert_eq!(KvCommand::decode(&sqe), KvCommand::decode(&clean));
        assert!(KvCommand::decode(&sqe).is_ok(), "{sqe:?}");
    }
}

#[test]
fn broadcast_nsid_is_for_flush_alone() {
    for mut sqe in keyed() {
        sqe.nsid = NSID_ALL.into();
        assert_eq!(KvCommand::decode(&sqe), Err(Status::INVALID_FIELD), "{sqe:?}");
    }
    assert_eq!(KvCommand::decode(&kv::flush(NSID_ALL)), Ok(KvCommand::Flush));
}

#[test]
fn flags_follow_the_rule_of_the_transport() {
    for clean in keyed().into_iter().chain([kv::flush(7)]) {
        for flags in [0x01, 0x02, 0x40, 0x80, 0xC0] {
            let mut sqe = clean;
            sqe.flags = flags;
            assert_eq!(KvCommand::decode(&sqe), Err(Status::INVALID_FIELD), "{sqe:?}");
            let admitted = matches!(flags, 0x40 | 0x80);
            assert_eq!(KvCommand::decode_with(&sqe, PointerRule::Sgl).is_ok(), admitted, "{sqe:?}");
        }
    }
}

#[test]
fn other_opcodes_are_invalid_before_anything_else() {
    let known = [0x00, 0x01, 0x02, 0x06, 0x10, 0x14];
    for opcode in (0..=255).filter(|opcode| !known.contains(opcode)) {
        let mut sqe = Sqe::new(opcode, NSID_ALL);
        sqe.flags = 0xFF;
        assert_eq!(KvCommand::decode(&sqe), Err(Status::INVALID_OPCODE), "{opcode:#x}");
    }
}

fn any_key() -> impl Strategy<Value = Key> {
    proptest::collection::vec(any::<u8>(), 1..=16).prop_map(|bytes| Key::new(&bytes).unwrap())
}

fn any_options() -> impl Strategy<Value = StoreOptions> {
    let condition = prop_oneof![
        Just(StoreOptions::NONE),
        Just(StoreOptions::MUST_EXIST),
        Just(StoreOptions::MUST_NOT_EXIST)
    ];
    (condition, any::<bool>())
        .prop_map(|(condition, raw)| if raw { condition | StoreOptions::DO_NOT_COMPRESS } else { condition })
}

fn any_command() -> impl Strategy<Value = KvCommand> {
    prop_oneof![
        Just(KvCommand::Flush),
        (any_key(), any::<u32>(), any_options()).prop_map(|(key, value_bytes, options)| KvCommand::Store {
            key,
            value_bytes,
            options
        }),
        (any_key(), any::<u32>(), any::<bool>()).prop_map(|(key, buffer_bytes, raw)| KvCommand::Retrieve {
            key,
            buffer_bytes,
            raw
        }),
        any_key().prop_map(|key| KvCommand::Delete { key }),
        any_key().prop_map(|key| KvCommand::Exist { key }),
        (proptest::option::of(any_key()), 4..=u32::MAX)
            .prop_map(|(start, buffer_bytes)| KvCommand::List { start, buffer_bytes }),
    ]
}

proptest! {
    #[test]
    fn encode_decode_encode(command in any_command(), nsid in 1..NSID_ALL, cid: u16) {
        let sqe = command.encode(nsid).with_cid(cid).with_prp(4, 8);
        prop_assert_eq!(sqe.nsid.get(), nsid);
        prop_assert_eq!(KvCommand::decode(&sqe), Ok(command));
        prop_assert_eq!(KvCommand::decode(&sqe).unwrap().encode(nsid).with_cid(cid).with_prp(4, 8), sqe);
    }

    #[test]
    fn hostile_entries_never_panic_and_decode_stably(head: [u8; 32], tail: [u8; 32], opcode in 0_u8..0x18) {
        let mut sqe = Sqe::read_from_bytes(&[head, tail].concat()).unwrap();
        sqe.opcode = opcode;
        sqe.flags &= 0x3C;
        if let Ok(command) = KvCommand::decode(&sqe) {
            prop_assert_eq!(KvCommand::decode(&command.encode(sqe.nsid.get())), Ok(command));
        }
    }
}
