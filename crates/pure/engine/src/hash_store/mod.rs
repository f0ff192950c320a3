// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The hash store: pairs in a log on flash, an in-memory index of where each one is.
//!
//! SAKER's Hash-store (SYSTOR'25 sections 1 and 3.2: an on-flash log flushed when an in-memory block fills,
//! an in-memory hash index), with what a device needs besides: deletes, garbage collection, checkpoints,
//! recovery, and an order for List.

mod bring;
mod check;
pub mod checkpoint;
mod chunk;
mod credit;
mod engine;
mod factory;
pub mod gc;
pub mod group;
pub mod index;
pub mod list;
pub mod ops;
pub mod pending;
pub mod recover;
pub mod reserve;
mod retrieve;

use crate::mix::IndexKey;
use crate::prefetch::{BYTES_MAX, Prefetch};
pub use factory::Factory;

use gc::GcCursor;
use index::Index;
use reserve::{CHECKPOINTS, FILL_PERCENT_MAX, SPARE_SEGMENTS};
use saker_engine_api::StoreStats;
use saker_log::reserve::assert_collections_gain;
use saker_log::{CheckpointWriter, Log, Segment};
use saker_segment_store::{Geometry, SegmentId, SegmentStore};
use saker_value_log::group::{KeyCost, Plan};
use saker_value_log::lengths::Lengths;
use saker_value_log::record::{HEADER_BYTES, record_bytes};
use saker_value_log::{RecordAddr, Records};

/// Settings of a hash store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashStoreConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Seed of the key bijection; belongs to the image.
    pub seed: u64,
    /// Whether the power-safe page buffer survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes.
    pub value_bytes_max: u32,
    /// A checkpoint is due when the log has grown by this many times the index's size ...
    pub checkpoint_index_ratio: u64,
    /// ... but not before it has grown by this many bytes.
    pub checkpoint_bytes_min: u64,
    /// What the keys of a group cost.
    pub group_keys: KeyCost,
    /// Most bytes of values that prefetch groups hold in memory.
    pub prefetch_bytes_max: usize,
}

impl HashStoreConfig {
    /// Settings for a namespace on a medium of that shape: the largest value that fits, checkpoints when the
    /// log has grown by eight index sizes and an eighth of the medium or 64 MiB.
    pub fn new(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> Self {
        let fits = geometry.segment_bytes() as u32 - HEADER_BYTES - 16;
        let bytes = geometry.segment_bytes() * u64::from(quota_segments);
        Self {
            owner,
            seed: 0x5a4b_4552 ^ u64::from(owner),
            ring_lasts,
            value_bytes_max: (2 << 20).min(fits / 2),
            checkpoint_index_ratio: 8,
            checkpoint_bytes_min: (bytes / 8).min(64 << 20),
            group_keys: KeyCost::default(),
            prefetch_bytes_max: BYTES_MAX,
        }
    }
}

/// One shard of a hash store.
#[derive(Clone, Debug)]
pub struct HashStore {
    config: HashStoreConfig,
    log: Log,
    index: Index,
    /// The version the next write gets.
    version: u64,
    lengths: Lengths,
    stats: StoreStats,
    gc: Option<GcCursor>,
    checkpoint: checkpoint::State,
    pending: pending::Pending,
    credit: credit::Credit,
    plan: Plan<IndexKey>,
    pairs: group::Pairs,
    found: group::Found,
    prefetch: Prefetch<IndexKey, RecordAddr>,
}

impl HashStore {
    /// An empty store on an empty medium.
    ///
    /// # Panics
    /// When segments are so short that collections would gain nothing.
    pub fn new(config: HashStoreConfig, m: &dyn SegmentStore) -> Self {
        let store = Self {
            config,
            log: Log::new(config.owner, m.geometry(), config.ring_lasts),
            index: Index::new(config.seed),
            version: 1,
            lengths: Lengths::new(record_bytes(16, 256)),
            stats: StoreStats::default(),
            gc: None,
            checkpoint: checkpoint::State::default(),
            pending: pending::Pending::default(),
            credit: credit::Credit::default(),
            plan: Plan::default(),
            pairs: group::Pairs::default(),
            found: group::Found::new(),
            prefetch: Prefetch::default(),
        };
        let lost = store.lost_in_segment(record_bytes(16, config.value_bytes_max));
        assert_collections_gain(store.log.geometry().segment_bytes(), lost, FILL_PERCENT_MAX, 0);
        store
    }

    /// The records of this store.
    #[inline]
    fn records(&self) -> Records<'_> {
        Records { log: &self.log }
    }

    /// Settings.
    pub fn config(&self) -> &HashStoreConfig {
        &self.config
    }

    #[inline]
    fn capacity_for<M: SegmentStore>(&self, pairs: u64, longest: u32, m: &M) -> u64 {
        let usable = u64::from(m.quota_segments().saturating_sub(SPARE_SEGMENTS));
        let payload = pairs * checkpoint::ENTRY_BYTES_MAX;
        let checkpoints =
            u64::from(CHECKPOINTS) * u64::from(saker_log::checkpoint::segments_for(&self.log, payload));
        let segment = self.log.geometry().segment_bytes() - self.lost_in_segment(longest);
        usable.saturating_sub(checkpoints) * segment * FILL_PERCENT_MAX / 100
    }

    /// Bytes of a segment that a collection can leave unused: the end, where the next record did not fit, and,
    /// where the page buffer can be lost, the rest of the pages that are sealed before a segment is released.
    #[inline]
    fn lost_in_segment(&self, longest: u32) -> u64 {
        let geometry = self.log.geometry();
        let sealed = if self.config.ring_lasts { 0 } else { 2 * u64::from(geometry.page_bytes) };
        (u64::from(longest) + sealed).min(geometry.segment_bytes() / 2)
    }

    /// The same of a certain one: no record in it is longer than the longest that was written there.
    fn lost_by(&self, segment: &Segment) -> u64 {
        let longest = segment.longest.max(self.lengths.floor());
        self.lost_in_segment(longest.min(self.lengths.longest()))
    }

    /// Pairs, those on their way counted as new ones.
    #[inline]
    fn pairs_at_most(&self) -> u64 {
        self.index.len() + self.pending.len() as u64
    }

    fn checkpoint_payload(&self) -> u64 {
        self.index.len() * checkpoint::ENTRY_BYTES_MAX
    }

    fn segment_of(&self, position: u64) -> SegmentId {
        let geometry = self.log.geometry();
        SegmentId((position / geometry.segment_bytes()) as u32)
    }
}

/// The running checkpoint, if any.
pub(crate) type RunningCheckpoint = Option<CheckpointWriter>;
