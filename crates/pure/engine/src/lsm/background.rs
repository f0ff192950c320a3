// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order of background work: what must be made good first, then what writes wait for, then what is owed.

use super::LsmStore;
use crate::ordered::background::Piece;
use crate::ordered::structure::Manifests;
use saker_engine_api::{Background, JobKind};
use saker_segment_store::{SegmentStore, Step, Tag};
use saker_sim::Meter;

/// Pieces that may change places.
const FLUSH: u32 = 3;
pub(super) const MANIFEST: u32 = 4;
pub(super) const COMPACTION: u32 = 6;

impl LsmStore {
    /// The pieces in the order of their urgency.
    pub(super) fn piece<M: SegmentStore, W: Meter>(
        &mut self,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        let first = self.collects_first(m);
        match self.turned(n) {
            0 => self.repair_tables(finished, m, w),
            1 if self.gc.is_some_and(|gc| gc.is_repair()) => self.collect(m, w),
            2 if self.is_short_of_segments(m) => self.collect_tables(m, w),
            FLUSH => self.flush_step(m, w),
            MANIFEST => Step::Done(Ok(self.manifest_step(finished, m, w))),
            5 if first => self.collect_step(m, w),
            COMPACTION => self.compaction_step(m, w),
            // What waits for a thread only is as good as done: the order is the same.
            7 | 8 if self.waits_for_task() => Step::Done(Ok(Background::Idle)),
            7 if !first => self.collect_step(m, w),
            8 if self.gc.is_none() && self.is_pressed(m) => self.collect_tables(m, w),
            _ => Step::Done(Ok(Background::Idle)),
        }
    }

    /// What a piece is for.
    pub(super) fn kind_of(&self, n: u32) -> JobKind {
        match self.turned(n) {
            FLUSH => JobKind::Flush,
            COMPACTION => JobKind::Compaction,
            1 | 2 | 5 | 7 | 8 => JobKind::Collection,
            _ => JobKind::Rest,
        }
    }

    /// The piece that has the place of another. Where values are in memtables a flush takes long, and the next follows it: a manifest that
    /// only waits to be written would never be, and what is due in level 0 takes turns with what adds to it.
    fn turned(&self, n: u32) -> u32 {
        if !self.settings.has_inside() {
            return n;
        }
        let writes = self.manifest.is_running() && self.own.has_cut();
        let merges = self.must_merge() && self.upkeep.is_for_collections();
        match n {
            FLUSH if writes => MANIFEST,
            MANIFEST if writes => FLUSH,
            FLUSH if merges => COMPACTION,
            COMPACTION if merges => FLUSH,
            n => n,
        }
    }

    /// Whether collections and compactions, which leave as many segments, are about to wait for one. Many may hold a page or two of
    /// tables then: these are emptied while there is room for that, and for the flush before the manifest that frees them.
    pub(super) fn is_short_of_segments<M: SegmentStore>(&self, m: &M) -> bool {
        let is_repair = self.gc.is_some_and(|gc| gc.is_repair());
        !is_repair && m.free_segments() <= self.kept_from_merges(m) + self.flush_segments()
    }

    /// Whether collections go before compactions: under pressure they do, else they take turns, but not while entries wait to be
    /// merged. What they move is entered anew, so they would fill the tables faster than anything takes out what they replaced.
    fn collects_first<M: SegmentStore>(&self, m: &M) -> bool {
        !self.must_merge() && (self.is_pressed(m) || self.upkeep.is_for_collections())
    }

    pub(super) fn must_merge(&self) -> bool {
        let trigger = u64::from(self.config.level0_file_num_compaction_trigger.max(1));
        self.reveal.merges() || self.own.sizes.level0 >= trigger
    }

    pub(super) fn collect_step<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Piece {
        if self.gc.is_some() { self.collect(m, w) } else { Step::Done(Ok(Background::Idle)) }
    }
}
