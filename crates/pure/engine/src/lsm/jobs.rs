// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Jobs side by side, for drivers that have several cores: the flush, each compaction, the collection, and the rest.
//!
//! They go on in any order, a piece of one after a piece of another, as the pieces of one worker do; what each takes and leaves is in
//! [`super::reserve`]. In one respect a worker that does all of them alone is more careful: while a memtable is flushed nothing is
//! merged. Here merges go on then, so they leave what the flush of all that memtables hold takes. When less is free, when a page has
//! failed, or when everything is merged to find out what lives, there is one job, and it goes by the order of one worker
//! ([`super::background`]).

use super::LsmStore;
use super::background::{COMPACTION, MANIFEST};
use super::compaction::worked_if_idle;
use crate::ordered::background::Piece;
use saker_engine_api::{Background, Job, JobKind};
use saker_segment_store::{SegmentStore, Step, Tag};
use saker_sim::Meter;

impl LsmStore {
    /// What may run side by side now.
    pub(super) fn jobs_side_by_side<M: SegmentStore>(&self, m: &M, visit: &mut dyn FnMut(Job)) {
        if !self.goes_side_by_side(m) {
            return visit(Job::UPKEEP);
        }
        if self.has_flush() {
            visit(Job::FLUSH);
        }
        self.own.compactions.iter().for_each(|job| visit(Job::compaction(job.number())));
        if self.may_collect() {
            visit(Job::COLLECTION);
        }
        if self.has_rest(m) {
            visit(Job::REST);
        }
    }

    /// Whether anything but the order of one worker is safe.
    fn goes_side_by_side<M: SegmentStore>(&self, m: &M) -> bool {
        let is_repaired = !self.log.has_failures() && self.gc.is_none_or(|gc| !gc.is_repair());
        let has_room = m.free_segments() > self.kept_from_merges(m) + self.flush_segments();
        is_repaired && has_room && !self.reveal.is_running() && self.upkeep.error().is_none()
    }

    fn has_flush(&self) -> bool {
        !self.own.frozen.is_empty() || self.is_full() && self.may_freeze()
    }

    /// Collections enter anew what they move: not while entries wait to be merged, nor while memtables wait to be flushed.
    fn may_collect(&self) -> bool {
        let merges = || self.must_merge() && !self.own.compactions.is_empty();
        let is_behind = || self.is_full() && !self.may_freeze();
        self.gc.is_some() && !merges() && !is_behind()
    }

    fn has_rest<M: SegmentStore>(&self, m: &M) -> bool {
        self.log.releasing() > 0
            || self.may_begin_compaction()
            || self.gc.is_none() && m.free_segments() <= self.free_low(m)
            || self.manifest_has_work(m)
    }

    fn may_begin_compaction(&self) -> bool {
        let has_thread = self.own.compactions.len() < self.config.threads();
        has_thread && self.own.sizes.is_due && !self.own.none_to_begin
    }

    /// A piece of a job that was handed out. One that waited for pages may come when less room is left.
    pub(super) fn job_piece<M: SegmentStore, W: Meter>(&mut self, job: Job, m: &mut M, w: &mut W) -> Piece {
        match (job.kind, job.id.compaction()) {
            (JobKind::Flush, _) => self.flush_step(m, w),
            _ if !self.goes_side_by_side(m) => Step::Done(Ok(Background::Idle)),
            (JobKind::Compaction, Some(number)) => self.compaction_alone(number, m, w),
            (JobKind::Collection, _) => self.collect_step(m, w),
            _ => Step::Done(Ok(Background::Idle)),
        }
    }

    fn compaction_alone<M: SegmentStore, W: Meter>(&mut self, number: u32, m: &mut M, w: &mut W) -> Piece {
        let Some(at) = self.own.compactions.iter().position(|job| job.number() == number) else {
            return Step::Done(Ok(Background::Idle));
        };
        let mut job = self.own.compactions.remove(at).taken();
        let step = self.job_step(&mut job, m, w);
        if !matches!(step, Step::Done(Ok(Background::Idle))) {
            self.own.compactions.insert(at, job.resting());
        }
        worked_if_idle(step)
    }

    /// A piece of what is not handed out otherwise. Compactions only begin in it.
    pub(super) fn rest_piece<M: SegmentStore, W: Meter>(
        &mut self,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        match n {
            MANIFEST => Step::Done(Ok(self.manifest_step(finished, m, w))),
            COMPACTION => Step::Done(Ok(self.begin_compactions(m))),
            8 if self.gc.is_none() && self.is_pressed(m) => self.collect_tables(m, w),
            _ => Step::Done(Ok(Background::Idle)),
        }
    }

    fn begin_compactions<M: SegmentStore>(&mut self, m: &M) -> Background {
        let before = self.own.compactions.len();
        let is_moved = self.start_compactions(m);
        if is_moved || self.own.compactions.len() > before { Background::Worked } else { Background::Idle }
    }
}
