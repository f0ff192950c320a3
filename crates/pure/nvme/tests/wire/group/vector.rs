// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The vector of addresses: its bytes, and each way in which it can be wrong.

use saker_nvme::group::{Malformed, PairAddress, Reason, parse_vector, write_vector};

fn pair(key_bytes: u32) -> PairAddress {
    PairAddress { key_address: 0x0102_0304_0506_0708, value_address: 0x1112, key_bytes, value_bytes: 0x2122 }
}

#[test]
fn golden_bytes() {
    let list = write_vector(&[pair(9)]);
    let drawn =
        b"\x01\0\0\0\0\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x12\x11\0\0\0\0\0\0\x09\0\0\0\x22\x21\0\0";
    assert_eq!(list, drawn);
    assert_eq!(parse_vector(&list), Ok(vec![pair(9)]));
}

#[test]
fn every_fault_is_told_with_its_place() {
    let good = write_vector(&[pair(1), pair(255)]);
    assert_eq!(parse_vector(&good), Ok(vec![pair(1), pair(255)]));
    let refused =
        |list: &[u8], at: u32, reason| assert_eq!(parse_vector(list), Err(Malformed { at, reason }));
    let with = |at: usize, byte: u8| {
        let mut list = good.clone();
        list[at] = byte;
        list
    };
    refused(&good[..7], 0, Reason::Truncated);
    refused(&good[..55], 0, Reason::Truncated);
    refused(&with(0, 0), 0, Reason::Empty);
    refused(&with(0, 3), 0, Reason::Truncated);
    refused(&with(0, 1), 32, Reason::Trailing);
    refused(&[&good[..], &[0]].concat(), 56, Reason::Trailing);
    refused(&with(4, 1), 4, Reason::Type);
    refused(&with(24, 0), 24, Reason::KeySize);
    refused(&with(49, 1), 48, Reason::KeySize);
}
