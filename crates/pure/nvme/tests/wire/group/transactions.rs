// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions: their entries, payloads, results, and what is refused.

use saker_nvme::group::{
    Ask, Asked, CountedRange, Form, GroupCommand, GroupMode, Malformed, Op, PairVersion, Reason,
    TransactionResult, VERSION_BYTES, pack_transaction, parse, parse_transaction, read_transaction_results,
    result_bytes, write_transaction_results,
};
use saker_nvme::{Key, PointerRule, Sqe, Status};
use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

const TRANSACTION: GroupMode = GroupMode { is_transaction: true, has_versions: false };
const VERSIONS: GroupMode = GroupMode { is_transaction: true, has_versions: true };

fn id() -> Key {
    Key::new(b"identification16").unwrap()
}

#[test]
fn golden_entry() {
    let command = GroupCommand::OneWay { id: Some(id()), form: Form::Mixed, bytes: 0x0102_0304 };
    let mut drawn = [0_u8; 64];
    (drawn[0], drawn[4]) = (0xC5, 9);
    drawn[8..16].copy_from_slice(b"identifi");
    drawn[40..44].copy_from_slice(&[4, 3, 2, 1]);
    (drawn[44], drawn[45], drawn[48]) = (16, 1, 5);
    drawn[56..64].copy_from_slice(b"cation16");
    assert_eq!(command.encode_in_mode(9, TRANSACTION).as_bytes(), drawn);
    drawn[45] = 3;
    assert_eq!(command.encode_in_mode(9, VERSIONS).as_bytes(), drawn);
    drawn[45] = 0;
    assert_eq!(command.encode_in_mode(9, GroupMode::PLAIN).as_bytes(), drawn);
}

#[test]
fn entries_come_back_with_their_mode() {
    let commands = [
        GroupCommand::OneWay { id: None, form: Form::All(Op::Store), bytes: 608 },
        GroupCommand::OneWay { id: Some(id()), form: Form::Mixed, bytes: 40 },
        GroupCommand::BothWays { form: Form::All(Op::Retrieve), bytes: 44, buffer_bytes: 4096 },
    ];
    for command in commands {
        for mode in [GroupMode::PLAIN, TRANSACTION, VERSIONS] {
            let sqe = command.encode_in_mode(7, mode);
            assert_eq!(GroupCommand::decode_with_mode(&sqe, PointerRule::Prp), Ok((command, mode)));
            // Who does not know transactions refuses them, as it always has.
            let plain = GroupCommand::decode(&sqe);
            assert_eq!(
                plain,
                if mode == GroupMode::PLAIN { Ok(command) } else { Err(Status::INVALID_FIELD) }
            );
        }
    }
    // A transaction may read what nobody asks to be told: its conditions are what counts.
    let unnamed = GroupCommand::OneWay { id: None, form: Form::Mixed, bytes: 44 };
    assert_eq!(GroupCommand::decode(&unnamed.encode(1)), Err(Status::INVALID_FIELD));
    assert!(
        GroupCommand::decode_with_mode(&unnamed.encode_in_mode(1, TRANSACTION), PointerRule::Prp).is_ok()
    );
}

#[test]
fn refused_entries() {
    let good = GroupCommand::OneWay { id: Some(id()), form: Form::Mixed, bytes: 40 };
    let with = |change: fn(&mut Sqe)| {
        let mut sqe = good.encode_in_mode(1, TRANSACTION);
        change(&mut sqe);
        GroupCommand::decode_with_mode(&sqe, PointerRule::Prp)
    };
    let refused: [fn(&mut Sqe); 9] = [
        |s| s.nsid = U32::new(u32::MAX),
        |s| s.flags = 1,
        |s| s.flags = 0x40,
        |s| s.cdw12 = U32::new(0),
        |s| s.cdw12 = U32::new(0x0105),
        |s| s.cdw11 = U32::new(0x0210),
        |s| s.cdw11 = U32::new(0x0510),
        |s| s.cdw11 = U32::new(0x8110),
        |s| s.cdw11 = U32::new(0x0111),
    ];
    for change in refused {
        assert_eq!(with(change), Err(Status::INVALID_FIELD));
    }
    let others = [
        GroupCommand::Results { id: id(), buffer_bytes: 8192 },
        GroupCommand::Prefetch { id: id(), bytes: 100 },
        GroupCommand::Vector { pages: false, bytes: 56 },
        GroupCommand::Bulk { bytes: 3196 },
    ];
    for other in others {
        let refused = GroupCommand::decode_with_mode(&other.encode_in_mode(1, TRANSACTION), PointerRule::Prp);
        assert_eq!(refused, Err(Status::INVALID_FIELD), "{other:?}");
    }
    let mut store = Sqe::new(1, 1);
    store.cdw11 = U32::new(0x0101);
    assert_eq!(GroupCommand::decode_with_mode(&store, PointerRule::Prp), Err(Status::INVALID_OPCODE));
}

