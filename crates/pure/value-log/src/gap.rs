// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gaps between records: space before a value that begins where DMA puts it (BandSlim, ICPP'24, section 3.3).
//!
//! A gap begins with one word, which says how long it is and how many bytes of records, which came later, fill it from
//! behind the word on. The word is stored whole, after the records that it lets count, so it publishes them.
//!
//! | bits | field |
//! |---|---|
//! | 0-19 | check: low bits of a CRC-32C over position, length and filled bytes |
//! | 20-37 | filled bytes, in units of 8 |
//! | 38-55 | length, the word included, in units of 8 |
//! | 56-63 | FFh, which no record has there: it is the highest byte of a value's length |
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

use saker_segment_store::header::crc32c;

/// Bytes of the word.
pub const GAP_WORD_BYTES: u32 = 8;
const CHECK_BITS: u32 = 20;
const COUNT_BITS: u32 = 18;
const TAG: u64 = 0xff << 56;
/// The longest gap that a word can tell of, in bytes: longer than the largest page of a page buffer with a memory page.
const GAP_BYTES_MAX: u32 = 8 * ((1 << COUNT_BITS) - 1);

/// A gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Its length in bytes, the word included.
    pub bytes: u32,
    /// Bytes behind the word that records fill.
    pub filled: u32,
}

impl Gap {
    /// Nothing fills it. Panics for a gap that no word can tell of: pages are shorter.
    #[inline]
    pub fn new(bytes: u32) -> Self {
        assert!(bytes <= GAP_BYTES_MAX, "pages are shorter");
        Self { bytes, filled: 0 }
    }

    /// Its word, for a gap at that byte of the log.
    #[inline]
    pub fn encode(self, position: u64) -> u64 {
        let counts = u64::from(self.filled / 8) | u64::from(self.bytes / 8) << COUNT_BITS;
        TAG | counts << CHECK_BITS | self.check(position)
    }

    /// Whether the first word of something is that of a gap; it may still be a wrong one.
    #[inline]
    pub fn is_meant(word: u64) -> bool {
        word & TAG == TAG
    }

    /// What a word says; `None` if it is wrong.
    #[inline]
    pub fn decode(word: u64, position: u64) -> Option<Self> {
        let count = |at: u32| (word >> at) as u32 & ((1 << COUNT_BITS) - 1);
        let gap = Self { filled: 8 * count(CHECK_BITS), bytes: 8 * count(CHECK_BITS + COUNT_BITS) };
        let fits = gap.bytes >= GAP_WORD_BYTES && gap.filled <= gap.bytes - GAP_WORD_BYTES;
        (fits && gap.encode(position) == word).then_some(gap)
    }

    #[inline]
    fn check(self, position: u64) -> u64 {
        let said = [position, u64::from(self.bytes) | u64::from(self.filled) << 32];
        let said: [u8; 16] = zerocopy::transmute!(said.map(u64::to_le_bytes));
        u64::from(crc32c(&said)) & ((1 << CHECK_BITS) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_word() {
        let gap = Gap { bytes: 0x18, filled: 0x10 };
        let check = u64::from(crc32c(&[0, 2, 0, 0, 0, 0, 0, 0, 0x18, 0, 0, 0, 0x10, 0, 0, 0])) & 0xf_ffff;
        assert_eq!(gap.encode(512), 0xff00_0000_0000_0000 | 3 << 38 | 2 << 20 | check);
        let most = Gap::new(GAP_BYTES_MAX);
        assert_eq!(Gap::decode(most.encode(8), 8), Some(most));
    }

    #[test]
    fn any_flip_is_seen() {
        let gap = Gap { bytes: 4096, filled: 4088 };
        for bit in 0..64 {
            assert_eq!(Gap::decode(gap.encode(64) ^ 1 << bit, 64), None, "bit {bit}");
        }
        assert_eq!(Gap::decode(gap.encode(64), 72), None);
    }

    #[test]
    fn it_is_not_filled_beyond_its_end() {
        let over = Gap { bytes: 16, filled: 16 };
        assert_eq!(Gap::decode(over.encode(0), 0), None);
        assert_eq!(Gap::decode(Gap::new(0).encode(0), 0), None);
    }
}
