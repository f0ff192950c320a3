// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A section in memory, in one of its layouts.

use super::entry::Entry;
use super::parse;
use super::two_level::{PART_ENTRIES, TwoLevel};
use crate::hash_ftl::config::{FirstLevel, Layout};
use saker_log::ensure;

/// The entries of a section.
#[derive(Clone, Debug)]
pub enum Section {
    /// By offset.
    Offsets(Box<[Entry]>),
    /// Live ones only.
    Live(TwoLevel),
}

impl Section {
    /// A section of `slots` indexes that holds those entries, by rising offset.
    pub fn new(layout: Layout, slots: u32, sorted: &[Entry]) -> Self {
        match layout {
            Layout::Fixed => Self::Offsets(by_offset(slots, sorted)),
            Layout::LiveOnly { .. } => Self::live(sorted.iter().copied(), layout, slots),
        }
    }

    fn live(sorted: impl ExactSizeIterator<Item = Entry>, layout: Layout, slots: u32) -> Self {
        Self::Live(TwoLevel::from_sorted(sorted)).settled(layout, slots)
    }

    /// The section of that number on a page of sections; `None` if it is not there.
    pub fn read(layout: Layout, slots: u32, page: &[u8], owner_oob: &[u8], id: u32) -> Option<Self> {
        if layout != Layout::Fixed {
            return Some(Self::live(parse::entries_of(page, id)?, layout, slots));
        }
        let entries = parse::words(page.get(..slots as usize * 8)?);
        (parse::fixed_id(owner_oob)? == id).then(|| Self::Offsets(entries.collect()))
    }

    /// The entry at an offset, and how many comparisons that took.
    #[inline]
    pub fn get(&self, offset: u32) -> (Entry, u64) {
        match self {
            Self::Offsets(all) => (all[offset as usize], 0),
            Self::Live(section) => section.get(offset),
        }
    }

    /// Sets the entry of its offset.
    pub fn set(&mut self, entry: Entry, layout: Layout, slots: u32) {
        match self {
            Self::Offsets(all) => {
                all[entry.offset() as usize] = if entry.is_blank() { Entry::NONE } else { entry };
            }
            Self::Live(section) => {
                section.set(entry);
                if section.parts() * PART_ENTRIES >= slots as usize {
                    let section = std::mem::take(section);
                    *self = Self::Live(section).settled(layout, slots);
                }
            }
        }
    }

    /// A live-only section that has grown to its largest: packed again if it has grown beyond, by offset if so wished.
    fn settled(self, layout: Layout, slots: u32) -> Self {
        let Self::Live(section) = self else { return self };
        let wished = matches!(layout, Layout::LiveOnly { offsets_when_full: true, .. });
        let capacity = section.parts() * PART_ENTRIES;
        match capacity.cmp(&(slots as usize)) {
            std::cmp::Ordering::Less => Self::Live(section),
            _ if wished => Self::Offsets(by_offset(slots, &section.sorted())),
            std::cmp::Ordering::Equal => Self::Live(section),
            std::cmp::Ordering::Greater => Self::Live(TwoLevel::from_sorted(section.sorted().into_iter())),
        }
    }

    /// How many entries say something.
    pub fn entries(&self) -> usize {
        match self {
            Self::Offsets(all) => all.iter().filter(|e| !e.is_blank()).count(),
            Self::Live(section) => section.len() as usize,
        }
    }

    /// Entries that say something, by rising offset.
    pub fn sorted(&self) -> Vec<Entry> {
        match self {
            Self::Offsets(all) => all.iter().filter(|e| !e.is_blank()).copied().collect(),
            Self::Live(section) => section.sorted(),
        }
    }

    /// Says what contradicts itself; else its entries, by rising offset.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, slots: u32) -> Result<Vec<Entry>, String> {
        if let Self::Live(section) = self {
            section.check()?;
        }
        let entries = self.sorted();
        let rising = entries.is_sorted_by(|a, b| a.offset() < b.offset());
        let inside = entries.last().is_none_or(|e| e.offset() < slots);
        ensure(rising && inside, || format!("its entries are not in order, or behind {slots} hash indexes"))?;
        Ok(entries)
    }

    /// Memory it takes in the cache.
    pub fn bytes(&self, layout: Layout, page_bytes: u32) -> u64 {
        let first_level = match layout {
            Layout::Fixed => FirstLevel::Growing,
            Layout::LiveOnly { first_level, .. } => first_level,
        };
        match self {
            Self::Offsets(_) => u64::from(page_bytes),
            Self::Live(section) => section.bytes(first_level, page_bytes),
        }
    }
}

fn by_offset(slots: u32, sorted: &[Entry]) -> Box<[Entry]> {
    let mut all = vec![Entry::NONE; slots as usize].into_boxed_slice();
    for entry in sorted {
        if let Some(to) = all.get_mut(entry.offset() as usize) {
            *to = *entry;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(layout: Layout) -> Section {
        let mut section = Section::new(layout, 480, &[]);
        for n in 0..480 {
            section.set(Entry::new(n * 11 % 480, Some(u64::from(n)), false), layout, 480);
        }
        section
    }

    #[test]
    fn no_layout_outgrows_a_page() {
        for offsets_when_full in [false, true] {
            for first_level in [FirstLevel::Growing, FirstLevel::Reserved] {
                let layout = Layout::LiveOnly { first_level, offsets_when_full };
                let section = fill(layout);
                assert_eq!(section.bytes(layout, 4096), 4096, "{layout:?}");
                assert_eq!(matches!(section, Section::Offsets(_)), offsets_when_full);
                assert_eq!(section.sorted().len(), 480);
                assert_eq!(section.get(33).0.grain(), Some(3));
            }
        }
    }
}
