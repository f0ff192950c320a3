//! An LSM-tree store with its values apart (O'Neil et al. 1996; WiscKey, FAST'16): the firmware that BandSlim (ICPP'24,
//! sections 2.1 and 3.4) starts from.
//!
//! Values go into a log at addresses exact to the byte; sorted tables hold keys and addresses. Every write is in the log
//! before it is acknowledged, so a memtable is only a sorted view of the log's tail, and recovery is the last manifest
//! and a scan from its cut. Of two sources the younger one has the newer versions of a key; collections keep versions.

mod back;
mod background;
mod block_index;
mod compaction;
mod counters;
mod engine;
pub(crate) mod gc;
mod input;
mod job;
mod levels;
mod lookup;
mod manifest;
mod ops;
mod options;
mod policy;
pub mod recover;
mod scan;
mod space;
pub mod stall;
mod table;
mod tables;
mod tuning;

pub use crate::scan::Snapshot;
pub use crate::ordered::Key;
pub use options::LsmConfig;
pub use recover::Recovery;
pub use tuning::LsmTuning;

use crate::kv::{KvError, Memory, StoreStats};
use job::Job;
use levels::Levels;
use crate::ordered::memtable::{Memtable, Position};
use crate::ordered::refs::Births;
use saker_log::{Log, LogStats};
use saker_medium::Medium;
use std::collections::VecDeque;
use std::sync::Arc;

/// Counters of an LSM store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsmStats {
    /// What every engine counts. `pairs` and `pair_bytes` are upper bounds: what has been replaced counts until a
    /// compaction meets it.
    pub kv: StoreStats,
    /// Writes held up.
    pub stalls: stall::StallStats,
    /// Memtables written to level 0.
    pub flushes: u64,
    /// Compactions that merged tables.
    pub compactions: u64,
    /// Pages of tables written by flushes and compactions.
    pub table_pages_written: u64,
    /// Pages of tables that were moved.
    pub table_pages_moved: u64,
    /// Segments of tables given back.
    pub table_segments_released: u64,
}

/// One shard of an LSM store.
#[derive(Clone, Debug)]
pub struct LsmStore {
    pub(crate) config: LsmConfig,
    pub(crate) log: Log,
    pub(crate) births: Births,
    /// The version the next write gets.
    pub(crate) version: u64,
    mem: Memtable,
    /// Frozen memtables on their way to level 0, the oldest first.
    frozen: VecDeque<Arc<Memtable>>,
    levels: Levels,
    next_table: u64,
    /// Versions that snapshots see, rising.
    snapshots: Vec<u64>,
    flush: Option<Job>,
    /// Compactions on their way, at most one for each thread.
    compactions: Vec<Job>,
    cursors: policy::Cursors,
    manifest: manifest::State,
    gc: Option<gc::GcCursor>,
    reveal: space::Reveal,
    sizes: space::Sizes,
    /// Bytes of pages of tables that are needed, also those that only the last manifest names.
    table_live: u64,
    /// Whose turn it is: collections or compactions.
    turn: bool,
    brake: stall::Brake,
    /// What made background work give up: nothing is written any more.
    error: Option<KvError>,
    record_bytes_max: u32,
    stats: LsmStats,
}

impl LsmStore {
    /// An empty store on an empty medium.
    pub fn new<M: Medium>(config: LsmConfig, m: &M) -> Self {
        let geometry = m.geometry();
        Self {
            config,
            log: Log::new(config.owner, geometry, config.ring_lasts),
            births: Births::new(geometry.segments),
            version: 1,
            mem: Memtable::with_bytes(config.write_buffer_size),
            frozen: VecDeque::new(),
            levels: Levels::default(),
            next_table: 1,
            snapshots: Vec::new(),
            flush: None,
            compactions: Vec::new(),
            cursors: [None; levels::LEVELS],
            manifest: manifest::State::default(),
            gc: None,
            reveal: space::Reveal::default(),
            sizes: space::Sizes::default(),
            table_live: 0,
            turn: false,
            brake: stall::Brake::default(),
            error: None,
            record_bytes_max: crate::hash_store::record::record_bytes(16, 256),
            stats: LsmStats::default(),
        }
    }

