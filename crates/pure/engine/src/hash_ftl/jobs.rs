// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Evictions and collections side by side: the paper has a background thread for each (Plus, section V-A).
//!
//! An eviction also writes full buffers of invalid mappings, as commands wait for both. Where the order between the two matters, because
//! little room is left or something is repaired, one job is all of them.

use super::HashFtl;
use saker_engine_api::{Background, Job, JobKind};
use saker_segment_store::{SegmentStore, Step, Tag};
use saker_sim::Meter;

impl HashFtl {
    /// The jobs that may go on side by side now.
    pub(super) fn jobs_side_by_side<M: SegmentStore>(&self, m: &M, visit: &mut dyn FnMut(Job)) {
        if !self.goes_side_by_side(m) {
            return Job::upkeep_if(self.has_debt(m)).into_iter().for_each(visit);
        }
        if self.has_eviction() {
            visit(Job::FLUSH);
        }
        if self.collection.is_some() || self.begins_collection(m) {
            visit(Job::COLLECTION);
        }
        if self.log.releasing() > 0 {
            visit(Job::REST);
        }
    }

    /// Whether anything but the order of one worker is safe.
    fn goes_side_by_side<M: SegmentStore>(&self, m: &M) -> bool {
        let is_sound = !self.log.has_failures() && !self.log.must_evacuate() && !self.is_repairing();
        let is_roomy = !self.is_pressed(m) && !self.mappings_hold_up_writes() && !self.tombstones_press(m);
        is_sound && is_roomy && !self.doubling_is_due() && !self.twice.holds_up_deletes()
    }

    fn has_eviction(&self) -> bool {
        self.should_evict() || self.validity.invalid().is_some_and(|invalid| invalid.next_full().is_some())
    }

    /// One bounded piece of a job.
    pub(super) fn quantum_of<M: SegmentStore, W: Meter>(
        &mut self,
        job: Job,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        self.operation += 1;
        self.log.pump(finished, m);
        self.note_finished(finished);
        match job.kind {
            JobKind::Flush if self.validity.invalid().is_some_and(|i| i.next_full().is_some()) => {
                self.write_mappings(m).map_or_else(Step::Blocked, |()| Step::Done(Background::Worked))
            }
            JobKind::Flush if self.should_evict() => self.evict_quantum(m, w),
            JobKind::Collection => {
                if self.collection.is_none() {
                    self.start_collection(m);
                }
                self.collect(m, w)
            }
            JobKind::Rest if self.log.releasing() > 0 => Step::Done(Background::Waiting),
            _ => Step::Done(Background::Idle),
        }
    }
}
