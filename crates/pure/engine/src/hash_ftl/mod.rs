// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hash-based KV FTLs: pairs in grains on flash, found by a hash table that is on flash too and cached on demand.
//!
//! *Original* and *Plus* of "A Hash-Based Key-Value SSD FTL With Efficient Small-Value Support" (Duffy, Kim, Kim), sections
//! III and IV, as settings of one store: what differs is how validity is known, how sections are laid out, and the grain. What
//! the paper leaves out is decided here: deletes, an order for List, recovery, failed programs.
//!
//! **Recovery** needs no log of the table. A record says its hash index (out of band) and its version, and copies keep both,
//! so of the records of a hash index the newest counts. A page of sections says the version of the next write when it was
//! written: what is older and not on it was deleted. So a tombstone is needed until its section has been written.

pub mod admit;
#[cfg(test)]
mod bench;
mod bring;
mod check;
pub mod config;
mod doubling;
mod engine;
mod evict;
mod explain;
mod factory;
pub mod gc;
mod group;
mod jobs;
mod land;
pub mod list;
mod lookup;
pub mod memory;
pub mod ops;
pub mod probe;
pub mod record;
pub mod recover;
pub mod reserve;
mod sections;
pub mod settings;
pub mod stats;
pub mod table;
mod twice;
pub mod validity;
pub mod walk;

pub use config::{FirstLevel, HashFtlConfig, Layout, Validity};
pub use factory::{Doubling, Original, Plus};
pub use stats::FtlStats;

use crate::prefetch::Prefetch;
use gc::Collection;
use probe::Probe;
use saker_engine_api::StoreStats;
use saker_log::Log;
use saker_log::reserve::assert_collections_gain;
use saker_segment_store::{Looked, PageAddr, SegmentId, SegmentStore, Stream, Tag};
use saker_value_log::lengths::Lengths;
use std::collections::BTreeSet;
use table::Table;
use table::cache::Cache;

/// One shard of a hash FTL.
#[derive(Clone, Debug)]
pub struct HashFtl {
    config: HashFtlConfig,
    log: Log,
    probe: Probe,
    table: Table,
    doubling: doubling::Doubling,
    validity: validity::Validity,
    /// The version the next write gets.
    version: u64,
    /// Counts operations, so that none drives out the sections it uses.
    operation: u64,
    /// Sections that were read for the attempt that is being made, or for one before it.
    awaited: Vec<u32>,
    lengths: Lengths,
    /// Bytes of grains that pairs and tombstones take.
    data_bytes: u64,
    /// Those of tombstones.
    tombstone_bytes: u64,
    /// Cached sections with tombstones.
    with_tombstones: BTreeSet<u32>,
    /// A transaction has deleted pairs, and its page may be lost: sections without them are written behind it.
    owes_order: bool,
    /// The last such section, if it may be on its way.
    ordered: Option<Tag>,
    /// Sections that must be written before a pair is deleted.
    twice: twice::Twice,
    /// A store waits for the room of tombstones.
    wants_room: bool,
    /// The cache was made smaller, and is still larger.
    gives_back: bool,
    collection: Option<Collection>,
    victims: gc::victim::Victims,
    rest: gc::rest::Rest,
    /// Values of keys that are read together.
    prefetch: Prefetch<Vec<u8>, ()>,
    stats: StoreStats,
    ftl_stats: FtlStats,
    scratch: Vec<u8>,
    /// The memory of what a read has looked at, for the next search.
    spare: Looked,
}

