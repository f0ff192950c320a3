// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Marks: what a sync has vouched for in a slot that was still filling.
//!
//! | bits | field |
//! |---|---|
//! | 0-20 | bytes of data |
//! | 21-34 | owner's out-of-band bytes, in eighths |
//! | 35-55 | check: the low bits of a CRC-32C over sequence number, data and owner's out-of-band bytes |
//! | 56-63 | parity: the lower seven bytes, combined by exclusive or |
//!
//! A slot has two. The shorter one is replaced before each sync, so the longer one, which the sync before made last,
//! is still there if this sync never ends. Zero says nothing. One that is alone is new, or its sync was the last one: it
//! may be there without what it vouches for. The next sync writes it a second time, also where nothing was added. That
//! a process was killed amid a sync makes no difference: an image is synced when it is opened, before there are second marks.
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

const BYTES_BITS: u32 = 21;
const OOB_BITS: u32 = 14;
const CHECK_BITS: u32 = 21;
const _: () = assert!(BYTES_BITS + OOB_BITS + CHECK_BITS == 56);

/// A decoded mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Bytes of data from the start of the slot.
    pub bytes: u32,
    /// Bytes of the owner's out-of-band part, a multiple of 8.
    pub oob_bytes: u32,
    /// Their check.
    pub check: u32,
}

impl Mark {
    /// The word; `check` is cut to its field.
    pub fn encode(self) -> u64 {
        let check = u64::from(self.check) & ((1 << CHECK_BITS) - 1);
        let low = u64::from(self.bytes)
            | u64::from(self.oob_bytes / 8) << BYTES_BITS
            | check << (BYTES_BITS + OOB_BITS);
        low | u64::from(parity(low)) << 56
    }

    /// `None` if a bit of it is wrong, or if no record ends where it does.
    pub fn decode(word: u64) -> Option<Self> {
        let field = |at: u32, bits: u32| (word >> at) as u32 & ((1 << bits) - 1);
        let mark = Self {
            bytes: field(0, BYTES_BITS),
            oob_bytes: field(BYTES_BITS, OOB_BITS) * 8,
            check: field(BYTES_BITS + OOB_BITS, CHECK_BITS),
        };
        (parity(word) == (word >> 56) as u8 && mark.bytes.is_multiple_of(8)).then_some(mark)
    }

    /// Whether it vouches for the same bytes.
    pub fn agrees(self, other: Self) -> bool {
        self.encode() == other.encode()
    }
}

fn parity(word: u64) -> u8 {
    word.to_le_bytes().iter().take(7).fold(0, |sum, byte| sum ^ byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_words() {
        assert_eq!(Mark::default().encode(), 0);
        assert_eq!(Mark::decode(0), Some(Mark::default()));
        // 0x030208 bytes; 16 of the out-of-band part (2 << 21); check 1 << 35.
        let mark = Mark { bytes: 0x0003_0208, oob_bytes: 16, check: 1 };
        let low = 0x0003_0208_u64 | 0x0040_0000 | 0x0008_0000_0000;
        let parity = 0x08 ^ 0x02 ^ 0x43 ^ 0x08;
        assert_eq!(mark.encode(), low | parity << 56);
        assert_eq!(Mark::decode(mark.encode()), Some(mark));
        assert_eq!(Mark::decode(Mark { bytes: 12, ..mark }.encode()), None, "records end at multiples of 8");
    }

    #[test]
    fn the_largest_page_fits() {
        let mark = Mark { bytes: 1 << 20, oob_bytes: (1 << 16) - 64, check: (1 << CHECK_BITS) - 1 };
        assert_eq!(Mark::decode(mark.encode()), Some(mark));
    }

    #[test]
    fn any_flip_is_seen() {
        for mark in [Mark::default(), Mark { bytes: 4096, oob_bytes: 64, check: 0x0012_3456 }] {
            for bit in 0..64 {
                assert_eq!(Mark::decode(mark.encode() ^ 1 << bit), None, "bit {bit}");
            }
        }
    }
}
