// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Levels of tables as the structure of a store.

use super::recover::Tables;
use super::write_controller::Load;
use super::{Lsm, LsmConfig, LsmStore, settings};
use crate::ordered::background::Piece;
use crate::ordered::inside::Inside;
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::Memtable;
use crate::ordered::placement::Inside as Classes;
use crate::ordered::structure::{
    Buffers, Chores, Collected, Configured, Content, Found, Manifests, Rebuild, Room, Search, Sought,
    Structure, Tuned, Turn, Versions, Visited, Write,
};
use saker_engine_api::{Job, JobKind, KvError, Settings, Snapshot, Task, WriteCondition};
use saker_log::recover::{Damage, Progress};
use saker_segment_store::{Looked, PageAddr, SegmentId, SegmentStore, Step, Tag, ready};
use saker_sim::{Digest, Meter};
use std::collections::VecDeque;
use std::sync::Arc;

/// The newest version that is looked at.
fn version(at: Option<Snapshot>) -> u64 {
    at.map_or(u64::MAX, |snapshot| snapshot.version())
}

impl Configured for Lsm {
    type Config = LsmConfig;
}

impl Structure for Lsm {
    fn new(_: &LsmConfig, _: &dyn SegmentStore) -> Self {
        Self { next_table: 1, ..Self::default() }
    }

    fn place(store: &mut LsmStore) -> Classes {
        store.decided()
    }

    fn memory_bytes(&self, _: u64) -> u64 {
        self.levels.all().map(|(_, t)| t.memory_bytes()).sum()
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

    fn counter(store: &LsmStore, name: &str) -> Option<u64> {
        store.load_counter(name)
    }
}

impl Tuned for Lsm {
    fn told(config: &LsmConfig, page_bytes: u32) -> Settings {
        settings::told(config, page_bytes)
    }

    fn retuned(config: LsmConfig, asked: &Settings, m: &dyn SegmentStore) -> LsmConfig {
        let geometry = m.geometry();
        let usual = LsmConfig::new(config.owner, &geometry, m.quota_segments(), config.ring_lasts);
        settings::retuned(config, &settings::apply(asked, usual, &geometry))
    }

    /// What compactions owe follows from triggers and sizes of levels.
    fn adapt(store: &mut LsmStore) {
        store.measure();
        let load = store.own.load(store.is_full());
        store.own.controller.recalculate_if_new(&(&store.config).into(), load);
    }
}

impl Search for Lsm {
    type Trail = Looked;

    fn find<M: SegmentStore, W: Meter>(
        store: &LsmStore,
        key: &Key,
        at: Option<Snapshot>,
        m: &M,
        w: &mut W,
    ) -> Found<Option<Entry>, Self> {
        store.find(key, version(at), m, w)
    }

    fn find_all<M: SegmentStore, W: Meter>(
        store: &LsmStore,
        keys: &[Key],
        m: &M,
        w: &mut W,
    ) -> Step<Sought<Looked>> {
        match store.find_all(keys, m, w) {
            Ok(sought) => Step::Done(sought),
            Err(stall) => Step::Blocked(stall),
        }
    }

    fn value_inside<'a, M: SegmentStore>(store: &'a LsmStore, e: &Entry, offset: u32, m: &'a M) -> &'a [u8] {
        store.value_inside(e, offset, m)
    }

    fn visit<'a, M: SegmentStore, W: Meter>(
        store: &'a LsmStore,
        Visited { from, backwards, has_values }: Visited,
        at: Option<Snapshot>,
        visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        m: &'a M,
        w: &mut W,
    ) -> Found<bool, Self> {
        if backwards {
            store.visit_back(from, version(at), visit, m, w)
        } else {
            store.visit((from, has_values), version(at), visit, m, w)
        }
    }
}

