// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An LSM-tree store with its values apart (O'Neil et al. 1996; WiscKey, FAST'16): the firmware that BandSlim (ICPP'24,
//! sections 2.1 and 3.4) starts from. The value log and the memtable are [`crate::ordered`]'s; sorted tables in levels are here. Values
//! shorter than `min_blob_size` are in memtables and tables, as RocksDB has them.

mod ahead;
mod around;
mod back;
mod background;
mod block_index;
mod builder;
mod check;
mod compaction;
mod counters;
mod data_block;
mod factory;
mod find_all;
mod grandparents;
mod input;
mod inside;
mod job;
mod jobs;
mod levels;
mod load;
mod lookup;
mod loose;
mod manifest;
mod marked;
mod merger;
mod near;
mod options;
mod packed;
mod pairs;
mod parse;
mod placement;
mod policy;
mod put_off;
mod recover;
pub mod reserve;
mod scan;
pub mod settings;
mod sources;
mod space;
mod stretch;
mod structure;
mod table;
mod tables;
mod task;
mod traffic;
pub mod write_controller;

pub use crate::ordered::{AUTO, BY_TURNS};
pub use factory::Factory;
pub use options::LsmConfig;
pub use traffic::{LevelBytes, Traffic};

use crate::ordered::memtable::Memtable;
use crate::ordered::{self, Settings};
use job::Job;
use levels::Levels;
use saker_engine_api::{Engine, StoreStats};
use std::collections::VecDeque;
use std::sync::Arc;

/// A store over levels of sorted tables.
pub type LsmStore = ordered::Store<Lsm>;
/// An LSM store on its way back.
pub type Recovery = ordered::Recovery<Lsm>;

/// Counters of an LSM store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsmStats {
    /// What every engine counts. `pairs` and `pair_bytes` are upper bounds: what has been replaced counts until a
    /// compaction meets it.
    pub kv: StoreStats,
    /// How often writes were to be delayed or stopped.
    pub stalls: write_controller::StallStats,
    /// Memtables written to level 0.
    pub flushes: u64,
    /// Compactions that merged tables.
    pub compactions: u64,
    /// Pages of tables written by flushes and compactions.
    pub table_pages_written: u64,
    /// What limits of compactions did.
    pub picks: Picks,
    /// Bytes of tables by level.
    pub traffic: Traffic,
    /// Pages of tables that were moved.
    pub table_pages_moved: u64,
    /// Segments of tables given back.
    pub table_segments_released: u64,
}

/// What `max_compaction_bytes` allowed and did not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Picks {
    /// Compactions that took more tables of a level behind level 0 along than the one that was picked.
    pub expanded: u64,
    /// Tables that were moved along with another one.
    pub moved_along: u64,
    /// Moves that were merges instead, since the table would have met too much.
    pub not_moved: u64,
    /// Tables that ended before they were full, since they would have met too much.
    pub ended_early: u64,
    /// Compactions within level 0.
    pub within_level0: u64,
}

/// Sorted tables in levels, memtables on their way there, and merges.
#[derive(Clone, Debug, Default)]
pub struct Lsm {
    /// Frozen memtables on their way to level 0, the oldest first.
    frozen: VecDeque<Arc<Memtable>>,
    /// Merges are put off while writes come: those of level 0 take as much as has room.
    puts_off: bool,
    /// Memory for the next table that is written.
    memory: builder::Memory,
    /// The driver takes work that needs nothing of the medium elsewhere.
    hands_out: bool,
    levels: Levels,
    next_table: u64,
    /// The manifest said that no table of the deepest level kept anything for snapshots.
    was_clean: bool,
    /// Versions that snapshots see, rising.
    snapshots: Vec<u64>,
    /// Segments of records in which something is only held by snapshots.
    held: Vec<saker_segment_store::SegmentId>,
    flush: Option<Job>,
    /// Numbers that are left between those of level 0 and those of the flush on its way.
    numbers: std::ops::Range<u64>,
    /// Compactions on their way, at most one for each thread.
    compactions: Vec<Job>,
    /// Since the tables changed last, no compaction was found that can begin beside those.
    none_to_begin: bool,
    cursors: policy::Cursors,
    leaving: manifest::Leaving,
    sizes: space::Sizes,
    controller: write_controller::Controller,
    work: placement::Work,
    stats: LsmStats,
}

impl From<LsmConfig> for Settings {
    fn from(config: LsmConfig) -> Self {
        let LsmConfig { owner, ring_lasts, value_bytes_max, checkpoint_bytes_min, write_buffer_size, .. } =
            config;
        let LsmConfig { packing, program_price, min_blob_size, .. } = config;
        let full_memtable_bytes = config.full_memtable_bytes();
        Self {
            owner,
            ring_lasts,
            value_bytes_max,
            checkpoint_bytes_min,
            write_buffer_size,
            full_memtable_bytes,
            packing,
            program_price,
            min_blob_size,
        }
    }
}

impl LsmStore {
    /// Counters.
    pub fn lsm_stats(&self) -> LsmStats {
        LsmStats { kv: Engine::stats(self), stalls: self.own.controller.stats, ..self.own.stats }
    }

    /// Tables of each level.
    pub fn tables_by_level(&self) -> Vec<usize> {
        let levels = &self.own.levels;
        (0..=levels.deepest()).map(|n| levels.level(n).len()).collect()
    }

    /// Tables of level 0 as triggers count them: those that a memtable with values made are one.
    pub fn level0_files(&self) -> u64 {
        self.own.sizes.level0
    }

    /// Compactions under way.
    pub fn running_compactions(&self) -> usize {
        self.own.compactions.len()
    }

    /// Whether files of level 0 are being merged within the level.
    pub fn merges_within_level0(&self) -> bool {
        self.own.compactions.iter().any(Job::is_within_level0)
    }

    /// Bytes that compactions owe.
    pub fn pending_compaction_bytes(&self) -> u64 {
        self.own.sizes.pending_bytes
    }
}
