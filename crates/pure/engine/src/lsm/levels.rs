// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tables by level.

use super::marked::Kept;
use super::table::Table;
use crate::ordered::key::Key;
use saker_log::ensure;
use saker_segment_store::PageAddr;
use std::sync::Arc;

/// Levels of a tree.
pub const LEVELS: usize = 7;

/// Tables: in level 0 the youngest first, in the others by key without overlap.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    levels: [Vec<Arc<Table>>; LEVELS],
    /// The first word of each table's last key: a search looks at no table but the one it finds.
    lasts: [Vec<u64>; LEVELS],
}

impl Levels {
    /// The tables of a level.
    pub fn level(&self, n: usize) -> &[Arc<Table>] {
        &self.levels[n]
    }

    /// All tables with their level.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Arc<Table>)> {
        self.levels.iter().enumerate().flat_map(|(n, tables)| tables.iter().map(move |t| (n, t)))
    }

    /// Says what contradicts itself: the order of tables, and the words that searches go by.
    pub fn check(&self) -> Result<(), String> {
        let young = self.levels[0].is_sorted_by(|a, b| a.id > b.id);
        ensure(young, || "tables of level 0 are not in the order of their age".into())?;
        for (n, (tables, lasts)) in self.levels.iter().zip(&self.lasts).enumerate() {
            let apart = n == 0 || tables.is_sorted_by(|a, b| a.last < b.first);
            ensure(apart, || format!("tables of level {n} overlap or are out of order"))?;
            let same = tables.iter().map(|t| t.last.word()).eq(lasts.iter().copied());
            ensure(same, || format!("the last words of level {n} are not those of its tables"))?;
        }
        Ok(())
    }

    /// Adds a table.
    pub fn add(&mut self, level: usize, table: Arc<Table>) {
        let tables = &mut self.levels[level];
        let at = match level {
            0 => tables.partition_point(|t| t.id > table.id),
            _ => tables.partition_point(|t| t.first < table.first),
        };
        self.lasts[level].insert(at, table.last.word());
        tables.insert(at, table);
    }

    /// Removes a table.
    pub fn remove(&mut self, id: u64) -> Option<Arc<Table>> {
        self.levels.iter_mut().zip(&mut self.lasts).find_map(|(tables, lasts)| {
            let at = tables.iter().position(|t| t.id == id)?;
            lasts.remove(at);
            Some(tables.remove(at))
        })
    }

    /// Tables of level `n` (not 0) all of whose keys are before `key`.
    #[inline]
    pub fn before(&self, n: usize, key: &Key) -> usize {
        let (tables, lasts, word) = (&self.levels[n], &self.lasts[n], key.word());
        let low = lasts.partition_point(|last| *last < word);
        let same = lasts[low..].partition_point(|last| *last == word);
        low + tables[low..low + same].partition_point(|t| t.last < *key)
    }

    /// The table of level `n` (not 0) that could have a key.
    #[inline]
    pub fn covering(&self, n: usize, key: &Key) -> Option<&Arc<Table>> {
        self.levels[n].get(self.before(n, key)).filter(|t| t.first <= *key)
    }

    /// Whether a level behind `n` could have a key.
    pub fn deeper_has(&self, n: usize, key: &Key) -> bool {
        (n + 1..LEVELS).any(|level| self.covering(level, key).is_some())
    }

    /// Pages of a level.
    pub fn pages(&self, n: usize) -> u64 {
        self.levels[n].iter().map(|t| t.pages_total()).sum()
    }

    /// The deepest level with tables.
    pub fn deepest(&self) -> usize {
        self.levels.iter().rposition(|tables| !tables.is_empty()).unwrap_or(0)
    }

    /// The first level with tables that go down when all go to one level. Level 0 never is that one.
    pub fn above_deepest(&self) -> Option<usize> {
        (0..self.deepest().max(1)).find(|n| !self.levels[*n].is_empty())
    }

    /// The tables of the deepest level keep nothing for snapshots.
    pub fn unmark_deepest(&mut self) {
        let deepest = self.deepest();
        self.levels[deepest].iter_mut().for_each(|table| Arc::make_mut(table).kept = Kept::default());
    }

    /// Entries of all tables.
    pub fn entries(&self) -> u64 {
        self.all().map(|(_, t)| t.entries).sum()
    }

    /// The table a page belongs to.
    pub fn owner_of(&mut self, page: PageAddr) -> Option<&mut Arc<Table>> {
        self.levels.iter_mut().flatten().find(|t| t.all_pages().any(|p| p == page))
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::Builder;
    use super::super::pairs::With;
    use super::super::table::Layout;
    use super::*;
    use crate::ordered::key::Entry;
    use saker_value_log::RecordAddr;

    fn table(id: u64, first: &str, last: &str) -> Arc<Table> {
        let entry = |key: &str| Entry {
            key: Key::new(key.as_bytes()).unwrap(),
            version: id,
            addr: RecordAddr::new(64, 32, 1),
            stamp: 1,
        };
        let mut builder = Builder::new(id, entry(first).key, 4096, 10, Layout::Slots);
        [first, last].iter().for_each(|key| builder.push(entry(key), With::NOTHING));
        Arc::new(builder.table().clone())
    }

    #[test]
    fn all_but_the_deepest_level_go_down_and_level_0_always() {
        let mut levels = Levels::default();
        assert_eq!((levels.deepest(), levels.above_deepest()), (0, None));
        for (level, expected) in [(3, None), (2, Some(2)), (5, Some(2)), (0, Some(0))] {
            levels.add(level, table(level as u64, "a", "b"));
            assert_eq!(levels.above_deepest(), expected, "after level {level}");
        }
        let mut young = Levels::default();
        young.add(0, table(1, "a", "b"));
        assert_eq!(young.above_deepest(), Some(0));
    }

    #[test]
    fn the_table_of_a_key_is_found_by_words() {
        let mut levels = Levels::default();
        let spans = [("b", "d"), ("longlong-a", "longlong-c"), ("longlong-e", "longlong-g"), ("x", "z")];
        for (n, (first, last)) in spans.iter().enumerate().rev() {
            levels.add(2, table(n as u64, first, last));
        }
        let found =
            |levels: &Levels, key: &str| levels.covering(2, &Key::new(key.as_bytes()).unwrap()).map(|t| t.id);
        let keys = ["a", "b", "c", "d", "e", "longlong", "longlong-a", "longlong-d", "longlong-f", "y", "zz"];
        let expected = [None, Some(0), Some(0), Some(0), None, None, Some(1), None, Some(2), Some(3), None];
        assert_eq!(keys.map(|key| found(&levels, key)), expected);
        assert!(levels.remove(1).is_some() && levels.remove(7).is_none());
        assert_eq!((found(&levels, "longlong-b"), found(&levels, "longlong-g")), (None, Some(2)));
    }
}