impl Versions for Lsm {
    fn snapshot(&mut self, version: u64) -> Snapshot {
        self.snapshots.push(version);
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

    fn has_snapshots(&self) -> bool {
        !self.snapshots.is_empty()
    }

    fn sees(&self, old: u64, new: u64) -> bool {
        self.snapshot_within(old, new).is_some()
    }

    fn is_seen<M: SegmentStore, W: Meter>(
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
        let is_it = |e: &Entry| e.addr == record.addr && e.version == record.version;
        Step::Done(found.map(|e| e.as_ref().is_some_and(is_it)))
    }
}

impl Buffers for Lsm {
    fn memtable(config: &LsmConfig, used: Option<Memtable>) -> Memtable {
        Memtable::with_bytes(config.write_buffer_size, used)
    }

    fn frozen(&self) -> impl DoubleEndedIterator<Item = &Arc<Memtable>> {
        self.frozen.iter()
    }

    fn may_freeze(&self, config: &LsmConfig) -> bool {
        self.frozen.len() + 1 < (config.max_write_buffer_number as usize).max(2)
    }

    fn freeze(&mut self, full: Option<Arc<Memtable>>, _: u64) {
        self.frozen.extend(full);
    }

    fn admit(&mut self, write: Write, is_full: bool, config: &LsmConfig) -> Turn {
        if is_full {
            self.switched(is_full, config);
        }
        self.controller.admit(write)
    }

    fn switched(&mut self, is_full: bool, config: &LsmConfig) {
        let load = self.load(is_full);
        if load.immutables != self.controller.immutables() {
            self.controller.recalculate(&config.into(), load);
        }
    }

    fn condition(&self) -> WriteCondition {
        self.controller.condition()
    }

    fn let_pass(&mut self, writes: u32) {
        self.controller.let_pass(writes);
    }
}

impl Lsm {
    /// How far background work is behind.
    pub(super) fn load(&self, is_full: bool) -> Load {
        Load {
            immutables: self.frozen.len() as u32 + u32::from(is_full),
            level0: u32::try_from(self.sizes.level0).unwrap_or(u32::MAX),
            pending_bytes: self.sizes.pending_bytes,
        }
    }
}

impl Room for Lsm {
    fn entries(&self) -> u64 {
        self.sizes.entries
    }

    fn capacity_for<M: SegmentStore>(store: &LsmStore, content: &Content, m: &M) -> u64 {
        store.capacity_for(content, m)
    }

    fn inside(&self) -> Inside {
        self.sizes.inside
    }

    fn structure_bytes(&self, page_bytes: u64) -> u64 {
        self.sizes.pages * page_bytes
    }

    fn for_deletes<M: SegmentStore>(store: &LsmStore, m: &M) -> u32 {
        store.for_deletes(m)
    }

    fn is_short<M: SegmentStore>(store: &LsmStore, m: &M) -> bool {
        store.is_short_of_segments(m)
    }

    fn is_quiet(&self) -> bool {
        self.flush.is_none() && self.compactions.is_empty()
    }

    fn can_be_packed<M: SegmentStore>(store: &LsmStore, m: &M) -> bool {
        store.table_victim(m).is_some()
    }

    /// A snapshot sees what the memtable replaced.
    fn has_unknown(&self, mem: &Memtable, copies: u64) -> bool {
        copies > 0 || self.has_snapshots() && !mem.is_empty()
    }

    fn keeps_for_released(&self) -> bool {
        !self.next_marked().is_empty()
    }

    fn is_merged(&self, config: &LsmConfig, page_bytes: u64) -> bool {
        self.compactions.is_empty()
            && self.levels.above_deepest().is_none()
            && self.next_rewritten(config, page_bytes).is_empty()
    }
}

impl Collected for Lsm {
    fn held(&self) -> &[SegmentId] {
        &self.held
    }

    fn hold(&mut self, id: SegmentId) {
        self.held.push(id);
    }

    fn least_gain(store: &LsmStore, lost: u64) -> u64 {
        store.entered_anew(lost)
    }

    fn goes_before<M: SegmentStore>(store: &LsmStore, records: SegmentId, m: &M) -> bool {
        store.collects_tables_before(records, m)
    }

