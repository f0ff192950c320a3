// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores that keep keys in order over a value log (WiscKey, FAST'16): what the LSM store and the tree store share.
//!
//! Values go into a log at addresses exact to the byte; a memtable and a [`Structure`] keep keys and addresses. Every write is in
//! the log before it is acknowledged, so a memtable is only a sorted view of the log's tail, and recovery is the last manifest
//! and a scan from its cut. Of two sources the younger one has the newer versions of a key; collections keep versions.

mod ample;
pub(crate) mod background;
pub(crate) mod block;
mod bring;
pub(crate) mod check;
mod engine;
pub(crate) mod filter;
mod gc;
mod group;
pub(crate) mod inside;
pub(crate) mod key;
mod landing;
mod leaves;
pub(crate) mod living;
mod longest;
pub(crate) mod manifest;
pub(crate) mod memtable;
mod ops;
pub(crate) mod parts;
pub(crate) mod placement;
mod recent;
pub mod recover;
pub(crate) mod refs;
pub(crate) mod reserve;
mod retrieve;
mod scan;
pub(crate) mod search;
mod settings;
pub(crate) mod space;
pub(crate) mod structure;
pub(crate) mod sum;
pub(crate) mod upkeep;

pub(crate) use engine::CAPABILITIES;
pub use key::Key;
pub use landing::PackingStats;
pub use recover::Recovery;
pub use settings::{AUTO, BY_TURNS, Settings};
pub use structure::Structure;

use crate::prefetch::Prefetch;
use memtable::Memtable;
use refs::Births;
use saker_engine_api::StoreStats;
use saker_log::Log;
use saker_segment_store::{PageAddr, SegmentId, SegmentStore, Stall, Step};
use saker_value_log::group::Plan;
use std::sync::Arc;
use structure::{Configured, Turn, Write};
use upkeep::Upkeep;

/// One shard of a store.
#[derive(Clone, Debug)]
pub struct Store<S: Configured> {
    pub(crate) config: S::Config,
    pub(crate) settings: Settings,
    pub(crate) log: Log,
    pub(crate) births: Births,
    /// The version the next write gets.
    pub(crate) version: u64,
    pub(crate) mem: Memtable,
    /// The last one that was taken in: its memory is for the next.
    pub(crate) used: Option<Arc<Memtable>>,
    pub(crate) manifest: manifest::State,
    pub(crate) gc: Option<gc::GcCursor>,
    pub(crate) reveal: space::Reveal,
    ample: ample::Ample,
    /// Bytes of the structure's pages that something needs.
    pub(crate) structure_live: u64,
    /// What background work has asked for pages.
    asked: background::Asked,
    /// How background work stands, as far as writes must know it.
    pub(crate) upkeep: Upkeep,
    pub(crate) longest: longest::Longest,
    pub(crate) kv: StoreStats,
    groups: group::GroupStats,
    landing: landing::Landing,
    /// Memory for planning groups.
    plan: Plan<Key>,
    /// Versions that transactions have asked for.
    recent: recent::Recent,
    /// Values of keys that are read together.
    prefetch: Prefetch<Key, u64>,
    /// Where values go, if the store decides that.
    pub(crate) placement: placement::Placement,
    /// What keeps the entries that memtables do not have.
    pub(crate) own: S,
}

impl<S: Structure> Store<S> {
    /// An empty store on an empty medium.
    ///
    /// # Panics
    /// When segments are so short that collections would gain nothing.
    pub fn new(config: S::Config, m: &dyn SegmentStore) -> Self {
        let geometry = m.geometry();
        let settings: Settings = config.into();
        let store = Self {
            config,
            settings,
            log: Log::new(settings.owner, geometry, settings.ring_lasts),
            births: Births::new(geometry.segments),
            version: 1,
            mem: S::memtable(&config, None),
            used: None,
            manifest: manifest::State::default(),
            gc: None,
            reveal: space::Reveal::default(),
            ample: ample::Ample::default(),
            structure_live: 0,
            asked: background::Asked::default(),
            upkeep: Upkeep::default(),
            longest: longest::Longest::default(),
            kv: StoreStats::default(),
            groups: group::GroupStats::default(),
            landing: landing::Landing::new(geometry.page_bytes, usize::from(m.page_buffer().slots())),
            plan: Plan::default(),
            recent: recent::Recent::default(),
            prefetch: Prefetch::default(),
            placement: placement::Placement::new(settings.full_memtable_bytes / memtable::ENTRY_BYTES),
            own: S::new(&config, m),
        };
        store.assert_gain();
        store
    }

    /// Settings.
    pub fn config(&self) -> &S::Config {
        &self.config
    }

    /// Entries of memtables.
    pub(crate) fn buffered(&self) -> u64 {
        (self.mem.len() + self.own.frozen().map(|table| table.len()).sum::<usize>()) as u64
    }

    /// Whether the memtable is full.
    pub(crate) fn is_full(&self) -> bool {
        self.mem.bytes() >= self.settings.full_memtable_bytes
    }

    /// Whether the memtable may be frozen.
    pub(crate) fn may_freeze(&self) -> bool {
        self.own.may_freeze(&self.config)
    }

    /// Freezes the memtable; an empty one takes its place.
    pub(crate) fn freeze(&mut self) {
        let full = (!self.mem.is_empty()).then(|| {
            assert!(self.may_freeze(), "a memtable is taken in before the next is frozen");
            // Nobody else has it, unless a view of the store was copied.
            let used = self.used.take().and_then(Arc::into_inner);
            Arc::new(std::mem::replace(&mut self.mem, S::memtable(&self.config, used)))
        });
        self.own.freeze(full, self.version);
        self.own.switched(false, &self.config);
    }

    /// Whether a write of so many bytes of keys and values may go on, as far as memtables and the structure are concerned. What never
    /// will is `refused`.
    pub(crate) fn may_write<E>(&mut self, write: Write, bytes: u64, refused: E) -> Step<Result<(), E>> {
        let is_full = self.is_full();
        match self.own.admit(write, is_full, &self.config) {
            Turn::Now => Step::Done(Ok(())),
            // Time passes, whatever background work can do.
            Turn::AtRate => Step::Blocked(Stall::Delayed { bytes }),
            Turn::Later => self.later(Stall::Debt, refused),
        }
    }

    /// Modelled bytes of all memtables.
    pub(crate) fn memtable_bytes(&self) -> u64 {
        self.mem.bytes() + self.own.frozen().map(|table| table.bytes()).sum::<u64>()
    }

    /// A page of the structure is needed.
    pub(crate) fn add_page(&mut self, page: PageAddr) {
        let (segment, bytes) = (self.page_segment(page), self.page_bytes());
        self.log.add_live(segment, bytes);
        self.structure_live += bytes;
    }

    /// A page of the structure is not needed any more.
    pub(crate) fn sub_page(&mut self, page: PageAddr) {
        let (segment, bytes) = (self.page_segment(page), self.page_bytes());
        self.log.sub_live(segment, bytes);
        self.structure_live -= bytes;
    }

    /// The segment of a page.
    pub(crate) fn page_segment(&self, page: PageAddr) -> SegmentId {
        self.log.geometry().segment_of(page)
    }

    pub(crate) fn page_bytes(&self) -> u64 {
        u64::from(self.log.geometry().page_bytes)
    }
}
