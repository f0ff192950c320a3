// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sizes of a table that starts small and doubles, as RHIK's index does (Saha and others, "RHIK:
//! Re-configurable Hash-based Indexing for KVSSD", HPDC 2023): how many sections there are, and which two take the place of one.
//!
//! A pair's section follows from the first bits of its key's hash, its index in the section from others, and a search stays in
//! the section. So a doubling divides each section by one more bit, and each pair keeps its place within.
//!
//! Sections of all sizes have numbers of their own, the small table's first: a number says its level.

/// Most doublings: an entry has so many bits of its key's hash.
pub const DOUBLINGS_MAX: u32 = 7;
/// Most sections of the largest table: their numbers have a hash index each in a word of 32 bits.
const SECTIONS_MAX: u64 = 1 << 19;

/// The sizes, and which of them is the present one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Sections of the smallest table.
    first: u32,
    level: u32,
    /// The level of the largest.
    last: u32,
}

impl Levels {
    /// Sizes up to at least `sections` sections, beginning with the smallest.
    pub fn up_to(sections: u64) -> Self {
        let sections = sections.clamp(1, SECTIONS_MAX);
        let last = sections.ilog2().min(DOUBLINGS_MAX);
        Self { first: sections.div_ceil(1 << last) as u32, level: 0, last }
    }

    /// The same at another level.
    #[must_use]
    pub fn at(self, level: u32) -> Self {
        assert!(level <= self.last, "there are sections of that level");
        Self { level, ..self }
    }

    /// The present level.
    pub fn level(&self) -> u32 {
        self.level
    }

    /// The level of the largest table.
    pub fn last(&self) -> u32 {
        self.last
    }

    /// Sections of the present level.
    pub fn sections(&self) -> u32 {
        self.first << self.level
    }

    /// Sections of the largest table: what a key's hash is spread over.
    pub fn sections_last(&self) -> u32 {
        self.first << self.last
    }

    /// Sections of all levels together.
    pub fn ids(&self) -> u32 {
        self.base(self.last + 1)
    }

    /// The first number of a level's sections.
    pub fn base(&self, level: u32) -> u32 {
        self.first * ((1 << level) - 1)
    }

    /// The level of a section.
    pub fn level_of(&self, id: u32) -> u32 {
        (id / self.first + 1).ilog2()
    }

    /// The section of a level that a section of the largest table has come from or will.
    pub fn section(&self, level: u32, finest: u32) -> u32 {
        self.base(level) + (finest >> (self.last - level))
    }

    /// The section from which one came.
    pub fn parent(&self, id: u32) -> Option<u32> {
        let level = self.level_of(id).checked_sub(1)?;
        Some(self.base(level) + (id - self.base(level + 1)) / 2)
    }

    /// The sections that take the place of one, if there is another level.
    pub fn children(&self, id: u32) -> Option<[u32; 2]> {
        let level = self.level_of(id);
        let low = self.base(level + 1) + (id - self.base(level)) * 2;
        (level < self.last).then_some([low, low + 1])
    }

    /// Whether a section is one of a smaller table than the present one.
    pub fn is_old(&self, id: u32) -> bool {
        self.level_of(id) < self.level
    }

    /// The sections of the largest table that came or will come from one, by their places there.
    pub fn finest(&self, id: u32) -> std::ops::Range<u32> {
        let level = self.level_of(id);
        let (first, bits) = (id - self.base(level), self.last - level);
        first << bits..(first + 1) << bits
    }

    /// The bits of the hash that an entry keeps: the last ones of its place in the largest table.
    pub fn tag(&self, finest: u32) -> u8 {
        (finest & ((1 << self.last) - 1)) as u8
    }

    /// Which half of a section of that level a pair goes to.
    pub fn half(&self, level: u32, tag: u8) -> usize {
        usize::from(tag >> (self.last - level - 1) & 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_numbered_level_by_level() {
        let levels = Levels::up_to(24);
        assert_eq!((levels.first, levels.last, levels.sections_last(), levels.ids()), (2, 4, 32, 62));
        assert_eq!((levels.base(0), levels.base(1), levels.base(4)), (0, 2, 30));
        let of: Vec<_> = [0, 1, 2, 5, 6, 13, 14, 61].iter().map(|id| levels.level_of(*id)).collect();
        assert_eq!(of, [0, 0, 1, 1, 2, 2, 3, 4]);
        assert_eq!((levels.children(1), levels.children(5)), (Some([4, 5]), Some([12, 13])));
        assert_eq!((levels.children(61), levels.parent(61), levels.parent(1)), (None, Some(29), None));
        assert_eq!((levels.finest(1), levels.finest(5), levels.finest(61)), (16..32, 24..32, 31..32));
    }

    #[test]
    fn a_half_is_the_one_in_which_a_pair_is_searched() {
        let levels = Levels::up_to(300);
        assert_eq!((levels.first, levels.last), (3, 7));
        for finest in 0..levels.sections_last() {
            for level in 0..levels.last {
                let children = levels.children(levels.section(level, finest)).expect("another level");
                let half = levels.half(level, levels.tag(finest));
                assert_eq!(children[half], levels.section(level + 1, finest));
                assert!(levels.finest(children[half]).contains(&finest));
                assert_eq!(levels.parent(children[half]), Some(levels.section(level, finest)));
            }
        }
    }

    #[test]
    fn one_section_never_doubles() {
        let levels = Levels::up_to(1);
        assert_eq!((levels.last(), levels.ids(), levels.children(0)), (0, 1, None));
        assert!(Levels::up_to(u64::MAX).ids() <= 1 << 21);
    }
}
