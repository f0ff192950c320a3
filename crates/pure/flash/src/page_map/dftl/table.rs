// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cached mapping table: entries of single blocks, the least recently used of which go first.
//!
//! An entry is dirty while its translation page on flash says something else. Only clean entries are thrown out; which dirty one
//! is next tells who writes translation pages.

use std::collections::BTreeMap;
use std::ops::Range;

/// Modelled memory of an entry: block and sector, 4 bytes each, and two links of the list of uses.
pub const ENTRY_MEMORY_BYTES: u64 = 16;

#[derive(Clone, Copy, Debug)]
struct Cell {
    word: u32,
    is_dirty: bool,
    used: u64,
}

/// The entries.
#[derive(Clone, Debug)]
pub struct Table {
    most: usize,
    cells: BTreeMap<u64, Cell>,
    /// Blocks by their last use, clean and dirty ones apart.
    uses: [BTreeMap<u64, u64>; 2],
    clock: u64,
    /// Entries thrown out for others.
    evictions: u64,
}

impl Table {
    /// Room for so many entries.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            cells: BTreeMap::new(),
            uses: [BTreeMap::new(), BTreeMap::new()],
            clock: 0,
            evictions: 0,
        }
    }

    /// Entries that it has room for.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Entries thrown out so far.
    pub fn evictions(&self) -> u64 {
        self.evictions
    }

    /// Entries that are dirty.
    pub fn dirty(&self) -> usize {
        self.uses[1].len()
    }

    /// Entries that can become dirty before translation pages are written.
    pub fn room(&self) -> usize {
        self.most.saturating_sub(self.dirty())
    }

    /// The map word of a block, if it is here.
    pub fn word(&self, lba: u64) -> Option<u32> {
        self.cells.get(&lba).map(|cell| cell.word)
    }

    /// Whether a block has a dirty entry.
    pub fn is_dirty(&self, lba: u64) -> bool {
        self.cells.get(&lba).is_some_and(|cell| cell.is_dirty)
    }

    /// Whether the entry that is to go next is dirty: there is no room for another, and none has been used less recently.
    pub fn is_dirty_next(&self) -> bool {
        let [clean, dirty] = self.uses.each_ref().map(|uses| uses.first_key_value().map(|(used, _)| *used));
        let is_older = dirty.is_some_and(|used| clean.is_none_or(|other| used < other));
        self.cells.len() >= self.most && is_older
    }

    /// Blocks of dirty entries, the least recently used first.
    pub fn oldest_dirty(&self) -> impl Iterator<Item = u64> + '_ {
        self.uses[1].values().copied()
    }

    /// Dirty entries of a range of blocks.
    pub fn dirty_in(&self, blocks: Range<u64>) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.cells.range(blocks).filter(|(_, cell)| cell.is_dirty).map(|(lba, cell)| (*lba, cell.word))
    }

    fn put(&mut self, lba: u64, word: u32, is_dirty: bool) {
        self.clock += 1;
        let cell = Cell { word, is_dirty, used: self.clock };
        if let Some(old) = self.cells.insert(lba, cell) {
            self.uses[usize::from(old.is_dirty)].remove(&old.used);
        }
        self.uses[usize::from(is_dirty)].insert(self.clock, lba);
    }

    fn throw_out(&mut self) -> bool {
        let Some((_, lba)) = self.uses[0].pop_first() else { return false };
        self.cells.remove(&lba);
        self.evictions += 1;
        true
    }

    /// An entry was used.
    pub fn touch(&mut self, lba: u64) {
        if let Some(cell) = self.cells.get(&lba).copied() {
            self.put(lba, cell.word, cell.is_dirty);
        }
    }

    /// Keeps a clean entry, if there is room that no dirty one has.
    pub fn keep(&mut self, lba: u64, word: u32) {
        if !self.cells.contains_key(&lba) && (self.cells.len() < self.most || self.throw_out()) {
            self.put(lba, word, false);
        }
    }

    /// Keeps an entry whatever room there is, as it will be dirty in a moment.
    pub fn hold(&mut self, lba: u64, word: u32) {
        if let Some(cell) = self.cells.get(&lba) {
            debug_assert_eq!(cell.word, word, "a block has one sector");
            return;
        }
        if self.cells.len() >= self.most {
            self.throw_out();
        }
        self.put(lba, word, false);
    }

    /// A block is elsewhere now: its entry, which is here, is dirty. What it said before.
    pub fn change(&mut self, lba: u64, word: u32) -> u32 {
        let old = self.cells.get(&lba).expect("an entry is held before it changes").word;
        self.put(lba, word, true);
        old
    }

    /// A dirty entry that recovery has found, whatever room there is.
    pub fn restore(&mut self, lba: u64, word: u32) {
        self.put(lba, word, true);
    }

    /// The translation page of these blocks says what their entries do.
    pub fn clean(&mut self, blocks: Range<u64>) {
        for (lba, cell) in self.cells.range_mut(blocks).filter(|(_, cell)| cell.is_dirty) {
            cell.is_dirty = false;
            self.uses[1].remove(&cell.used);
            self.uses[0].insert(cell.used, *lba);
        }
        while self.cells.len() > self.most && self.throw_out() {}
    }

    /// Forgets the entries of a range of blocks.
    pub fn forget(&mut self, blocks: Range<u64>) {
        let gone: Vec<_> = self.cells.range(blocks).map(|(lba, cell)| (*lba, *cell)).collect();
        for (lba, cell) in gone {
            self.cells.remove(&lba);
            self.uses[usize::from(cell.is_dirty)].remove(&cell.used);
        }
    }

    /// Says what contradicts itself.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let listed = self.uses[0].len() + self.uses[1].len();
        if listed != self.cells.len() {
            return Err(format!("{} entries are cached, and {listed} are in order", self.cells.len()));
        }
        let is_listed =
            |(lba, cell): (&u64, &Cell)| self.uses[usize::from(cell.is_dirty)].get(&cell.used) == Some(lba);
        if self.cells.iter().all(is_listed) { Ok(()) } else { Err("an entry is not in order".into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_clean_entry_goes() {
        let mut table = Table::new(3);
        (0..3).for_each(|lba| table.keep(lba, lba as u32 + 1));
        table.touch(0);
        table.change(1, 9);
        table.keep(7, 8);
        assert_eq!([0, 1, 2, 7].map(|lba| table.word(lba)), [Some(1), Some(9), None, Some(8)]);
        table.keep(8, 9);
        assert_eq!([0, 1, 7, 8].map(|lba| table.word(lba)), [None, Some(9), Some(8), Some(9)]);
        assert!(table.is_dirty_next() && table.room() == 2);
        assert_eq!((table.evictions(), table.check()), (2, Ok(())));
    }

    #[test]
    fn without_clean_entries_nothing_is_kept_and_dirty_ones_stay() {
        let mut table = Table::new(2);
        for lba in 0..3 {
            table.hold(lba, 0);
            table.change(lba, 5);
        }
        table.keep(9, 1);
        assert_eq!((table.word(9), table.dirty(), table.room()), (None, 3, 0));
        assert_eq!(table.dirty_in(1..9).collect::<Vec<_>>(), [(1, 5), (2, 5)]);
        table.clean(0..2);
        assert_eq!(
            (table.dirty(), table.room(), table.word(0)),
            (1, 1, None),
            "what was beyond its room is gone"
        );
        table.forget(0..9);
        assert_eq!((table.dirty(), table.word(2), table.check()), (0, None, Ok(())));
    }
}
