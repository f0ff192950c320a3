//! Levels of tables as the structure of a store.

use super::recover::Tables;
use super::stall::{Load, judge};
use super::{Lsm, LsmConfig, LsmStore};
use crate::ordered::background::Piece;
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::Memtable;
use crate::ordered::space::victim_but;
use crate::ordered::structure::{Found, Structure};
use saker_engine_api::{KvError, Snapshot};
use saker_log::recover::Damage;
use saker_medium::{Medium, PageAddr, Reads, SegmentId, Step, Tag, ready};
use saker_sim::{Digest, Meter};
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// The newest version that is looked at.
fn version(at: Option<Snapshot>) -> u64 {
    at.map_or(u64::MAX, |snapshot| snapshot.version())
}

impl Structure for Lsm {
    type Config = LsmConfig;
    type Trail = Reads;
    type Named = Tables;
    const PIECES: u32 = 9;

    fn new(_: &LsmConfig, _: &dyn Medium) -> Self {
        Self { next_table: 1, ..Self::default() }
    }

    fn memtable(config: &LsmConfig) -> Memtable {
        Memtable::with_bytes(config.write_buffer_size)
    }

    fn find<M: Medium, W: Meter>(
        store: &LsmStore,
        key: &Key,
        at: Option<Snapshot>,
        m: &M,
        w: &mut W,
    ) -> Found<Option<Entry>, Self> {
        store.find(key, version(at), m, w)
    }

    fn visit<M: Medium, W: Meter>(
        store: &LsmStore,
        (from, backwards): (Bound<Key>, bool),
        at: Option<Snapshot>,
        visit: impl FnMut(&Entry) -> bool,
        m: &M,
        w: &mut W,
    ) -> Found<bool, Self> {
        if backwards {
            store.visit_back(from, version(at), visit, m, w)
        } else {
            store.visit(from, version(at), visit, m, w)
        }
    }

    fn snapshot(store: &mut LsmStore) -> Snapshot {
        let version = store.version - 1;
        store.own.snapshots.push(version);
        Snapshot::at(version)
    }

    fn share(&mut self, snapshot: Snapshot) {
        let at = self.snapshots.partition_point(|s| *s <= snapshot.version());
        self.snapshots.insert(at, snapshot.version());
    }

    fn release(store: &mut LsmStore, snapshot: Snapshot) {
        if let Some(at) = store.own.snapshots.iter().position(|s| *s == snapshot.version()) {
            store.own.snapshots.remove(at);
            store.own.held.clear();
        }
    }

    fn sees(&self, old: u64, new: u64) -> bool {
        self.snapshot_within(old, new).is_some()
    }