    /// Settings.
    pub fn config(&self) -> &LsmConfig {
        &self.config
    }

    /// Counters.
    pub fn lsm_stats(&self) -> LsmStats {
        LsmStats { kv: self.stats(), stalls: self.brake.stats, ..self.stats }
    }

    /// What every engine counts.
    pub fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.entries_at_most(), pair_bytes: self.value_log_bytes(), ..self.stats.kv }
    }

    /// Counters of the log.
    pub fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    /// Tables of each level.
    pub fn tables_by_level(&self) -> Vec<usize> {
        (0..=self.levels.deepest()).map(|n| self.levels.level(n).len()).collect()
    }

    /// Compactions under way.
    pub fn running_compactions(&self) -> usize {
        self.compactions.len()
    }

    /// Bytes that compactions owe.
    pub fn pending_compaction_bytes(&self) -> u64 {
        self.sizes.pending_bytes
    }

    /// Modelled controller memory: memtables as the index, descriptions of tables (block indexes, filters) as its
    /// directory.
    pub fn memory(&self) -> Memory {
        let held = u64::from(self.log.segments_held()) * size_of::<saker_log::Segment>() as u64;
        let tables = self.levels.all().map(|(_, t)| t.memory_bytes()).sum();
        let frozen: u64 = self.frozen.iter().map(|table| table.bytes()).sum();
        Memory { index_bytes: self.mem.bytes() + frozen, directory_bytes: tables, segment_bytes: held }
    }

    /// A digest of everything that operations can observe, for tests of the contract.
    pub fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        for e in self.mem.range(Position::Start) {
            digest.bytes(&e.key.to_vec());
            digest.number(e.version);
            digest.number(e.loc.word());
        }
        for (level, table) in self.levels.all() {
            digest.number(level as u64);
            digest.number(table.id);
        }
        digest.number(self.version);
        digest.number(self.log.live_bytes());
        self.frozen.iter().for_each(|table| digest.number(table.len() as u64));
        digest.value()
    }

    /// A view of the store as it is now, until [`LsmStore::release`].
    pub fn snapshot(&mut self) -> Snapshot {
        let version = self.version - 1;
        self.snapshots.push(version);
        Snapshot(version)
    }

    /// One more holder of a snapshot.
    pub fn share(&mut self, snapshot: Snapshot) {
        let at = self.snapshots.partition_point(|s| *s <= snapshot.0);
        self.snapshots.insert(at, snapshot.0);
    }

    /// Ends a snapshot.
    pub fn release(&mut self, snapshot: Snapshot) {
        if let Some(at) = self.snapshots.iter().position(|s| *s == snapshot.0) {
            self.snapshots.remove(at);
        }
    }

    /// Entries, replaced ones that no compaction has met included.
    fn entries_at_most(&self) -> u64 {
        self.sizes.entries + self.memtable_entries() as u64
    }

    fn memtable_entries(&self) -> usize {
        self.mem.len() + self.frozen.iter().map(|table| table.len()).sum::<usize>()
    }

    /// Whether one more memtable may wait to be flushed.
    fn may_freeze(&self) -> bool {
        self.frozen.len() + 1 < (self.config.max_write_buffer_number as usize).max(2)
    }

    /// Replaces the memtable.
    fn freeze(&mut self) {
        if !self.mem.is_empty() {
            assert!(self.may_freeze(), "a memtable is flushed before the next is frozen");
            let empty = Memtable::with_bytes(self.config.write_buffer_size);
            self.frozen.push_back(Arc::new(std::mem::replace(&mut self.mem, empty)));
        }
    }
}