/// A version of which no byte is like another.
fn version() -> PairVersion {
    PairVersion(std::array::from_fn(|n| n as u8 + 1))
}

#[test]
fn golden_payload() {
    let version = version();
    let entries: [(Ask, &[u8], &[u8]); 6] = [
        (Ask::Op(Op::Store), b"k", b"value"),
        (Ask::Absent, b"four", b""),
        (Ask::Present, b"12345", b""),
        (Ask::Version, b"k", &version.0),
        (Ask::Value, b"k", b""),
        (Ask::Op(Op::Delete), b"gone", b""),
    ];
    let (form, payload) = pack_transaction(entries.into_iter()).unwrap();
    let drawn = [
        &b"\x06\0\0\0\x01\0\0\0\x01\0\0\0k\0\0\0\x05\0\0\0value\0\0\0"[..],
        b"\x10\0\0\0\x04\0\0\0four",
        b"\x11\0\0\0\x05\0\0\x0012345\0\0\0",
        b"\x12\0\0\0\x01\0\0\0k\0\0\0\x18\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0A\x0B\x0C",
        b"\x0D\x0E\x0F\x10\x11\x12\x13\x14\x15\x16\x17\x18",
        b"\x13\0\0\0\x01\0\0\0k\0\0\0\0\0\0\0",
        b"\x03\0\0\0\x04\0\0\0gone",
    ];
    assert_eq!((form, payload.clone()), (Form::Mixed, drawn.concat()));
    let part = |r: &std::ops::Range<u32>| payload[r.start as usize..r.end as usize].to_vec();
    let mut read = Vec::new();
    let count =
        parse_transaction(form, &payload, |e: Asked| read.push((e.ask, part(&e.key), part(&e.value))));
    assert_eq!(count, Ok(6));
    assert_eq!(read, entries.map(|(ask, key, value)| (ask, key.to_vec(), value.to_vec())));
    // Conditions are no group's.
    assert_eq!(parse(form, &payload, |_| {}), Err(Malformed { at: 28, reason: Reason::Type }));
}

#[test]
fn entries_of_one_operation_have_no_types() {
    let stores: [(Ask, &[u8], &[u8]); 2] =
        [(Ask::Op(Op::Store), b"k", b"v"), (Ask::Op(Op::Store), b"l", b"w")];
    let (form, payload) = pack_transaction(stores.into_iter()).unwrap();
    assert_eq!(form, Form::All(Op::Store));
    assert_eq!(payload, b"\x02\0\0\0\x01\0\0\0k\0\0\0\x01\0\0\0v\0\0\0\x01\0\0\0l\0\0\0\x01\0\0\0w\0\0\0");
    let absent: [(Ask, &[u8], &[u8]); 1] = [(Ask::Absent, b"k", b"")];
    assert_eq!(pack_transaction(absent.into_iter()).unwrap().0, Form::Mixed, "a condition has no form");
    for key in [&[][..], &[1; 256]] {
        let entry: [(Ask, &[u8], &[u8]); 1] = [(Ask::Absent, key, b"")];
        assert!(pack_transaction(entry.into_iter()).is_err());
    }
}

#[test]
fn malformed_payloads() {
    let check = |payload: &[u8], at: u32, reason: Reason| {
        let refused = parse_transaction(Form::Mixed, payload, |_| {});
        assert_eq!(refused, Err(Malformed { at, reason }), "{payload:?}");
        let status = if reason == Reason::KeySize { Status::INVALID_KEY_SIZE } else { Status::INVALID_FIELD };
        assert_eq!(refused.unwrap_err().status(), status);
    };
    check(&[], 0, Reason::Truncated);
    check(&[0; 4], 0, Reason::Empty);
    for kind in [0, 5, 15, 21, 0x0110, 0x8000_0010_u32] {
        let payload = [&[1, 0, 0, 0][..], &kind.to_le_bytes(), b"\x04\0\0\0abcd\0\0\0\0"].concat();
        check(&payload, 4, Reason::Type);
    }
    check(b"\x01\0\0\0\x10\0\0\0\0\0\0\0", 8, Reason::KeySize);
    check(b"\x01\0\0\0\x11\0\0\0\0\x01\0\0", 8, Reason::KeySize);
    check(b"\x01\0\0\0\x10\0\0\0\x05\0\0\0abcd", 8, Reason::Truncated);
    check(b"\x01\0\0\0\x10\0\0\0\x01\0\0\0k\0\0\x01", 13, Reason::Padding);
    check(b"\x01\0\0\0\x10\0\0\0\x04\0\0\0abcd\0\0\0\0", 16, Reason::Trailing);
    check(b"\xFF\xFF\xFF\xFF\x10\0\0\0\x04\0\0\0abcd", 16, Reason::Truncated);
    for bytes in [0_u32, 23, 25, 32, u32::MAX] {
        let payload = [b"\x01\0\0\0\x12\0\0\0\x04\0\0\0abcd", &bytes.to_le_bytes()[..], &[0; 32]].concat();
        check(&payload, 16, Reason::Version);
    }
    check(b"\x01\0\0\0\x12\0\0\0\x04\0\0\0abcd\x18\0\0\x001234", 16, Reason::Truncated);
    check(b"\x01\0\0\0\x13\0\0\0\x04\0\0\0abcd\xFF\xFF\xFF\xFFwxyz", 16, Reason::Truncated);
}

