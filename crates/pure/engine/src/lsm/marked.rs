// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of the deepest level that keep what only snapshots needed: versions that newer ones replaced, and tombstones.
//!
//! Nothing is below them, so no compaction would take them along; they are written anew in their level when room is
//! needed and the snapshot has been released: RocksDB's "bottommost files marked for compaction" (its pull request
//! 3009). What an entry is kept for is noted where it is kept, so a table that is written anew never names again what
//! made it be: that always ends.

use super::Lsm;
use super::LsmStore;
use super::job::Job;
use super::table::Table;
use std::sync::Arc;

/// Tables that are written anew together: what is left of neighbours shares a table.
pub(super) const TOGETHER: usize = 8;

/// Why a merge keeps an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is the newest of its key.
    Newest,
    /// That snapshot sees it, or what it hides.
    Snapshot(u64),
    /// A tombstone of that version, below or above which something may be that it hides.
    Hides(u64),
}

/// What the entries of a table are kept for that are not the newest of their keys, or are tombstones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Snapshots, rising: one for each of those entries.
    snapshots: Vec<u64>,
    /// The oldest tombstone that hid something when it was written.
    tombstone: Option<u64>,
}

impl Kept {
    /// Of a table that was written in an earlier life: no snapshot of which is there any more.
    pub fn unknown() -> Self {
        Self { snapshots: Vec::new(), tombstone: Some(0) }
    }

    /// Whether all entries are the newest of their keys.
    pub fn is_nothing(&self) -> bool {
        self.snapshots.is_empty() && self.tombstone.is_none()
    }

    /// One more entry is kept.
    pub fn add(&mut self, reason: Reason) {
        match reason {
            Reason::Newest => {}
            Reason::Snapshot(snapshot) => {
                if let Err(at) = self.snapshots.binary_search(&snapshot) {
                    self.snapshots.insert(at, snapshot);
                }
            }
            Reason::Hides(version) => {
                self.tombstone = Some(self.tombstone.map_or(version, |known| known.min(version)));
            }
        }
    }
}

/// The last of these snapshots, which rise, that sees an entry of version `old` which one of version `new` replaced.
pub(super) fn last_within(snapshots: &[u64], old: u64, new: u64) -> Option<u64> {
    let before = snapshots.partition_point(|s| *s < new);
    snapshots[..before].last().copied().filter(|s| old <= *s)
}

impl Lsm {
    /// The last snapshot that sees an entry of version `old` which one of version `new` replaced.
    pub(super) fn snapshot_within(&self, old: u64, new: u64) -> Option<u64> {
        last_within(&self.snapshots, old, new)
    }

    /// Whether a table of the deepest level keeps what no snapshot needs any more.
    fn is_marked(&self, table: &Table) -> bool {
        let is_gone = |s: &u64| self.snapshots.binary_search(s).is_err();
        let hides_nothing = |version: u64| self.snapshot_within(0, version).is_none();
        table.kept.snapshots.iter().any(is_gone) || table.kept.tombstone.is_some_and(hides_nothing)
    }

    /// The next tables of the deepest level that are to be written anew: some that follow each other.
    pub(super) fn next_marked(&self) -> &[Arc<Table>] {
        let deepest = self.levels.deepest();
        let tables = self.levels.level(deepest);
        let marked = |t: &Arc<Table>| self.is_marked(t);
        let Some(first) = tables.iter().position(marked).filter(|_| deepest > 0) else { return &[] };
        let run = tables[first..].iter().take(TOGETHER).take_while(|t| marked(t)).count();
        &tables[first..first + run]
    }
}

impl LsmStore {
    /// Begins to write them anew, all tables being in one level.
    pub(super) fn start_rewriting(&mut self) {
        let tables = self.own.next_rewritten(&self.config, self.page_bytes());
        if tables.is_empty() || !self.own.compactions.is_empty() {
            return;
        }
        let job = Job::rewriting(self.own.levels.deepest(), tables);
        self.own.begin(job);
    }

    /// What tables that a manifest names keep is not known, unless it says that those of the deepest level keep
    /// nothing.
    pub(super) fn mark_recovered(&mut self) {
        if self.own.was_clean {
            self.own.levels.unmark_deepest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_sees_what_was_there_and_not_replaced_yet() {
        let own = Lsm { snapshots: vec![3, 5, 5, 9], ..Lsm::default() };
        let seen = [(1, 2), (1, 3), (1, 4), (4, 6), (6, 9), (6, 10), (10, 20), (7, 7)];
        let expected = [None, None, Some(3), Some(5), None, Some(9), None, None];
        assert_eq!(seen.map(|(old, new)| own.snapshot_within(old, new)), expected);
    }

    #[test]
    fn what_is_kept_names_each_snapshot_once_and_the_oldest_tombstone() {
        let mut kept = Kept::default();
        assert!(kept.is_nothing());
        kept.add(Reason::Newest);
        assert!(kept.is_nothing());
        [5, 3, 5].into_iter().for_each(|s| kept.add(Reason::Snapshot(s)));
        [7, 9].into_iter().for_each(|version| kept.add(Reason::Hides(version)));
        assert_eq!(kept, Kept { snapshots: vec![3, 5], tombstone: Some(7) });
        assert!(!Kept::unknown().is_nothing());
    }
}
