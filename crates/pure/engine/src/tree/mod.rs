//! A B+tree that is never written in place (Rodeh, "B-trees, Shadowing, and Clones", ACM TOS 2008), over a value log: the
//! Tree-store of SAKER (SYSTOR'25, section 4).
//!
//! Every write is a record in the log before it is acknowledged. A buffer of updates, sorted, is what the tree does not have
//! yet; when it is full, it is merged: leaves that it changes are written anew elsewhere, then the nodes above them, then the
//! root, each level when the one below is on the medium. A root in memory is replaced at once, one on the medium by a
//! manifest. A snapshot keeps its root, and so the nodes that were replaced since: it costs what has changed.

mod background;
mod cache;
mod clean;
mod config;
mod counters;
mod descend;
mod engine;
mod gc;
mod manifest;
mod merge;
mod node;
mod ops;
mod pins;
pub mod recover;
mod scan;
mod space;

pub use config::{TreeConfig, TreeTuning};
pub use recover::Recovery;

use crate::kv::{KvError, Memory, StoreStats};
use crate::ordered::memtable::{Memtable, Position};
use crate::ordered::refs::{Births, Refs};
use cache::Cache;
use node::Child;
use saker_log::{Log, LogStats};
use saker_medium::{Medium, PageAddr, SegmentId};
use std::sync::Arc;

/// Counters of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreeStats {
    /// What every engine counts. `pairs` and `pair_bytes` are upper bounds: what has been replaced counts until a merge
    /// meets it.
    pub kv: StoreStats,
    /// Buffers merged.
    pub merges: u64,
    /// Roots that merges made: one for each snapshot that saw a part of a buffer, and one for the whole.
    pub roots: u64,
    /// Nodes written, those that were only moved included.
    pub nodes_written: u64,
    /// Nodes written because their segment was collected.
    pub nodes_moved: u64,
    /// Segments of nodes given back.
    pub node_segments_released: u64,
    /// Writes that waited for a merge.
    pub stalls: u64,
}

/// A tree as it was at some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tree {
    root: Option<Child>,
    /// Levels; leaves are level 0.
    height: u32,
    /// The moment: nodes written for this root have it as their birth.
    seq: u64,
    entries: u64,
    pages: u64,
}

/// A buffer that is being merged.
#[derive(Clone, Debug)]
struct Frozen {
    updates: Arc<Memtable>,
    /// Versions given to writes while it was filled.
    first: u64,
    last: u64,
}

/// One shard of a tree store.
#[derive(Clone, Debug)]
pub struct TreeStore {
    config: TreeConfig,
    log: Log,
    births: Births,
    /// The version the next write gets.
    version: u64,
    mem: Memtable,
    /// The version that the next write had when the buffer was begun.
    mem_first: u64,
    imm: Option<Frozen>,
    tree: Tree,
    /// What the tree refers to in the value log.
    refs: Refs,
    /// Nodes of the tree in each segment.
    nodes: Vec<u32>,
    pins: pins::Pins,
    job: Option<Box<merge::Job>>,
    clean: clean::State,
    cache: Cache,
    manifest: manifest::State,
    gc: Option<gc::GcCursor>,
    reveal: space::Reveal,
    /// Bytes of pages of nodes that something needs.
    node_live: u64,
    /// Whose turn it is: collections or merges.
    turn: bool,
    /// The write that waits was counted.
    is_stall_counted: bool,
    /// What made background work give up: nothing is written any more.
    error: Option<KvError>,
    record_bytes_max: u32,
    stats: TreeStats,
}

impl TreeStore {
    /// An empty store on an empty medium.
    pub fn new<M: Medium>(config: TreeConfig, m: &M) -> Self {
        let geometry = m.geometry();
        Self {
            config,
            log: Log::new(config.owner, geometry, config.ring_lasts),
            births: Births::new(geometry.segments),
            version: 1,
            mem: Memtable::default(),
            mem_first: 1,
            imm: None,
            tree: Tree::default(),
            refs: Refs::default(),
            nodes: vec![0; geometry.segments as usize],
            pins: pins::Pins::default(),
            job: None,
            clean: clean::State::default(),
            cache: Cache::new((config.node_cache_bytes / u64::from(geometry.page_bytes)) as usize),
            manifest: manifest::State::default(),
            gc: None,
            reveal: space::Reveal::default(),
            node_live: 0,
            turn: false,
            is_stall_counted: false,
            error: None,
            record_bytes_max: crate::hash_store::record::record_bytes(16, 256),
            stats: TreeStats::default(),
        }
    }

    /// Settings.
    pub fn config(&self) -> &TreeConfig {
        &self.config
    }

    /// Counters.
    pub fn tree_stats(&self) -> TreeStats {
        TreeStats { kv: self.stats(), ..self.stats }
    }

    /// What every engine counts.
    pub fn stats(&self) -> StoreStats {
        StoreStats { pairs: self.entries_at_most(), pair_bytes: self.value_log_bytes(), ..self.stats.kv }
    }

    /// Counters of the log.
    pub fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    /// Pages of nodes of the newest root.
    pub fn pages(&self) -> u64 {
        self.tree.pages
    }

    /// Levels of the newest root.
    pub fn height(&self) -> u32 {
        self.tree.height
    }

    /// Modelled controller memory: buffers as the index, the node cache as its directory.
    pub fn memory(&self) -> Memory {
        let held = u64::from(self.log.segments_held()) * size_of::<saker_log::Segment>() as u64;
        let imm = self.imm.as_ref().map_or(0, |imm| imm.updates.bytes());
        let directory_bytes = self.cache.len() as u64 * u64::from(self.log.geometry().page_bytes);
        Memory { index_bytes: self.mem.bytes() + imm, directory_bytes, segment_bytes: held }
    }

    /// A digest of everything that operations can observe, for tests of the contract.
    pub fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        for e in self.mem.range(Position::Start) {
            digest.bytes(&e.key.to_vec());
            digest.number(e.version);
            digest.number(e.loc.word());
        }
        digest.number(self.tree.root.map_or(0, |root| root.page.0));
        digest.number(self.tree.seq);
        digest.number(self.version);
        digest.number(self.log.live_bytes());
        digest.number(self.imm.as_ref().map_or(0, |imm| imm.updates.len() as u64));
        digest.value()
    }

    /// Entries, replaced ones that no merge has met included.
    fn entries_at_most(&self) -> u64 {
        self.tree.entries + self.buffered()
    }

    /// Updates that the tree does not have.
    fn buffered(&self) -> u64 {
        (self.mem.len() + self.imm.as_ref().map_or(0, |imm| imm.updates.len())) as u64
    }

    /// Replaces the buffer; there must be no frozen one.
    fn freeze(&mut self) {
        if !self.mem.is_empty() {
            assert!(self.imm.is_none(), "a buffer is merged before the next is frozen");
            let updates = Arc::new(std::mem::take(&mut self.mem));
            self.imm = Some(Frozen { updates, first: self.mem_first, last: self.version - 1 });
        }
        self.mem_first = self.version;
    }

    fn is_full(&self) -> bool {
        self.mem.bytes() >= self.config.write_buffer_size
    }

    fn page_segment(&self, page: PageAddr) -> SegmentId {
        self.log.geometry().segment_of(page)
    }

    fn page_bytes(&self) -> u64 {
        u64::from(self.log.geometry().page_bytes)
    }
}
