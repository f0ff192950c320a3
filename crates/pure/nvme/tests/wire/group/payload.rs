// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The layout of HotStorage'19, Figure 1 and footnote 1.

use super::{pack, unpack};
use proptest::prelude::*;
use saker_nvme::group::{Form, Op, Packer, Refused, entry_bytes, parse, payload_bytes};

fn counting(bytes: u16) -> Vec<u8> {
    (1..=bytes).map(|n| n as u8).collect()
}

fn figure_1() -> Vec<u8> {
    let pairs = [(8, 16), (7, 10), (23, 512)];
    let entries = pairs.map(|(key, value)| (Op::Store, counting(key), counting(value)));
    pack(Form::All(Op::Store), &entries)
}

/// The first 70h bytes as the figure draws them, typed in by hand.
#[test]
fn figure_1_byte_for_byte() {
    #[rustfmt::skip]
    let drawn: [u8; 0x70] = [
        3, 0, 0, 0,  8, 0, 0, 0,  1, 2, 3, 4, 5, 6, 7, 8,
        16, 0, 0, 0,  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
        13, 14, 15, 16,  7, 0, 0, 0,  1, 2, 3, 4, 5, 6, 7, 0,
        10, 0, 0, 0,  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0,
        23, 0, 0, 0,  1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
        13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 0,  0, 2, 0, 0,
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
    ];
    let payload = figure_1();
    assert_eq!(payload[..0x70], drawn);
    assert_eq!(payload.len(), 608);
}

#[test]
fn figure_1_offsets() {
    let payload = figure_1();
    let mut starts = Vec::new();
    parse(Form::All(Op::Store), &payload, |e| starts.push((e.key.start - 4, e.value.start - 4))).unwrap();
    assert_eq!(starts, [(0x04, 0x10), (0x24, 0x30), (0x40, 0x5C)]);
}

/// Footnote 1: (4 + 32 + 4 + 1,024) x 3 + 4 = 3,196; the same for ten pairs.
#[test]
fn footnote_1_sizes() {
    let bytes = |n| payload_bytes(Op::Store, std::iter::repeat_n((32, 1024), n));
    assert_eq!((bytes(3), bytes(10)), (3196, 10_644));
    let pair = (Op::Store, vec![1; 32], vec![2; 1024]);
    assert_eq!(pack(Form::All(Op::Store), &vec![pair; 3]).len(), 3196);
}

#[test]
fn key_only_and_mixed_bytes() {
    let keys = [(Op::Retrieve, b"ab".to_vec(), vec![]), (Op::Retrieve, b"cdefg".to_vec(), vec![])];
    assert_eq!(pack(Form::All(Op::Retrieve), &keys), *b"\x02\0\0\0\x02\0\0\0ab\0\0\x05\0\0\0cdefg\0\0\0");
    let mixed = [(Op::Store, b"k".to_vec(), b"v".to_vec()), (Op::Exist, b"four".to_vec(), vec![])];
    assert_eq!(
        pack(Form::Mixed, &mixed),
        *b"\x02\0\0\0\x01\0\0\0\x01\0\0\0k\0\0\0\x01\0\0\0v\0\0\0\x04\0\0\0\x04\0\0\0four"
    );
}

#[test]
fn a_packer_refuses_and_stays_as_it_was() {
    let mut buffer = [0xAA; 64];
    let mut packer = Packer::new(Form::All(Op::Store), &mut buffer).unwrap();
    assert_eq!(packer.push(Op::Delete, b"k", b""), Err(Refused::Type));
    assert_eq!(packer.push(Op::Store, b"", b""), Err(Refused::KeySize));
    assert_eq!(packer.push(Op::Store, &[1; 256], b""), Err(Refused::KeySize));
    assert_eq!(packer.push(Op::Store, b"k", &[1; 49]), Err(Refused::Full));
    assert_eq!(packer.parts(), (4, 0));
    assert_eq!(packer.push(Op::Store, b"k", &[1; 48]), Ok(()));
    assert_eq!(packer.finish(), 64);
    assert!(Packer::new(Form::Mixed, &mut [0; 3]).is_none());
}

pub fn entries(form: Form) -> impl Strategy<Value = Vec<(Op, Vec<u8>, Vec<u8>)>> {
    let op = match form {
        Form::All(op) => Just(op).boxed(),
        Form::Mixed => (1..5_u32).prop_map(|n| Op::from_number(n).unwrap()).boxed(),
    };
    let entry = (op, prop::collection::vec(any::<u8>(), 1..256), prop::collection::vec(any::<u8>(), 0..400));
    let entry = entry.prop_map(|(op, k, v)| (op, k, if op == Op::Store { v } else { Vec::new() }));
    prop::collection::vec(entry, 1..40)
}

pub fn forms() -> impl Strategy<Value = Form> {
    (1..6_u8).prop_map(|n| Form::from_number(n).unwrap())
}

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(
        (form, entries) in forms().prop_flat_map(|form| (Just(form), entries(form)))
    ) {
        let payload = pack(form, &entries);
        let sum: usize =
            entries.iter().map(|(op, k, v)| form.lead_bytes() + entry_bytes(*op, k.len(), v.len())).sum();
        prop_assert_eq!(payload.len(), 4 + sum);
        prop_assert_eq!(unpack(form, &payload), entries);
    }
}
