// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a merge asks its store for while it computes: of the store as it is, or of a copy of what it needs on another thread.

use super::builder::Memory;
use super::table::Table;
use super::{Lsm, LsmConfig, LsmStore};
use crate::ordered::key::{Entry, Key};
use crate::ordered::refs::{self, Refs};
use std::sync::Arc;

/// The store around a merge.
pub trait Around {
    /// Its configuration.
    fn config(&self) -> &LsmConfig;
    /// Bytes of a page.
    fn page_bytes(&self) -> u32;
    /// The last snapshot that sees an entry of version `old` which one of version `new` replaced.
    fn snapshot_within(&self, old: u64, new: u64) -> Option<u64>;
    /// Whether a tombstone may hide something that is not merged with it.
    fn hides_others(&self, e: &Entry) -> bool;
    /// The number of the next table.
    fn next_number(&mut self) -> u64;
    /// Memory for a table on its way.
    fn memory(&mut self) -> Memory;
    /// Notes what an entry refers to.
    fn refer(&mut self, refs: &mut Refs, e: &Entry);
    /// An entry is replaced by one that is merged with it.
    fn forget_record(&mut self, e: &Entry);
    /// A table has ended before it was full.
    fn note_ended_early(&mut self);
}

/// The store as it is.
pub(super) struct Here<'a> {
    /// It.
    pub store: &'a mut LsmStore,
    /// Tables that the merge reads.
    pub reads: &'a [u64],
    /// The level that it writes to.
    pub to: usize,
}

impl Around for Here<'_> {
    fn config(&self) -> &LsmConfig {
        &self.store.config
    }

    fn page_bytes(&self) -> u32 {
        self.store.log.geometry().page_bytes
    }

    fn snapshot_within(&self, old: u64, new: u64) -> Option<u64> {
        self.store.own.snapshot_within(old, new)
    }

    fn hides_others(&self, e: &Entry) -> bool {
        let levels = &self.store.own.levels;
        let elders = || levels.level(0).iter().filter(|t| !self.reads.contains(&t.id));
        self.to == 0 && elders().any(|t| t.covers(&e.key)) || levels.deeper_has(self.to, &e.key)
    }

    fn next_number(&mut self) -> u64 {
        self.store.own.next_number()
    }

    fn memory(&mut self) -> Memory {
        std::mem::take(&mut self.store.own.memory)
    }

    fn refer(&mut self, refs: &mut Refs, e: &Entry) {
        if let Some((segment, bytes)) = refs::referred(&self.store.log, &self.store.births, e) {
            refs.add(segment, e.stamp, bytes, &self.store.births);
        }
    }

    fn forget_record(&mut self, e: &Entry) {
        self.store.forget_record(e);
    }

    fn note_ended_early(&mut self) {
        self.store.own.stats.picks.ended_early += 1;
    }
}

/// What a merge needs of its store where that is out of reach: as it was when the merge left. What has happened since makes no difference that
/// counts. Snapshots that came see the newest entry of each key, which stays; those that went only keep something longer. Tables that could hold
/// what a tombstone hides were there, for what is written meanwhile is newer.
#[derive(Clone, Debug)]
pub(super) struct Apart {
    config: LsmConfig,
    page_bytes: u32,
    /// Versions that snapshots see, rising.
    snapshots: Vec<u64>,
    /// First and last keys of tables that may hold what a tombstone hides, by level.
    elders: Vec<Vec<(Key, Key)>>,
    /// The number of the next table, until one has it.
    number: Option<u64>,
    /// Memory for that table.
    pub memory: Memory,
    told: Told,
}

/// What has happened in a merge while it was apart.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// The longest record that was replaced, in bytes.
    pub forgotten: u32,
    /// Tables that ended before they were full.
    pub ended_early: u64,
}

impl Apart {
    /// Of a merge that writes to level `to` and reads those tables, all within those keys.
    pub fn of(store: &LsmStore, to: usize, reads: &[u64], span: Option<(Key, Key)>) -> Self {
        let is_near = |t: &&Arc<Table>| span.is_none_or(|(first, last)| t.overlaps(&first, &last));
        let spans = |tables: &[Arc<Table>]| -> Vec<_> {
            let other = tables.iter().filter(|t| !reads.contains(&t.id)).filter(is_near);
            other.map(|t| (t.first, t.last)).collect()
        };
        let own = &store.own;
        // Behind level 0 a merge's own level has nothing that it does not read.
        let first = if to == 0 { 0 } else { to + 1 };
        let elders = (first..=own.levels.deepest()).map(|n| spans(own.levels.level(n)));
        Self {
            config: store.config,
            page_bytes: store.log.geometry().page_bytes,
            snapshots: Vec::new(),
            elders: elders.filter(|spans| !spans.is_empty()).collect(),
            number: None,
            memory: Memory::default(),
            told: Told::default(),
        }
    }

    /// Before each time that the merge leaves: the snapshots of now, and what a table that begins meanwhile will have.
    pub fn take_along(&mut self, own: &mut Lsm, begins: bool) {
        self.snapshots.clone_from(&own.snapshots);
        if begins {
            self.number.get_or_insert_with(|| own.next_number());
            if self.memory.hashes.capacity() == 0 {
                self.memory = std::mem::take(&mut own.memory);
            }
        }
    }

    /// What its store is told when it is back.
    pub fn tell(&mut self) -> Told {
        std::mem::take(&mut self.told)
    }
}

impl Around for Apart {
    fn config(&self) -> &LsmConfig {
        &self.config
    }

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn snapshot_within(&self, old: u64, new: u64) -> Option<u64> {
        super::marked::last_within(&self.snapshots, old, new)
    }

    fn hides_others(&self, e: &Entry) -> bool {
        self.elders.iter().flatten().any(|(first, last)| *first <= e.key && e.key <= *last)
    }

    fn next_number(&mut self) -> u64 {
        self.number.take().expect("a merge that is apart begins one table at a time")
    }

    fn memory(&mut self) -> Memory {
        std::mem::take(&mut self.memory)
    }

    fn refer(&mut self, _: &mut Refs, e: &Entry) {
        debug_assert!(
            e.is_inside() || e.is_tombstone(),
            "entries that refer to records are merged at their store"
        );
    }

    fn forget_record(&mut self, e: &Entry) {
        if !e.is_tombstone() {
            self.told.forgotten = self.told.forgotten.max(e.addr.record_bytes());
        }
    }

    fn note_ended_early(&mut self) {
        self.told.ended_early += 1;
    }
}
