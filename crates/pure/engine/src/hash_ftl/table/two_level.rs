// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A section in two levels (Plus, section IV-B): parts of eight entries in no order, each a grain of 64 bytes, and for
//! each part a separator, which none of its offsets exceeds. Separators are sorted; parts need no pointers, they lie in
//! the same order.
//!
//! The paper leaves open how a full part makes room. Here its largest or smallest entry moves on to its neighbour, if a part
//! with room is near; else the section grows by a grain.

use super::entry::Entry;
use crate::hash_ftl::config::{FirstLevel, first_level_bytes};
use saker_log::ensure;

/// Entries of a part: a grain of 64 bytes.
pub const PART_ENTRIES: usize = 8;
const PART_BYTES: u64 = 64;
const SEPARATOR_BYTES: u64 = 4;
/// How far away a part with room may be before the section grows instead.
const NEAR: usize = 4;

#[derive(Clone, Debug, Default)]
struct Part {
    separator: u32,
    len: u8,
    entries: [Entry; PART_ENTRIES],
}

impl Part {
    fn entries(&self) -> &[Entry] {
        &self.entries[..usize::from(self.len)]
    }

    fn is_full(&self) -> bool {
        usize::from(self.len) == PART_ENTRIES
    }

    fn push(&mut self, entry: Entry) {
        self.entries[usize::from(self.len)] = entry;
        self.len += 1;
    }

    fn take(&mut self, n: usize) -> Entry {
        let entry = self.entries[n];
        self.len -= 1;
        self.entries[n] = self.entries[usize::from(self.len)];
        entry
    }

    fn largest(&self) -> usize {
        (0..usize::from(self.len)).max_by_key(|n| self.entries[*n].offset()).expect("a full part")
    }

    fn smallest(&self) -> usize {
        (0..usize::from(self.len)).min_by_key(|n| self.entries[*n].offset()).expect("a full part")
    }
}

/// The entries of a section that are live.
#[derive(Clone, Debug, Default)]
pub struct TwoLevel {
    parts: Vec<Part>,
    len: u32,
}

impl TwoLevel {
    /// From entries by rising offset: as few parts as hold them.
    pub fn from_sorted(entries: impl ExactSizeIterator<Item = Entry>) -> Self {
        let len = entries.len();
        let mut parts: Vec<Part> = Vec::with_capacity(len.div_ceil(PART_ENTRIES));
        for entry in entries {
            if parts.last().is_none_or(Part::is_full) {
                parts.push(Part::default());
            }
            let part = parts.last_mut().expect("a part with room");
            part.separator = entry.offset();
            part.push(entry);
        }
        Self { parts, len: len as u32 }
    }

    /// The part in which an offset is or would be, and how many separators were compared.
    fn part_of(&self, offset: u32) -> (usize, u64) {
        let (mut low, mut high, mut compared) = (0, self.parts.len(), 0);
        while low < high {
            let middle = (low + high) / 2;
            compared += 1;
            if self.parts[middle].separator < offset { low = middle + 1 } else { high = middle }
        }
        (low, compared)
    }

    /// The entry at an offset, and how many comparisons that took.
    pub fn get(&self, offset: u32) -> (Entry, u64) {
        let (n, compared) = self.part_of(offset);
        let Some(part) = self.parts.get(n) else { return (Entry::NONE, compared) };
        match part.entries().iter().position(|e| e.offset() == offset) {
            Some(at) => (part.entries[at], compared + at as u64 + 1),
            None => (Entry::NONE, compared + u64::from(part.len)),
        }
    }

    /// Sets the entry of its offset; a blank one goes.
    pub fn set(&mut self, entry: Entry) {
        let (n, _) = self.part_of(entry.offset());
        let here =
            self.parts.get(n).and_then(|p| p.entries().iter().position(|e| e.offset() == entry.offset()));
        match here {
            Some(at) if entry.is_blank() => self.remove(n, at),
            Some(at) => self.parts[n].entries[at] = entry,
            None if entry.is_blank() => {}
            None => self.insert(n, entry),
        }
    }

    fn remove(&mut self, n: usize, at: usize) {
        self.parts[n].take(at);
        self.len -= 1;
        if self.parts[n].len == 0 {
            self.parts.remove(n);
        }
    }

    fn insert(&mut self, n: usize, entry: Entry) {
        if self.parts.is_empty() {
            self.parts.push(Part::default());
        }
        let n = n.min(self.parts.len() - 1);
        self.parts[n].separator = self.parts[n].separator.max(entry.offset());
        let has_room = |m: &usize| !self.parts[*m].is_full();
        let right = (n..self.parts.len().min(n + 1 + NEAR)).find(has_room);
        let left = (n.saturating_sub(NEAR)..n).rev().find(has_room);
        match (right, left) {
            (Some(to), _) => self.carry_right(n, to, entry),
            (None, Some(to)) => self.carry_left(n, to, entry),
            (None, None) => {
                self.split(n);
                let (n, _) = self.part_of(entry.offset());
                return self.insert(n, entry);
            }
        }
        self.len += 1;
    }

    /// The largest of each full part moves on, up to a part with room.
    fn carry_right(&mut self, from: usize, to: usize, mut carry: Entry) {
        for part in &mut self.parts[from..to] {
            let at = part.largest();
            if part.entries[at].offset() > carry.offset() {
                std::mem::swap(&mut part.entries[at], &mut carry);
            }
            part.separator = part.entries[part.largest()].offset();
        }
        self.parts[to].push(carry);
    }

