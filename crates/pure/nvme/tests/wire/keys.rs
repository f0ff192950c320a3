// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys: lengths, order, placement in the entry.

use proptest::collection::vec;
use proptest::prelude::*;
use saker_nvme::{Key, KeyLengthError, Sqe};
use zerocopy::IntoBytes;

#[test]
fn lengths_1_to_16() {
    assert_eq!(Key::new(&[]), Err(KeyLengthError(0)));
    assert_eq!(Key::new(&[1; 17]), Err(KeyLengthError(17)));
    assert_eq!(Key::from_padded([1; 16], 0), Err(KeyLengthError(0)));
    assert_eq!(Key::from_padded([1; 16], 17), Err(KeyLengthError(17)));
    for len in 1..=16 {
        assert_eq!(Key::new(&vec![7; len]).unwrap().as_bytes(), vec![7; len]);
    }
}

#[test]
fn placement_golden() {
    let key = Key::new(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]).unwrap();
    let sqe = Sqe::new(0, 0).with_key(&key);
    crate::golden::assert_image(
        sqe.as_bytes(),
        &[(8, &[1, 2, 3, 4, 5, 6, 7, 8]), (44, &[16]), (56, &[9, 10, 11, 12, 13, 14, 15, 16])],
    );
}

#[test]
fn with_key_replaces_the_key_before() {
    let long = Key::new(&[0xFF; 16]).unwrap();
    let short = Key::new(b"k").unwrap();
    assert_eq!(Sqe::new(0, 0).with_key(&long).with_key(&short), Sqe::new(0, 0).with_key(&short));
}

#[test]
fn zero_extension_is_another_key() {
    let (short, long) = (Key::new(b"a").unwrap(), Key::new(b"a\0").unwrap());
    assert!(short != long && short < long);
}

#[test]
fn debug_is_readable() {
    assert_eq!(format!("{:?}", Key::new(b"a\0\xFF").unwrap()), r#"Key("a\x00\xff")"#);
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0), Just(1), Just(255), any::<u8>()], 1..=16)
}

proptest! {
    #[test]
    fn order_is_that_of_slices(a in bytes(), b in bytes()) {
        let (ka, kb) = (Key::new(&a).unwrap(), Key::new(&b).unwrap());
        prop_assert_eq!(ka.cmp(&kb), a.cmp(&b));
        prop_assert_eq!(ka == kb, a == b);
    }

    #[test]
    fn entry_round_trip_ignores_what_follows(key in bytes(), garbage: [u8; 16]) {
        let mut padded = garbage;
        padded[..key.len()].copy_from_slice(&key);
        let clean = Key::new(&key).unwrap();
        prop_assert_eq!(Key::from_padded(padded, key.len()), Ok(clean));
        let mut sqe = Sqe::new(1, 1).with_key(&Key::new(&padded).unwrap());
        sqe.cdw11 = (key.len() as u32).into();
        prop_assert_eq!(sqe.key(), Ok(clean));
        prop_assert_eq!(clean.as_bytes(), key.as_slice());
        prop_assert_eq!(clean.padded()[key.len()..].iter().copied().max().unwrap_or(0), 0);
    }
}
