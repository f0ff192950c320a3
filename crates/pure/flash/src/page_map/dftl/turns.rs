// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What background work does next: for translation pages or for sectors.

use super::Dftl;
use super::evict::Written;
use crate::page_map::PageMap;
use crate::page_map::gc::Progress;
use saker_segment_store::{SegmentStore, Stall, Step, Tag};
use saker_sim::Meter;

impl PageMap {
    /// Whether translation pages wait to be written or moved.
    pub(in crate::page_map) fn has_translation_work(&self) -> bool {
        let per_page = self.sectors_per_page() as usize;
        let is_due =
            |d: &Dftl| d.collection.is_some() || !d.trimming.is_empty() || d.is_eviction_due(per_page);
        self.dftl.as_ref().is_some_and(|d| is_due(d))
    }

    /// Work for translation pages and for sectors takes turns, as far as there is any. What needs pages keeps its turn. With a map in
    /// memory, and while repairs wait, all is for sectors.
    pub(in crate::page_map) fn take_turns<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Progress> {
        if self.dftl.is_none() || self.log.must_evacuate() {
            self.dftl.as_mut().into_iter().for_each(|d| d.stop_collection());
            return self.sectors_quantum(finished, m, w);
        }
        let is_sectors_turn = self.dftl.as_ref().is_some_and(|d| d.is_sectors_turn);
        let mut step = Step::Done(Progress::Idle);
        for sectors in [is_sectors_turn, !is_sectors_turn] {
            let next = if sectors {
                self.sectors_quantum(finished, m, w)
            } else {
                self.translation_quantum(m, w).unwrap_or(Step::Done(Progress::Idle))
            };
            let turn = match next {
                // It is next again, or the two would let go of each other's pages for ever.
                Step::Need(_) => sectors,
                Step::Done(Progress::Worked) => !sectors,
                Step::Done(Progress::Idle) => continue,
                waits => {
                    step = waits;
                    continue;
                }
            };
            self.dftl.as_mut().into_iter().for_each(|d| d.is_sectors_turn = turn);
            return next;
        }
        if self.has_translation_work() && step == Step::Done(Progress::Idle) {
            return Step::Done(Progress::Waiting);
        }
        step
    }

    /// One step for translation pages. `None`: there is nothing to do, or it cannot be done now.
    pub(in crate::page_map) fn translation_quantum<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Option<Step<Progress>> {
        let per_page = self.sectors_per_page() as usize;
        let is_short = !self.fits_map_segment() && self.map_room(m, false) == Err(Stall::NoSegment);
        let d = self.dftl.as_ref()?;
        let is_due = d.is_eviction_due(per_page) || !d.trimming.is_empty();
        if d.collection.is_some() || (is_due && is_short) {
            return self.collect_translations(m, w);
        }
        let step = if let Some(page) = d.page_to_write().filter(|_| d.is_eviction_due(per_page)) {
            self.write_translation(page, None, m, w).map(|written| {
                if written == Written::Lost {
                    self.dftl.as_mut().map(|d| d.lost.insert(page));
                }
            })
        } else if d.trimming.is_empty() {
            return None;
        } else {
            self.trim_quantum(m, w)
        };
        match step {
            Step::Done(()) => Some(Step::Done(Progress::Worked)),
            Step::Need(reads) => Some(Step::Need(reads)),
            // Other work goes on: it may be what makes room.
            Step::Blocked(_) => None,
        }
    }
}
