// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A B+tree that is never written in place (Rodeh, "B-trees, Shadowing, and Clones", ACM TOS 2008), over a value log: the
//! Tree-store of SAKER (SYSTOR'25, section 4).
//!
//! The value log and the memtable, a sorted buffer of what the tree does not have yet, are [`crate::ordered`]'s. When the buffer is
//! full, it is merged: leaves that it changes are written anew elsewhere, then the nodes above them, then the
//! root, each level when the one below is on the medium. A root in memory is replaced at once, one on the medium by a
//! manifest. A snapshot keeps its root, and so the nodes that were replaced since: it costs what has changed.

mod background;
mod cache;
mod check;
mod clean;
mod config;
mod counters;
mod descend;
mod factory;
mod find_all;
mod manifest;
mod merge;
mod node;
mod pack;
mod parse;
mod pins;
mod recover;
pub mod reserve;
mod scan;
mod space;
mod structure;

pub use config::TreeConfig;
pub use factory::Factory;

use crate::ordered::memtable::Memtable;
use crate::ordered::refs::Refs;
use crate::ordered::{self, Settings};
use cache::Cache;
use node::Child;
use saker_engine_api::{Engine, StoreStats};
use std::sync::Arc;

/// A store over a tree that is never written in place.
pub type TreeStore = ordered::Store<CowTree>;
/// A tree store on its way back.
pub type Recovery = ordered::Recovery<CowTree>;

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

/// The tree, the buffer that is being merged into it, and what older roots need.
#[derive(Clone, Debug, Default)]
pub struct CowTree {
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
    roots: manifest::Roots,
    crowd: pack::Crowd,
    /// The write that waits was counted.
    is_stall_counted: bool,
    stats: TreeStats,
}

impl From<TreeConfig> for Settings {
    fn from(config: TreeConfig) -> Self {
        let TreeConfig {
            owner, ring_lasts, value_bytes_max, checkpoint_bytes_min, write_buffer_size, ..
        } = config;
        Self {
            owner,
            ring_lasts,
            value_bytes_max,
            checkpoint_bytes_min,
            write_buffer_size,
            full_memtable_bytes: write_buffer_size,
            packing: None,
            program_price: 0,
            min_blob_size: 0,
        }
    }
}

impl CowTree {
    /// Whether snapshots hold roots.
    fn has_held(&self) -> bool {
        !self.pins.snapshots.is_empty()
    }
}

impl TreeStore {
    /// Counters.
    pub fn tree_stats(&self) -> TreeStats {
        TreeStats { kv: Engine::stats(self), ..self.own.stats }
    }

    /// Pages of nodes of the newest root.
    pub fn pages(&self) -> u64 {
        self.own.tree.pages
    }

    /// Levels of the newest root.
    pub fn height(&self) -> u32 {
        self.own.tree.height
    }
}
