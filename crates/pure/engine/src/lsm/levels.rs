//! The tables by level.

use super::key::Key;
use super::table::Table;
use saker_medium::PageAddr;
use std::sync::Arc;

/// Levels of a tree.
pub const LEVELS: usize = 7;

/// Tables: in level 0 the youngest first, in the others by key without overlap.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    levels: [Vec<Arc<Table>>; LEVELS],
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

    /// Adds a table.
    pub fn add(&mut self, level: usize, table: Arc<Table>) {
        let tables = &mut self.levels[level];
        let at = match level {
            0 => tables.partition_point(|t| t.id > table.id),
            _ => tables.partition_point(|t| t.first < table.first),
        };
        tables.insert(at, table);
    }

    /// Removes a table.
    pub fn remove(&mut self, id: u64) -> Option<Arc<Table>> {
        self.levels.iter_mut().find_map(|tables| {
            let at = tables.iter().position(|t| t.id == id)?;
            Some(tables.remove(at))
        })
    }

    /// The table of level `n` (not 0) that could have a key.
    #[inline]
    pub fn covering(&self, n: usize, key: &Key) -> Option<&Arc<Table>> {
        let tables = &self.levels[n];
        let at = tables.partition_point(|t| t.last < *key);
        tables.get(at).filter(|t| t.first <= *key)
    }

    /// The tables of a level that share keys with a range.
    pub fn overlapping(&self, n: usize, first: &Key, last: &Key) -> Vec<Arc<Table>> {
        self.levels[n].iter().filter(|t| t.overlaps(first, last)).cloned().collect()
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

    /// Entries of all tables.
    pub fn entries(&self) -> u64 {
        self.all().map(|(_, t)| t.entries).sum()
    }

    /// The table a page belongs to.
    pub fn owner_of(&mut self, page: PageAddr) -> Option<&mut Arc<Table>> {
        self.levels.iter_mut().flatten().find(|t| t.all_pages().any(|p| p == page))
    }
}
