// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The tree as the structure of a store.

use super::descend::Trail;
use super::recover::Named;
use super::reserve::{FOR_COLLECTIONS, FOR_DELETES};
use super::{Cache, CowTree, Frozen, TreeConfig, TreeStore, config};
use crate::ordered::background::Piece;
use crate::ordered::key::{Entry, Key};
use crate::ordered::memtable::Memtable;
use crate::ordered::structure::{
    Buffers, Chores, Collected, Configured, Content, Found, Manifests, Rebuild, Room, Search, Sought,
    Structure, Tuned, Turn, Versions, Visited, Write,
};
use saker_engine_api::{JobKind, KvError, Settings, Snapshot};
use saker_segment_store::{PageAddr, SegmentId, SegmentStore, Step, Tag, ready};
use saker_sim::{Digest, Meter};
use std::collections::VecDeque;
use std::sync::Arc;

impl Configured for CowTree {
    type Config = TreeConfig;
}

impl Structure for CowTree {
    fn new(config: &TreeConfig, m: &dyn SegmentStore) -> Self {
        let geometry = m.geometry();
        let pages = config.node_cache_bytes / u64::from(geometry.page_bytes);
        let nodes = vec![0; geometry.segments as usize];
        Self { mem_first: 1, nodes, cache: Cache::new(pages as usize), ..Self::default() }
    }

    fn memory_bytes(&self, page_bytes: u64) -> u64 {
        self.cache.len() as u64 * page_bytes
    }

    fn digest(&self, digest: &mut Digest) {
        digest.number(self.tree.root.map_or(0, |root| root.page.0));
        digest.number(self.tree.seq);
    }

    fn counters(store: &TreeStore) -> Vec<(&'static str, u64)> {
        store.counters()
    }
}

impl Tuned for CowTree {
    fn told(config: &TreeConfig, _: u32) -> Settings {
        config::told(config)
    }

    fn retuned(own: TreeConfig, asked: &Settings, m: &dyn SegmentStore) -> TreeConfig {
        let usual = TreeConfig::new(own.owner, &m.geometry(), m.quota_segments(), own.ring_lasts);
        config::retuned(own, &config::apply(asked, usual))
    }

    fn adapt(store: &mut TreeStore) {
        let pages = store.config.node_cache_bytes / store.page_bytes();
        store.own.cache.resize(pages as usize);
    }
}

impl Search for CowTree {
    type Trail = Trail;

    fn find<M: SegmentStore, W: Meter>(
        store: &TreeStore,
        key: &Key,
        at: Option<Snapshot>,
        m: &M,
        w: &mut W,
    ) -> Found<Option<Entry>, Self> {
        let mut trail = Trail::default();
        let found = store.find(key, &store.view(at), &mut trail, m, w);
        trail.told(found)
    }

    fn find_all<M: SegmentStore, W: Meter>(
        store: &TreeStore,
        keys: &[Key],
        m: &M,
        w: &mut W,
    ) -> Step<Sought<Trail>> {
        Step::Done(store.find_all(keys, m, w))
    }

    fn searched<M: SegmentStore, W: Meter>(store: &mut TreeStore, trail: &Trail, m: &M, w: &mut W) {
        store.remember(trail, m, w);
    }

    fn visit<'a, M: SegmentStore, W: Meter>(
        store: &'a TreeStore,
        Visited { from, backwards, .. }: Visited,
        at: Option<Snapshot>,
        visit: impl FnMut(&Entry, &'a [u8]) -> bool,
        m: &'a M,
        w: &mut W,
    ) -> Found<bool, Self> {
        let (view, mut trail) = (store.view(at), Trail::default());
        let stopped = if backwards {
            store.visit_back(from, &view, visit, &mut trail, m, w)
        } else {
            store.visit(from, &view, visit, &mut trail, m, w)
        };
        trail.told(stopped)
    }
}

impl Versions for CowTree {
    fn snapshot(&mut self, version: u64) -> Snapshot {
        self.pins.hold(version, self.tree)
    }

    fn share(&mut self, snapshot: Snapshot) {
        self.pins.share(snapshot);
    }

    fn release(store: &mut TreeStore, snapshot: Snapshot) {
        store.let_go(snapshot);
    }

    fn has_snapshots(&self) -> bool {
        !self.pins.snapshots.is_empty()
    }

    fn sees(&self, old: u64, new: u64) -> bool {
        self.pins.sees(old, new)
    }

    fn is_seen<M: SegmentStore, W: Meter>(
        store: &TreeStore,
        (key, record): (Key, &Entry),
        newest: Option<Entry>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<bool, KvError>> {
        let mut trail = Trail::default();
        // A key without an entry was deleted, and the tree has forgotten when.
        let replaced = newest.map_or(u64::MAX, |e| e.version);
        let snapshots = store.own.pins.snapshots.iter();
        for held in snapshots.filter(|s| record.version <= s.version && s.version < replaced) {
            let found = store.find(&key, &held.view(), &mut trail, m, w);
            match ready!(trail.step(found)) {
                Ok(Some(e)) if e.addr == record.addr && e.version == record.version => {
                    return Step::Done(Ok(true));
                }
                Ok(_) => {}
                Err(e) => return Step::Done(Err(e)),
            }
        }
        Step::Done(Ok(false))
    }
}

impl Buffers for CowTree {
    fn memtable(config: &TreeConfig, used: Option<Memtable>) -> Memtable {
        Memtable::with_bytes(config.write_buffer_size, used)
    }