    /// The smallest of each full part moves on, down to a part with room.
    fn carry_left(&mut self, from: usize, to: usize, mut carry: Entry) {
        for part in self.parts[to + 1..=from].iter_mut().rev() {
            let at = part.smallest();
            if part.entries[at].offset() < carry.offset() {
                std::mem::swap(&mut part.entries[at], &mut carry);
            }
        }
        // What the parts between gave away lies behind the separators of the parts it went to.
        for m in to..from {
            let largest = self.parts[m].largest();
            self.parts[m].separator = self.parts[m].entries[largest].offset();
        }
        self.parts[to].push(carry);
        let part = &mut self.parts[to];
        part.separator = part.separator.max(carry.offset());
    }

    fn split(&mut self, n: usize) {
        let mut all = self.parts[n].entries;
        all.sort_unstable_by_key(|e| e.offset());
        let (low, high) = all.split_at(PART_ENTRIES / 2);
        let part = |entries: &[Entry], separator| {
            let mut part = Part { separator, ..Part::default() };
            entries.iter().for_each(|e| part.push(*e));
            part
        };
        let separator = self.parts[n].separator;
        self.parts[n] = part(high, separator);
        self.parts.insert(n, part(low, low[low.len() - 1].offset()));
    }

    /// Says what contradicts itself: entries of a part are not above its separator, and above the one before.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let len: u32 = self.parts.iter().map(|part| u32::from(part.len)).sum();
        ensure(len == self.len, || format!("it has {len} entries, noted: {}", self.len))?;
        let mut above = None;
        for (n, part) in self.parts.iter().enumerate() {
            let fits =
                |e: &Entry| e.offset() <= part.separator && above.is_none_or(|above| e.offset() > above);
            let sound = part.len > 0 && part.entries().iter().all(fits);
            ensure(sound, || format!("part {n} of {} is {part:?}, behind {above:?}", self.parts.len()))?;
            above = Some(part.separator);
        }
        Ok(())
    }

    /// Entries.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Second-level parts.
    pub fn parts(&self) -> usize {
        self.parts.len()
    }

    /// All entries by rising offset. Parts follow each other by their offsets, so each is sorted by itself.
    pub fn sorted(&self) -> Vec<Entry> {
        let mut all = Vec::with_capacity(self.len as usize);
        for part in &self.parts {
            let first = all.len();
            all.extend_from_slice(part.entries());
            all[first..].sort_unstable_by_key(|e: &Entry| e.offset());
        }
        all
    }

    /// Memory it takes in the cache.
    pub fn bytes(&self, first_level: FirstLevel, page_bytes: u32) -> u64 {
        let parts = self.parts.len() as u64;
        let first = match first_level {
            FirstLevel::Reserved => u64::from(first_level_bytes(page_bytes)),
            FirstLevel::Growing if parts <= 1 => 0,
            FirstLevel::Growing => (parts * SEPARATOR_BYTES).next_multiple_of(PART_BYTES),
        };
        first + parts * PART_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn check(section: &TwoLevel, model: &BTreeMap<u32, Entry>) {
        assert_eq!(section.sorted(), model.values().copied().collect::<Vec<_>>());
        assert_eq!(section.len() as usize, model.len());
        assert_eq!(section.check(), Ok(()));
        for offset in 0..480 {
            let expected = model.get(&offset).copied().unwrap_or_default();
            assert_eq!(section.get(offset).0, expected, "{offset}");
        }
    }

    #[test]
    fn random_entries_are_found() {
        let mut rng = saker_sim::Seed(5).rng();
        for round in 0..4 {
            let (mut section, mut model) = (TwoLevel::default(), BTreeMap::new());
            for step in 0..3000 {
                let offset = rng.below(480) as u32;
                let grain = (rng.below(4) > round / 2).then(|| rng.below(1 << 39));
                let entry = Entry::new(offset, grain, false);
                section.set(entry);
                if entry.is_blank() {
                    model.remove(&offset);
                } else {
                    model.insert(offset, entry);
                }
                if step % 500 == 0 {
                    check(&section, &model);
                }
            }
            check(&section, &model);
        }
    }

    /// Table of section IV-B: 10 comparisons on average in a full section, against 256 one after the other.
    #[test]
    fn a_full_section_takes_ten_comparisons() {
        let all: Vec<_> = (0..480).map(|n| Entry::new(n, Some(u64::from(n)), false)).collect();
        let section = TwoLevel::from_sorted(all.into_iter());
        assert_eq!(section.parts(), 60);
        let sum: u64 = (0..480).map(|n| section.get(n).1).sum();
        let mean = sum as f64 / 480.0;
        assert!((9.0..11.0).contains(&mean), "{mean}");
    }

    #[test]
    fn it_grows_by_the_grain() {
        let mut section = TwoLevel::default();
        for n in 0..480u32 {
            section.set(Entry::new(n * 7 % 480, Some(1), false));
            let least = (n as usize + 1).div_ceil(PART_ENTRIES);
            assert!(section.parts() >= least && section.parts() <= 2 * least + 1, "{n}: {}", section.parts());
        }
        assert_eq!(section.bytes(FirstLevel::Reserved, 4096), 256 + 64 * section.parts() as u64);
        let few = TwoLevel::from_sorted(section.sorted().into_iter().take(22));
        assert_eq!((few.bytes(FirstLevel::Growing, 4096), few.bytes(FirstLevel::Reserved, 4096)), (256, 448));
    }
}
