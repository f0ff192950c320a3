// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What of a page in memory was found to be as it was written.

use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each part of a page that was checked ([`crate::SegmentStore::checked`]). Bits are hints among threads: one that is lost costs a
/// check.
#[derive(Debug, Default)]
pub struct Checked(AtomicU64);

impl Checked {
    /// Parts that can be told apart.
    pub const PARTS: u32 = u64::BITS;

    /// Whether a part was checked; one behind [`Self::PARTS`] never was.
    #[inline]
    pub fn has(&self, part: u32) -> bool {
        self.0.load(Ordering::Relaxed).checked_shr(part).is_some_and(|bits| bits & 1 == 1)
    }

    /// A part was checked and is right.
    #[inline]
    pub fn note(&self, part: u32) {
        let bit = 1u64.checked_shl(part).unwrap_or_default();
        self.0.store(self.0.load(Ordering::Relaxed) | bit, Ordering::Relaxed);
    }
}

/// A copy of a page is the same bytes.
impl Clone for Checked {
    fn clone(&self) -> Self {
        Self(AtomicU64::new(self.0.load(Ordering::Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_told_apart_and_those_behind_the_last_bit_are_never_checked() {
        let checked = Checked::default();
        for part in [0, 5, 63, 64, 200] {
            checked.note(part);
        }
        let seen: Vec<_> = (0..300).filter(|part| checked.has(*part)).collect();
        assert_eq!(seen, [0, 5, 63]);
        assert_eq!((0..64).filter(|part| checked.clone().has(*part)).collect::<Vec<_>>(), seen);
    }
}