impl HashFtl {
    /// An empty store on an empty medium.
    ///
    /// # Panics
    /// When the out-of-band area cannot hold a word for each grain ([`HashFtlConfig::oob_bytes`]), or segments are so short that
    /// collections would gain nothing.
    pub fn new(config: HashFtlConfig, m: &dyn SegmentStore) -> Self {
        let geometry = m.geometry();
        let needed = HashFtlConfig::oob_bytes(geometry.page_bytes, config.grain_bytes);
        assert!(geometry.oob_bytes >= needed, "the out-of-band area holds a word for each grain");
        assert!(geometry.page_bytes.is_multiple_of(config.grain_bytes), "a page is whole grains");
        let cache = Cache::new(config.cache_bytes);
        let section_slots = config.section_slots(geometry.page_bytes);
        let probe = match config.levels(geometry.page_bytes) {
            Some(levels) => Probe::doubling(config.seed, levels, section_slots),
            None => Probe::new(config.seed, config.slots),
        };
        let sections =
            probe.levels().map_or(config.slots.div_ceil(u64::from(section_slots)), |l| l.ids().into());
        let store = Self {
            config,
            log: Log::new(config.owner, geometry, config.ring_lasts),
            probe,
            table: Table::new(sections, section_slots, cache),
            doubling: doubling::Doubling::default(),
            validity: validity::Validity::new(&config, &geometry),
            version: 1,
            operation: 0,
            spare: Looked::new(),
            awaited: Vec::new(),
            lengths: Lengths::new(1024.min(geometry.page_bytes)),
            data_bytes: 0,
            tombstone_bytes: 0,
            with_tombstones: BTreeSet::new(),
            owes_order: false,
            ordered: None,
            twice: twice::Twice::default(),
            wants_room: false,
            gives_back: false,
            collection: None,
            victims: gc::victim::Victims::new(geometry.segments),
            rest: gc::rest::Rest::default(),
            prefetch: Prefetch::default(),
            stats: StoreStats::default(),
            ftl_stats: FtlStats::default(),
            scratch: Vec::new(),
        };
        let longest = config.grains(record::HEAD_BYTES + 16 + config.value_bytes_max) * config.grain_bytes;
        let fill = reserve::fill_percent_max(config.over_provisioning_percent);
        assert_collections_gain(geometry.segment_bytes(), store.lost_in_segment(longest), fill, 0);
        store
    }

    /// Settings.
    pub fn config(&self) -> &HashFtlConfig {
        &self.config
    }

    /// Counters of the mechanisms.
    pub fn ftl_stats(&self) -> FtlStats {
        self.ftl_stats
    }

    /// Sections are about to be written: whether they must not be found without what is in the log. A section says by what is not in it that
    /// pairs were deleted; if the transaction that did so is lost, it must not be there.
    fn orders_sections<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        if std::mem::take(&mut self.owes_order) {
            self.log.seal_stream(Stream::User, m);
            self.ordered = Some(m.last_tag());
        }
        self.ordered.is_some()
    }

    /// I/O up to this tag has completed.
    fn note_finished(&mut self, finished: Tag) {
        self.ordered = self.ordered.filter(|tag| !self.log.is_safe(*tag, finished));
        self.twice.finished(|tag| self.log.is_safe(tag, finished));
    }

    fn page_grains(&self) -> u64 {
        u64::from(self.log.geometry().page_bytes / self.config.grain_bytes)
    }

    /// The page a grain is in, and the byte there.
    fn page_of_grain(&self, grain: u64) -> (PageAddr, u32) {
        let n = self.page_grains();
        (PageAddr(grain / n), (grain % n) as u32 * self.config.grain_bytes)
    }

    fn segment_of_grain(&self, grain: u64) -> SegmentId {
        self.log.geometry().segment_of(self.page_of_grain(grain).0)
    }

    fn grain_bytes_of(&self, grains: u32) -> u64 {
        u64::from(grains) * u64::from(self.config.grain_bytes)
    }

    /// A record is needed from now on.
    fn count_live(&mut self, grain: u64, grains: u32) {
        self.validity.validate(grain, grains);
        let bytes = self.grain_bytes_of(grains);
        self.data_bytes += bytes;
        let segment = self.segment_of_grain(grain);
        self.log.add_live(segment, bytes);
        self.lengths.add(bytes as u32);
        self.log.note_length(segment, bytes as u32);
    }

    /// A record is not needed any more.
    fn count_dead(&mut self, slot: u64, grain: u64, grains: u32) {
        self.validity.invalidate(slot, grain, grains);
        let bytes = self.grain_bytes_of(grains);
        self.data_bytes -= bytes;
        let segment = self.segment_of_grain(grain);
        self.log.sub_live(segment, bytes);
        self.lengths.sub(bytes as u32);
        self.victims.touched(segment, self.version);
    }
}