    fn is_seen<M: Medium, W: Meter>(
        store: &LsmStore,
        (key, record): (Key, &Entry),
        newest: Option<Entry>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<bool, KvError>> {
        let mut between = (store.own.snapshots.iter())
            .filter(|s| record.version <= **s && newest.is_some_and(|e| **s < e.version));
        let Some(snapshot) = between.next() else { return Step::Done(Ok(false)) };
        let (found, _) = ready!(store.find(&key, *snapshot, m, w));
        let is_it = |e: &Entry| e.loc == record.loc && e.version == record.version;
        Step::Done(found.map(|e| e.as_ref().is_some_and(is_it)))
    }

    fn frozen(&self) -> impl DoubleEndedIterator<Item = &Arc<Memtable>> {
        self.frozen.iter()
    }

    fn may_freeze(store: &LsmStore) -> bool {
        store.own.frozen.len() + 1 < (store.config.max_write_buffer_number as usize).max(2)
    }

    fn freeze(store: &mut LsmStore) {
        let full = store.take_memtable();
        store.own.frozen.extend(full);
    }

    fn lets_in(store: &mut LsmStore, is_delete: bool) -> bool {
        let load = Load {
            memtable_stuck: store.is_full() && !Self::may_freeze(store),
            frozen: store.own.frozen.len() as u32,
            level0: store.own.levels.level(0).len() as u32,
            pending_bytes: store.own.sizes.pending_bytes,
        };
        if is_delete { !load.memtable_stuck } else { store.own.brake.admit(judge(&store.config, &load)) }
    }

    fn entries(&self) -> u64 {
        self.sizes.entries
    }

    fn capacity_for<M: Medium>(store: &LsmStore, entries: u64, longest: u32, m: &M) -> u64 {
        store.capacity_for(entries, longest, m)
    }

    fn for_deletes<M: Medium>(store: &LsmStore, m: &M) -> u32 {
        store.for_deletes(m)
    }

    fn is_short<M: Medium>(store: &LsmStore, m: &M) -> bool {
        store.is_short_of_segments(m)
    }

    fn is_exhausted<M: Medium>(store: &LsmStore, m: &M) -> bool {
        store.is_exhausted(m)
    }

    fn has_unknown(store: &LsmStore) -> bool {
        let has_copies = store.own.entries() + store.buffered() > store.entries_at_most();
        has_copies || !store.own.snapshots.is_empty() && !store.mem.is_empty()
    }

    fn keeps_for_released(store: &LsmStore) -> bool {
        !store.next_marked().is_empty()
    }

    fn victim(store: &LsmStore) -> Option<SegmentId> {
        victim_but(&store.log, &store.own.held, |s| store.lost_by(s))
    }

    fn gives_up(&mut self, id: SegmentId) -> bool {
        self.held.push(id);
        true
    }

    fn is_merged(store: &LsmStore) -> bool {
        let own = &store.own;
        own.compactions.is_empty() && store.next_to_one_level().is_none() && store.next_marked().is_empty()
    }

    fn least_gain(store: &LsmStore, lost: u64) -> u64 {
        store.entered_anew(lost)
    }

    fn kept_from_copies<M: Medium>(store: &LsmStore, m: &M) -> u32 {
        store.kept_from_merges(m)
    }

    fn begin_background<M: Medium>(store: &mut LsmStore, _: &mut M) {
        store.own.brake.pay();
    }

    fn piece<M: Medium, W: Meter>(
        store: &mut LsmStore,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        store.piece(n, finished, m, w)
    }

    fn has_work(store: &LsmStore) -> bool {
        !store.own.compactions.is_empty() || store.own.sizes.pending_bytes > 0
    }

    /// What a running manifest names must first be made good elsewhere.
    fn page_failed<M: Medium>(store: &mut LsmStore, _: PageAddr, m: &mut M) {
        if !store.settings.ring_lasts && store.manifest.is_running() {
            store.fail_manifest(m);
        }
    }

    fn manifest_bytes(store: &LsmStore) -> u64 {
        store.manifest_bytes()
    }

    /// A manifest freezes the memtable, whose few entries become a table of two pages: where room is short that counts.
    fn freed_by_manifest(store: &LsmStore, is_short: bool) -> u64 {
        let freed = store.own.leaving.pages() * store.page_bytes();
        let flushed = if is_short { store.flush_bytes(store.mem.len() as u64) } else { 0 };
        freed.saturating_sub(flushed)
    }

    fn manifest_begun(store: &mut LsmStore) {
        store.own.leaving.flushes = store.own.stats.flushes + store.own.frozen.len() as u64;
    }

    fn has_cut(store: &LsmStore) -> bool {
        store.own.stats.flushes >= store.own.leaving.flushes
    }

    fn describe(store: &mut LsmStore, most: u64) -> VecDeque<Vec<u8>> {
        store.describe(most)
    }

    fn manifest_complete<M: Medium>(store: &mut LsmStore, m: &mut M) {
        for page in std::mem::take(&mut store.own.leaving.leaving) {
            store.sub_page(page);
        }
        store.release_dead_tables(m);
    }

    fn enter_chunk(store: &mut LsmStore, tables: &mut Tables, chunk: &[u8]) -> bool {
        store.enter_chunk(tables, chunk)
    }

    fn adopt(_: &mut LsmStore, tables: &mut Tables) -> Result<(), &'static str> {
        tables.reverse();
        Ok(())
    }

    fn load<M: Medium>(store: &mut LsmStore, tables: &mut Tables, m: &M) -> Step<Result<bool, Damage>> {
        store.load_table(tables, m)
    }

    fn settle<M: Medium>(store: &mut LsmStore, _: Tables, m: &mut M) {
        store.settle(m);
    }

    fn memory_bytes(store: &LsmStore) -> u64 {
        store.own.levels.all().map(|(_, t)| t.memory_bytes()).sum()
    }

    fn digest(&self, digest: &mut Digest) {
        for (level, table) in self.levels.all() {
            digest.number(level as u64);
            digest.number(table.id);
        }
    }

    fn counters(store: &LsmStore) -> Vec<(&'static str, u64)> {
        store.counters()
    }
}
