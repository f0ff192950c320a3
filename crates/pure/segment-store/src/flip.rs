// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which one changed byte explains a wrong checksum.
//!
//! A CRC is linear: the difference of two sums depends only on where the bytes differ and how. So the one byte that was
//! changed, if it was one, is found by running the difference backwards over the bytes, one step each, until it is what a
//! byte alone makes. Damage of another kind looks like one byte's in `255 * bytes` of 2^32 cases: whoever uses an answer
//! has to know more than the sum (`docs/damage.md`).
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use std::ops::Range;

/// A byte that was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flip {
    /// Where it is.
    pub at: u64,
    /// What its value has to be combined with, by exclusive or, to be as it was. Not 0.
    pub mask: u8,
}

impl Flip {
    /// All changes of a byte in a range.
    pub fn all(range: Range<u64>) -> impl Iterator<Item = Self> {
        range.flat_map(|at| (1..=u8::MAX).map(move |mask| Self { at, mask }))
    }

    /// Changes the byte, if there are so many, and changes it back when it is called again.
    pub fn apply(self, bytes: &mut [u8]) {
        let byte = usize::try_from(self.at).ok().and_then(|at| bytes.get_mut(at));
        if let Some(byte) = byte {
            *byte ^= self.mask;
        }
    }
}

/// The polynomial of CRC-32C, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0x82f6_3b78;

/// What a byte adds to the sum, if no byte follows.
#[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "evaluated by the compiler"))]
const ADDS: [u32; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let (mut sum, mut bit) = (n as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        table[n] = sum;
        n += 1;
    }
    table
};

/// The byte whose addition has that highest byte. No two have the same.
#[cfg_attr(not(test), expect(clippy::indexing_slicing, reason = "evaluated by the compiler"))]
const BY_TOP: [u8; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        table[(ADDS[n] >> 24) as usize] = n as u8;
        n += 1;
    }
    table
};

/// What a table that has something for each byte has for that one.
fn entry<T: Copy + Default>(table: &[T; 256], byte: u8) -> T {
    table.get(usize::from(byte)).copied().unwrap_or_default()
}

/// The changes of one byte in `bytes` bytes that make their CRC-32C `wanted`, which is `found` now: usually none or one.
/// None if the sums are equal.
pub fn explain(found: u32, wanted: u32, bytes: usize) -> Vec<Flip> {
    let mut difference = found ^ wanted;
    let mut flips = Vec::new();
    if difference == 0 {
        return flips;
    }
    for at in (0..bytes as u64).rev() {
        let byte = entry(&BY_TOP, (difference >> 24) as u8);
        let added = entry(&ADDS, byte);
        if added == difference {
            flips.push(Flip { at, mask: byte });
        }
        difference = (difference ^ added) << 8 | u32::from(byte);
    }
    flips
}

/// The same for a sum that covers the `bytes` bytes from `from` on, and whose own four bytes, lowest first, are at `sum_at`:
/// those can be what was changed, too.
pub fn explain_with_sum(found: u32, wanted: u32, from: u64, bytes: usize, sum_at: u64) -> Vec<Flip> {
    let moved = |flip: Flip| Flip { at: flip.at + from, ..flip };
    let mut flips: Vec<Flip> = explain(found, wanted, bytes).into_iter().map(moved).collect();
    let difference = (found ^ wanted).to_le_bytes();
    if difference.iter().filter(|byte| **byte != 0).count() == 1 {
        let changed = (0..4).zip(difference).filter(|(_, mask)| *mask != 0);
        flips.extend(changed.map(|(n, mask)| Flip { at: sum_at + n, mask }));
    }
    flips
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::crc32c;

    fn bytes(len: usize) -> Vec<u8> {
        (0..len).map(|n| (n * 7 + n / 256) as u8).collect()
    }

    #[test]
    fn every_changed_byte_is_found() {
        let good = bytes(700);
        let wanted = crc32c(&good);
        for at in 0..good.len() {
            for mask in [1, 0x80, 0x5a, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= mask;
                let flips = explain(crc32c(&bad), wanted, bad.len());
                assert_eq!(flips, [Flip { at: at as u64, mask }], "byte {at} ^ {mask:#x}");
            }
        }
    }

    #[test]
    fn a_changed_sum_is_told_from_changed_bytes() {
        let good = bytes(60);
        for n in 0..4 {
            let flips = explain_with_sum(crc32c(&good), crc32c(&good) ^ 0x21 << (8 * n), 0, good.len(), 60);
            assert_eq!(flips, [Flip { at: 60 + n, mask: 0x21 }]);
        }
        assert_eq!(explain_with_sum(7, 7, 0, 60, 60), []);
    }

    #[test]
    fn several_changed_bytes_hardly_ever_look_like_one() {
        let (good, mut taken) = (bytes(4096), 0);
        for n in 0..2000_u32 {
            let mut bad = good.clone();
            let at = (n * 2) as usize;
            bad[at..at + 40].iter_mut().zip(n..).for_each(|(b, k)| *b ^= (k * 31 + 1) as u8);
            taken += explain(crc32c(&bad), crc32c(&good), bad.len()).len();
        }
        // 2000 * 4096 * 255 / 2^32 is one half.
        assert!(taken <= 4, "{taken} of 2000");
    }
}
