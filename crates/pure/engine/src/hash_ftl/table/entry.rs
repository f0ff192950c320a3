//! An entry: the mapping of a hash index to a grain, 8 bytes.
//!
//! | bits | field |
//! |---|---|
//! | 0-39 | grain plus one; 0: no pair |
//! | 40-55 | offset of the hash index in its section |
//! | 63 | passed: another pair's way goes on behind this index |
//!
//! An entry that is zero but for the offset need not be kept.

const GRAIN_BITS: u32 = 40;
const GRAIN_MASK: u64 = (1 << GRAIN_BITS) - 1;
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
        assert!(Entry::new(7, None, false).is_blank() && !Entry::new(7, None, true).is_blank());
    }
}
