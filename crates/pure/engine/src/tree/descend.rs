// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a root to a node, and to the entry of a key.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::node::Child;
use super::{Tree, TreeStore};
use crate::ordered::block::Block;
use crate::ordered::key::{Entry, Key};
use crate::ordered::parts::CheckedPart;
use saker_engine_api::{KvError, Snapshot};
use saker_log::page_of;
use saker_segment_store::{CellError, Looked, Page, Reads, SegmentStore, Step};
use saker_sim::{Meter, Unit};

/// Why a search went no further.
#[derive(Debug)]
pub(super) enum Stop {
    /// A page must be brought; the trail has it.
    Absent,
    /// A node cannot be read.
    Failed(KvError),
}

impl From<KvError> for Stop {
    fn from(e: KvError) -> Self {
        Self::Failed(e)
    }
}

/// The nodes that a search looked at.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// Pages of the medium: the next call looks at them again.
    pub read: Looked,
    /// Pages of the cache.
    cached: Looked,
}

impl Trail {
    /// The answer of a search, with what it looked at.
    pub(super) fn told<T>(mut self, found: Result<T, Stop>) -> Step<(Result<T, KvError>, Self)> {
        self.step(found).map(|found| (found, self))
    }

    /// The answer of a search.
    pub(super) fn step<T>(&mut self, found: Result<T, Stop>) -> Step<Result<T, KvError>> {
        match found {
            Ok(found) => Step::Done(Ok(found)),
            Err(Stop::Failed(e)) => Step::Done(Err(e)),
            Err(Stop::Absent) => Step::Need(self.read.take()),
        }
    }
}

/// What a reader sees: entries up to a version, over a root.
#[derive(Clone, Copy, Debug)]
pub(super) struct View {
    pub version: u64,
    pub tree: Tree,
}

/// A node as a search found it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Located {
    pub child: Child,
    /// Its key in its parent.
    pub lo: Option<Key>,
    /// The first key that is not below it.
    pub hi: Option<Key>,
    /// The key of the node behind it, if that has the same parent.
    pub next: Option<Key>,
}

impl From<Trail> for Reads {
    fn from(trail: Trail) -> Self {
        trail.read.into()
    }
}

impl TreeStore {
    /// What a snapshot sees, or everything as it is now.
    pub(super) fn view(&self, at: Option<Snapshot>) -> View {
        at.map_or(View { version: u64::MAX, tree: self.own.tree }, |snapshot| self.seen_by(snapshot))
    }

    /// A node.
    pub(super) fn node<'a, M: SegmentStore, W: Meter>(
        &'a self,
        child: Child,
        level: u32,
        trail: &mut Trail,
        m: &'a M,
        w: &mut W,
    ) -> Result<Block<'a>, Stop> {
        let cached = self.own.cache.get(child.page);
        if let Some(block) = cached.and_then(|bytes| Block::trusted(bytes, child.birth, level)) {
            w.work(Unit::Probe, 1);
            trail.cached.note(child.page);
            if self.asks_in_vain(self.own.tree.height) {
                trail.read.note(child.page);
            }
            return Ok(block);
        }
        match page_of(&self.log, m, child.page) {
            Page::Resident { data, .. } => {
                w.work(Unit::ChecksumByte, data.len() as u64);
                let of = CheckedPart::numbered(&self.log, m, child.page, 0);
                let block = Block::open_once(data, child.birth, level, of).ok_or(KvError::Corrupt)?;
                // One that does not match its checksum is not to be remembered.
                trail.read.note(child.page);
                Ok(block)
            }
            Page::Absent => {
                trail.read.note(child.page);
                Err(Stop::Absent)
            }
            Page::Erased | Page::Torn | Page::Failed => Err(Stop::Failed(CellError::Read.into())),
        }
    }

    /// The node of a level under which a key belongs. It is not looked at itself. `None`: the tree is empty.
    pub(super) fn locate<M: SegmentStore, W: Meter>(
        &self,
        tree: &Tree,
        key: &Key,
        level: u32,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<Option<Located>, Stop> {
        let Some(child) = tree.root else { return Ok(None) };
        let mut at = Located { child, lo: None, hi: None, next: None };
        for above in (level + 1..tree.height).rev() {
            let block = self.node(at.child, above, trail, m, w)?;
            w.work(Unit::Compare, u64::from(block.count().max(1).ilog2() + 1));
            // Births are not 0: behind all links that are not behind the key.
            let n = block.lower_bound(key, 0).saturating_sub(1);
            let link = block.get(n).ok_or(KvError::Corrupt)?;
            let next = block.get(n + 1).map(|e| e.key);
            at = Located { child: Child::of(&link), lo: Some(link.key), hi: next.or(at.hi), next };
        }
        Ok(Some(at))
    }

    /// The newest entry of a key that a view has, tombstones included.
    pub(super) fn find<M: SegmentStore, W: Meter>(
        &self,
        key: &Key,
        view: &View,
        trail: &mut Trail,
        m: &M,
        w: &mut W,
    ) -> Result<Option<Entry>, Stop> {
        w.work(Unit::Probe, 2);
        if let Some(e) = self.find_buffered(key, key.hash(), view.version) {
            return Ok(Some(self.as_now(e, view)));
        }
        let Some(at) = self.locate(&view.tree, key, 0, trail, m, w)? else { return Ok(None) };
        let leaf = self.node(at.child, 0, trail, m, w)?;
        w.work(Unit::Compare, u64::from(leaf.count().max(1).ilog2() + 1));
        let found = leaf.get(leaf.lower_bound(key, u64::MAX)).filter(|e| e.key == *key);
        Ok(found.map(|e| self.as_now(e, view)))
    }

    /// The same in the buffers.
    #[inline]
    pub(super) fn find_buffered(&self, key: &Key, hash: u64, version: u64) -> Option<Entry> {
        let frozen = || self.own.imm.as_ref().and_then(|imm| imm.updates.get_hashed(key, hash, version));
        self.mem.get_hashed(key, hash, version).or_else(frozen)
    }

    /// An entry that a view has, with the place where its record is now.
    pub(super) fn as_now(&self, e: Entry, view: &View) -> Entry {
        if view.version == u64::MAX { e } else { self.own.pins.follow(e) }
    }

    /// An operation has ended: what it looked at stays in memory, as far as there is room.
    pub(super) fn remember<M: SegmentStore, W: Meter>(&mut self, trail: &Trail, m: &M, w: &mut W) {
        let cached = trail.cached.as_slice();
        let missed = || trail.read.as_slice().iter().filter(|page| !cached.contains(page));
        let misses = missed().count();
        self.own.cache.hits += cached.len() as u64;
        self.own.cache.misses += misses as u64;
        if !self.own.cache.is_used() {
            return;
        }
        cached.iter().for_each(|page| self.own.cache.touch(*page));
        // Of more pages than it holds the first would leave at once.
        for page in missed().skip(misses.saturating_sub(self.own.cache.pages_max())) {
            if let Page::Resident { data, .. } = page_of(&self.log, m, *page) {
                w.work(Unit::CopyByte, data.len() as u64);
                self.own.cache.insert(*page, data);
            }
        }
    }
}
