// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use saker_segment_store::header::crc32c;

#[test]
fn pieces_have_the_sum_of_the_whole() {
    let bytes: Vec<u8> = (0..300_u32).map(|n| (n * 7) as u8).collect();
    for len in [0, 1, 31, 32, 33, 64, 100, 300] {
        for at in [0, 1, 5, 31, 32, 40] {
            let (a, b) = bytes[..len].split_at(at.min(len));
            let mut sum = Sum::new();
            [a, b].iter().for_each(|part| sum.update(part));
            assert_eq!(sum.finish(), Sum::of(&bytes[..len]), "{len} {at}");
        }
    }
    let sums: std::collections::BTreeSet<_> = (0..300).map(|len| Sum::of(&[0; 300][..len])).collect();
    assert_eq!(sums.len(), 300, "zeros of different lengths");
}

/// So that images stay readable.
#[test]
fn golden_sums() {
    assert_eq!(
        [Sum::of(b""), Sum::of(b"a"), Sum::of(&[7; 100])],
        [3_938_612_264, 3_173_321_768, 644_750_426]
    );
}

#[test]
fn any_flipped_bit_changes_it() {
    let bytes: Vec<u8> = (0..200).collect();
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_ne!(Sum::of(&flipped), Sum::of(&bytes), "bit {bit}");
    }
}

/// What a CRC-32C does not see, as the difference is a multiple of its polynomial.
#[test]
fn it_does_not_agree_with_what_a_crc_has_guessed() {
    let bytes = vec![3; 100];
    let mut other = bytes.clone();
    // The polynomial, its highest power first in each byte's lowest bit: 33 bits from bit 0 of byte 40 on.
    let polynomial: u64 = 1 | (0x82F6_3B78 << 1);
    for (n, byte) in polynomial.to_le_bytes().iter().enumerate() {
        other[40 + n] ^= byte;
    }
    assert_eq!(crc32c(&bytes), crc32c(&other));
    assert_ne!(Sum::of(&bytes), Sum::of(&other));
}