    fn owed_at_most(segment_bytes: u64, lost: u64) -> u64 {
        super::space::worth_collecting(segment_bytes, lost)
    }

    fn kept_from_copies<M: SegmentStore>(store: &LsmStore, m: &M) -> u32 {
        store.kept_from_merges(m)
    }
}

impl Chores for Lsm {
    const PIECES: u32 = 9;

    fn begin<M: SegmentStore>(store: &mut LsmStore, _: &mut M) {
        store.own.controller.worked();
    }

    fn piece<M: SegmentStore, W: Meter>(
        store: &mut LsmStore,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        store.piece(n, finished, m, w)
    }

    fn puts_off<M: SegmentStore>(store: &mut LsmStore, m: &M) -> bool {
        store.puts_off_merges(m)
    }

    fn next_task(store: &mut LsmStore) -> Option<Box<dyn Task>> {
        store.merge_to_compute()
    }

    fn task_done(store: &mut LsmStore, task: Box<dyn Task>) {
        store.merge_is_computed(task);
    }

    fn waits_for_task(store: &LsmStore) -> bool {
        store.waits_for_task()
    }

    fn kind_of(store: &LsmStore, n: u32) -> JobKind {
        store.kind_of(n)
    }

    fn jobs<M: SegmentStore>(store: &LsmStore, m: &M, visit: &mut dyn FnMut(Job)) {
        store.jobs_side_by_side(m, visit);
    }

    fn job_piece<M: SegmentStore, W: Meter>(store: &mut LsmStore, job: Job, m: &mut M, w: &mut W) -> Piece {
        store.job_piece(job, m, w)
    }

    fn rest_piece<M: SegmentStore, W: Meter>(
        store: &mut LsmStore,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        store.rest_piece(n, finished, m, w)
    }

    fn has_work(&self) -> bool {
        !self.compactions.is_empty() || self.sizes.is_due
    }

    fn page_failed(&mut self, _: PageAddr) -> bool {
        true
    }
}

impl Manifests for Lsm {
    fn manifest_bytes(store: &LsmStore) -> u64 {
        store.manifest_bytes()
    }

    fn freed_by_manifest(store: &LsmStore) -> u64 {
        store.own.leaving.pages() * store.page_bytes()
    }

    /// A manifest freezes the memtable, whose few entries become a table of two pages.
    fn freed_at_once(store: &LsmStore) -> u64 {
        Self::freed_by_manifest(store)
            .saturating_sub(store.flush_bytes(store.mem.len() as u64, store.mem.inside()))
    }

    fn manifest_begun(&mut self) {
        self.leaving.flushes = self.stats.flushes + self.frozen.len() as u64;
    }

    fn has_cut(&self) -> bool {
        self.stats.flushes >= self.leaving.flushes
    }

    fn describe(store: &mut LsmStore, most: u64) -> VecDeque<Vec<u8>> {
        store.describe(most)
    }

    fn manifest_complete<M: SegmentStore>(store: &mut LsmStore, m: &mut M) {
        for page in std::mem::take(&mut store.own.leaving.leaving) {
            store.sub_page(page);
        }
        store.release_dead_tables(m);
        if store.own.puts_off {
            // Without a clock an erase takes no time, and its memory is at hand for the next segment.
            store.release_dead_records(usize::MAX, m);
        }
    }
}

impl Rebuild for Lsm {
    type Named = Tables;

    fn enter_chunk(store: &mut LsmStore, tables: &mut Tables, chunk: &[u8]) -> bool {
        store.enter_chunk(tables, chunk)
    }

    fn adopt(_: &mut LsmStore, tables: &mut Tables) -> Result<(), &'static str> {
        tables.reverse();
        Ok(())
    }

    fn load<M: SegmentStore>(
        store: &mut LsmStore,
        tables: &mut Tables,
        m: &M,
    ) -> Step<Result<Progress, Damage>> {
        store.load_table(tables, m)
    }

    fn settle<M: SegmentStore>(store: &mut LsmStore, _: Tables, m: &mut M) {
        store.settle(m);
    }
}
