// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An entry: the mapping of a hash index to a grain, 8 bytes.
//!
//! | bits | field |
//! |---|---|
//! | 0-39 | grain plus one; 0: no pair |
//! | 40-55 | offset of the hash index in its section |
//! | 56-62 | in a table that doubles: bits of the key's hash ([`super::levels`]) |
//! | 63 | passed: another pair's way goes on behind this index |
//!
//! An entry that is zero but for the offset need not be kept.

const GRAIN_BITS: u32 = 40;
const GRAIN_MASK: u64 = (1 << GRAIN_BITS) - 1;
const TAG_SHIFT: u32 = 56;
const PASSED: u64 = 1 << 63;

/// What a hash index maps to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry(pub u64);

impl Entry {
    /// An index without a pair that nobody has passed.
    pub const NONE: Self = Self(0);

    /// The entry at an offset of its section.
    #[inline]
    pub fn new(offset: u32, grain: Option<u64>, passed: bool) -> Self {
        let word = grain.map_or(0, |g| g + 1);
        debug_assert!(word <= GRAIN_MASK && offset <= 0xffff);
        Self(word | u64::from(offset) << GRAIN_BITS | if passed { PASSED } else { 0 })
    }

    /// Where the pair is.
    #[inline]
    pub fn grain(self) -> Option<u64> {
        (self.0 & GRAIN_MASK).checked_sub(1)
    }

    /// Its offset in its section.
    #[inline]
    pub fn offset(self) -> u32 {
        (self.0 >> GRAIN_BITS) as u32 & 0xffff
    }

    /// Bits of its key's hash.
    #[inline]
    pub fn tag(self) -> u8 {
        (self.0 >> TAG_SHIFT) as u8 & 0x7f
    }

    /// The same with these bits of its key's hash, seven at most.
    #[inline]
    #[must_use]
    pub fn tagged(self, tag: u8) -> Self {
        debug_assert!(tag <= 0x7f);
        Self(self.0 & !(0x7f << TAG_SHIFT) | u64::from(tag) << TAG_SHIFT)
    }

    /// Whether a search goes on behind it even if it holds no pair.
    #[inline]
    pub fn is_passed(self) -> bool {
        self.0 & PASSED != 0
    }

    /// Whether it says nothing.
    #[inline]
    pub fn is_blank(self) -> bool {
        self.0 & (GRAIN_MASK | PASSED) == 0
    }

    /// The same pair, elsewhere.
    #[must_use]
    pub fn moved_to(self, grain: u64) -> Self {
        debug_assert!(grain < GRAIN_MASK);
        Self(self.0 & !GRAIN_MASK | (grain + 1))
    }

    /// What a half of its section has of it: the pair, or only that searches pass here.
    pub fn for_half(self, has_pair: bool) -> Option<Self> {
        let kept = if has_pair { self } else { Self(self.0 & !(GRAIN_MASK | 0x7f << TAG_SHIFT)) };
        (!kept.is_blank()).then_some(kept)
    }

    /// The same, passed.
    #[must_use]
    pub fn passed(self) -> Self {
        Self(self.0 | PASSED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_words() {
        assert_eq!(Entry::new(0x1df, Some(0x12_3456), false).0, 0x0001_df00_0012_3457);
        assert_eq!(Entry::new(3, None, true).0, 0x8000_0300_0000_0000);
        let entry = Entry::new(511, Some(9), true);
        assert_eq!((entry.grain(), entry.offset(), entry.is_passed()), (Some(9), 511, true));
        let tagged = Entry::new(3, Some(8), true).tagged(0x55);
        assert_eq!((tagged.0, tagged.tag(), tagged.tagged(2).tag()), (0xd500_0300_0000_0009, 0x55, 2));
        assert_eq!(tagged.for_half(false), Some(Entry::new(3, None, true)));
        assert_eq!(
            (tagged.for_half(true), Entry::new(3, Some(8), false).for_half(false)),
            (Some(tagged), None)
        );
        assert_eq!(tagged.moved_to(0x12), Entry::new(3, Some(0x12), true).tagged(0x55));
        assert!(Entry::new(7, None, false).is_blank() && !Entry::new(7, None, true).is_blank());
    }
}