    fn frozen(&self) -> impl DoubleEndedIterator<Item = &Arc<Memtable>> {
        self.imm.iter().map(|imm| &imm.updates)
    }

    fn may_freeze(&self, _: &TreeConfig) -> bool {
        self.imm.is_none()
    }

    fn freeze(&mut self, full: Option<Arc<Memtable>>, next: u64) {
        if let Some(updates) = full {
            self.imm = Some(Frozen { updates, first: self.mem_first, last: next - 1 });
        }
        self.mem_first = next;
    }

    /// Not while the buffer is full and the one before it is not merged.
    fn admit(&mut self, _: Write, is_full: bool, _: &TreeConfig) -> Turn {
        let is_stuck = is_full && self.imm.is_some();
        self.stats.stalls += u64::from(is_stuck && !self.is_stall_counted);
        self.is_stall_counted |= is_stuck;
        if is_stuck { Turn::Later } else { Turn::Now }
    }

    fn wrote(&mut self) {
        self.is_stall_counted = false;
    }
}

impl Room for CowTree {
    fn entries(&self) -> u64 {
        self.tree.entries
    }

    fn capacity_for<M: SegmentStore>(store: &TreeStore, content: &Content, m: &M) -> u64 {
        store.capacity_for(content.entries, content.longest, m)
    }

    fn for_deletes<M: SegmentStore>(store: &TreeStore, _: &M) -> u32 {
        FOR_DELETES.segments + store.manifest_left() + store.merge_segments()
    }

    fn is_quiet(&self) -> bool {
        self.job.is_none() && !self.clean.is_running()
    }

    fn has_unknown(&self, mem: &Memtable, _: u64) -> bool {
        !mem.is_empty()
    }

    fn is_merged(&self, _: &TreeConfig, _: u64) -> bool {
        true
    }
}

impl Collected for CowTree {
    fn held(&self) -> &[SegmentId] {
        &self.pins.held
    }

    fn hold(&mut self, id: SegmentId) {
        self.pins.held.push(id);
    }

    fn kept_from_copies<M: SegmentStore>(store: &TreeStore, _: &M) -> u32 {
        FOR_COLLECTIONS.segments + store.manifest_left() + store.merge_segments()
    }

    fn moved(store: &mut TreeStore, old: &Entry, new: &Entry) {
        store.moved(old, new);
    }
}

impl Chores for CowTree {
    const PIECES: u32 = 8;

    fn begin<M: SegmentStore>(store: &mut TreeStore, m: &mut M) {
        if store.own.pins.is_swept && store.upkeep.error().is_none() {
            store.release_dead_nodes(m);
        }
    }

    fn piece<M: SegmentStore, W: Meter>(
        store: &mut TreeStore,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        store.piece(n, finished, m, w)
    }

    fn kind_of(_: &TreeStore, n: u32) -> JobKind {
        match n {
            1 | 2 | 5 | 6 | 7 => JobKind::Collection,
            3 => JobKind::Flush,
            _ => JobKind::Rest,
        }
    }

    fn has_work(&self) -> bool {
        self.job.is_some() || self.clean.is_running() || self.pins.is_swept
    }

    fn page_failed(&mut self, page: PageAddr) -> bool {
        self.job.iter_mut().for_each(|job| job.page_failed(page));
        false
    }
}

impl Manifests for CowTree {
    fn manifest_bytes(store: &TreeStore) -> u64 {
        store.manifest_bytes()
    }

    /// What snapshots hold is not freed.
    fn freed_by_manifest(store: &TreeStore) -> u64 {
        if store.own.has_snapshots() { 0 } else { store.own.pins.nodes() * store.page_bytes() }
    }

    fn freed_at_once(store: &TreeStore) -> u64 {
        if store.manifest_helps() { store.own.pins.nodes() * store.page_bytes() } else { 0 }
    }

    fn must_cut<M: SegmentStore>(store: &TreeStore, m: &M) -> bool {
        store.is_tight(m)
    }

    fn has_cut(&self) -> bool {
        self.imm.is_none()
    }

    fn describe(store: &mut TreeStore, most: u64) -> VecDeque<Vec<u8>> {
        store.describe(most)
    }

    fn manifest_complete<M: SegmentStore>(store: &mut TreeStore, m: &mut M) {
        store.own.roots.complete = store.own.roots.running.take();
        store.sweep();
        store.release_dead_nodes(m);
    }

    fn manifest_failed(store: &mut TreeStore) {
        store.own.roots.running = None;
        store.sweep();
    }
}

impl Rebuild for CowTree {
    type Named = Named;

    fn enter_chunk(store: &mut TreeStore, named: &mut Named, chunk: &[u8]) -> bool {
        store.enter_chunk(named, chunk)
    }

    fn adopt(store: &mut TreeStore, named: &mut Named) -> Result<(), &'static str> {
        store.adopt(named)
    }

    fn settle<M: SegmentStore>(store: &mut TreeStore, named: Named, m: &mut M) {
        store.settle(&named, m);
    }
}