#[test]
fn golden_results() {
    let told = [
        TransactionResult {
            status: Status::SUCCESS,
            bytes: 5,
            version: Some(version()),
            value: Some(b"abcde"),
        },
        TransactionResult { status: Status::KEY_DOES_NOT_EXIST, bytes: 0, version: None, value: Some(b"") },
        TransactionResult {
            status: Status::SUCCESS,
            bytes: 9,
            version: Some(version()),
            value: Some(b"123456789"),
        },
        TransactionResult { status: Status::SUCCESS, bytes: 2, version: None, value: Some(b"xy") },
    ];
    let heads = 4 + 4 * result_bytes(VERSIONS);
    assert_eq!(result_bytes(VERSIONS), 8 + VERSION_BYTES);
    let written = write_transaction_results(VERSIONS, &told, heads + 8 + 4).unwrap();
    let drawn = [
        &b"\x04\0\0\0\0\0\0\0\x05\0\0\0"[..],
        &version().0,
        b"abcde\0\0\0\x87\x40\0\0\0\0\0\0",
        &[0; VERSION_BYTES],
        b"\0\0\0\x80\x09\0\0\0",
        &version().0,
        b"\0\0\0\0\x02\0\0\0",
        &[0; VERSION_BYTES],
        b"xy\0\0",
    ];
    assert_eq!(written, drawn.concat());
    let read = read_transaction_results(VERSIONS, &written).unwrap();
    assert_eq!((read[0], read[2].value, read[2].bytes), (told[0], None, 9));
    assert!(read[1].version.unwrap().is_absent() && read[1].status.is(Status::KEY_DOES_NOT_EXIST));
    assert_eq!(write_transaction_results(VERSIONS, &told, heads - 1), None, "not even the heads");
    let without = write_transaction_results(TRANSACTION, &told[..1], 100).unwrap();
    assert_eq!(without, b"\x01\0\0\0\0\0\0\0\x05\0\0\0abcde\0\0\0");
    assert_eq!(read_transaction_results(TRANSACTION, &without).unwrap()[0].version, None);
    for end in 0..written.len() {
        assert_eq!(read_transaction_results(VERSIONS, &written[..end]), None, "{end} bytes");
    }
}

#[test]
fn versions_of_lives() {
    assert!(PairVersion::default().is_absent() && !PairVersion::new(1, 0).is_absent());
    assert_ne!(PairVersion::new(1, 7), PairVersion::new(2, 7));
    let bytes = PairVersion::new(0x0102, 0x0304).0;
    assert_eq!((bytes[..2].to_vec(), bytes[8..10].to_vec()), (vec![2, 1], vec![4, 3]));
    assert_eq!(PairVersion::from_slice(&bytes), Some(PairVersion::new(0x0102, 0x0304)));
    assert_eq!(PairVersion::from_slice(&bytes[1..]), None);
}

#[test]
fn ranges_are_counted() {
    let range = CountedRange { count: 0x0201, to: b"zz" };
    assert_eq!(range.encode(), *b"\x01\x02\0\0zz");
    assert_eq!(CountedRange::decode(&range.encode()), Some(range));
    assert_eq!(CountedRange::decode(&[0; 4]), Some(CountedRange { count: 0, to: &[] }));
    assert_eq!((CountedRange::decode(&[0; 3]), CountedRange::decode(&[1; 21])), (None, None));
    let (form, payload) =
        pack_transaction([(Ask::Range, &b"aa"[..], &range.encode()[..])].into_iter()).expect("a key");
    assert_eq!(payload, *b"\x01\0\0\0\x14\0\0\0\x02\0\0\0aa\0\0\x06\0\0\0\x01\x02\0\0zz\0\0");
    let mut seen = Vec::new();
    parse_transaction(form, &payload, |asked| seen.push(asked)).expect("sound");
    assert_eq!(seen, [Asked { ask: Ask::Range, key: 12..14, value: 20..26 }]);
    for rest in [&[0; 3][..], &[0; 21][..]] {
        let (form, payload) = pack_transaction([(Ask::Range, &b"aa"[..], rest)].into_iter()).expect("a key");
        let refused = parse_transaction(form, &payload, |_| {}).expect_err("it is no range");
        assert_eq!(refused, Malformed { at: 16, reason: Reason::Range });
    }
}
