// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Garbage collection, and the order of background work.

pub mod data;
pub mod mappings;
pub mod rest;
pub mod sections;
pub mod victim;

use super::HashFtl;
use super::reserve::{
    FOR_GC_SECTIONS, FOR_PAGE_COPIES, FOR_PAGE_REPAIRS, FOR_RECORD_COPIES, FOR_RECORD_REPAIRS,
    FREE_SEGMENTS_LOW, FREE_SEGMENTS_PRESSED,
};
use super::table::image::Image;
use saker_engine_api::Background;
use saker_log::Reserve;
use saker_segment_store::{Completion, PageAddr, SegmentId, SegmentStore, Stall, Step, Stream, Tag};
use saker_sim::Meter;
use victim::Victim;

/// A collection on its way.
#[derive(Clone, Debug)]
pub struct Collection {
    pub(super) segment: SegmentId,
    pub(super) next_page: u32,
    /// Only what is on pages that failed is moved: so many there were at the start.
    pub(super) repair: Option<usize>,
    /// Sections that wait for a page of their own, and where they are.
    pub(super) pack: Vec<(Image, PageAddr)>,
    /// Bytes of the sections that were on each page when it began, if it is one of sections: 0 where none is needed.
    pub(super) needed: Option<Box<[u32]>>,
    /// Records that all collections had copied when it began.
    pub(super) copied_before: u64,
}

/// How a quantum of a collection ended.
pub(super) enum Progress {
    /// Something was moved; there is more.
    Some,
    /// The segment is through.
    End,
}

impl HashFtl {
    /// One bounded piece of background work. `finished`: everything up to this tag has completed.
    pub(super) fn quantum<M: SegmentStore, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        self.operation += 1;
        self.log.pump(finished, m);
        self.note_finished(finished);
        if self.collection.as_ref().is_some_and(|c| c.repair.is_none()) && self.log.must_evacuate() {
            // Nothing is erased before failed pages are repaired.
            self.give_up_collection();
        }
        if self.collection.is_none() {
            self.start_collection(m);
        }
        // A page, for which writes wait; a collection is hundreds.
        if self.mappings_hold_up_writes() && self.write_mappings(m).is_ok() {
            return Step::Done(Background::Worked);
        }
        // Deletes wait for it.
        if let Step::Done(Background::Worked) = self.write_twice(m, w) {
            return Step::Done(Background::Worked);
        }
        if self.collection.is_some() && self.is_pressed(m) {
            return self.collect(m, w);
        }
        if self.validity.invalid().is_some_and(|i| i.next_full().is_some())
            && let Ok(()) = self.write_mappings(m)
        {
            return Step::Done(Background::Worked);
        }
        if self.tombstones_press(m)
            && let Step::Done(Background::Worked) = self.write_tombstones(m, w)
        {
            return Step::Done(Background::Worked);
        }
        if self.doubling_is_due() {
            match self.doubling_quantum(finished, m, w) {
                Step::Done(Background::Worked) => return Step::Done(Background::Worked),
                Step::Need(reads) => return Step::Need(reads),
                _ => {}
            }
        }
        if self.should_evict()
            && let Step::Done(Background::Worked) = self.evict_quantum(m, w)
        {
            return Step::Done(Background::Worked);
        }
        if self.collection.is_some() {
            return self.collect(m, w);
        }
        // What makes reads faster, behind all that writes can wait for.
        if let Some(step) = self.bring_wanted(m, w) {
            return step;
        }
        let waiting = self.log.releasing() > 0 || self.log.has_failures() || self.twice.holds_up_deletes();
        Step::Done(if waiting { Background::Waiting } else { Background::Idle })
    }

    /// Whether background work is due. Cheap: asked after every command.
    pub(super) fn has_debt<M: SegmentStore>(&self, m: &M) -> bool {
        self.collection.is_some()
            || self.log.releasing() > 0
            || self.log.has_failures()
            || self.twice.holds_up_deletes()
            || m.free_segments() <= self.free_low(m) && !self.rests(m)
            || self.validity.invalid().is_some_and(|i| i.next_full().is_some())
            || self.tombstones_press(m)
            || self.doubling_is_due()
            || self.should_evict()
    }

    /// Whether writes are close to waiting for background work.
    pub fn is_pressed<M: SegmentStore>(&self, m: &M) -> bool {
        m.free_segments() <= FREE_SEGMENTS_PRESSED + self.log.held_up(Stream::User)
    }

    /// Free segments at which collection starts. What failed programs hold up is not free to commands.
    fn free_low<M: SegmentStore>(&self, m: &M) -> u32 {
        FREE_SEGMENTS_LOW + m.quota_segments() / 50 + self.log.held_up(Stream::User)
    }

    /// Free segments, with those that are on their way to be.
    fn free_soon<M: SegmentStore>(&self, m: &M) -> u32 {
        m.free_segments() + self.log.releasing() as u32
    }

    /// Segments' worth of records that commands have written.
    fn segments_written(&self) -> u64 {
        self.ftl_stats.kv_bytes_written / self.log.geometry().segment_bytes()
    }

    /// Whether collections wait until more is written.
    fn rests<M: SegmentStore>(&self, m: &M) -> bool {
        self.rest.is_resting(self.segments_written()) && !self.is_pressed(m)
    }

    /// Whether sections should be written for the room of the tombstones in them.
    pub(super) fn tombstones_press<M: SegmentStore>(&self, m: &M) -> bool {
        let many = self.tombstone_bytes > self.log.geometry().segment_bytes() / 2;
        !self.with_tombstones.is_empty() && (self.wants_room || many && self.is_pressed(m))
    }

    /// Whether so little is free that a collection begins.
    pub(super) fn begins_collection<M: SegmentStore>(&self, m: &M) -> bool {
        self.free_soon(m) <= self.free_low(m) && !self.rests(m)
    }

    pub(super) fn start_collection<M: SegmentStore>(&mut self, m: &mut M) {
        if !self.log.must_evacuate() && !self.begins_collection(m) {
            return;
        }
        if let Some(victim) = self.choose_victim(m) {
            self.begin_collection(victim);
        }
    }

    pub(super) fn begin_collection(&mut self, Victim { segment, sections }: Victim) {
        let s = self.log.segment(segment);
        let repair = s.evacuate.then(|| s.failed_pages().len());
        let needed = sections.filter(|_| repair.is_none());
        let copied_before = self.stats.gc_records_copied;
        self.collection =
            Some(Collection { segment, next_page: 0, repair, pack: Vec::new(), needed, copied_before });
    }

    fn give_up_collection(&mut self) {
        self.collection = None;
        if let Some(invalid) = self.validity.invalid_mut() {
            invalid.end_collection();
        }
    }

    pub(super) fn collect<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Step<Background> {
        let Some(collection) = &self.collection else { return Step::Done(Background::Idle) };
        let (segment, is_repair) = (collection.segment, collection.repair.is_some());
        // A dead segment needs no walk.
        if self.log.segment(segment).live_bytes == 0 && !is_repair {
            self.end_collection(m);
            return Step::Done(Background::Worked);
        }
        let step = match self.log.segment(segment).stream() {
            Stream::User | Stream::Gc => self.collect_data(m, w),
            Stream::Map => self.collect_sections(m, w),
            Stream::Invalid => self.collect_mappings(m),
            Stream::Checkpoint | Stream::Table => unreachable!("this store has neither"),
        };
        match step {
            Step::Done(Ok(Progress::Some)) => Step::Done(Background::Worked),
            Step::Done(Ok(Progress::End)) => {
                self.end_collection(m);
                Step::Done(Background::Worked)
            }
            Step::Done(Err(_)) => {
                // What cannot be read stays where it is.
                match is_repair {
                    true => self.log.break_off_repair(segment),
                    false => self.log.set_damaged(segment),
                }
                self.give_up_collection();
                Step::Done(Background::Worked)
            }
            Step::Need(reads) => Step::Need(reads),
            Step::Blocked(Stall::NoSegment) if self.turn_from_records(segment, m) => {
                Step::Done(Background::Worked)
            }
            Step::Blocked(stall) => Step::Blocked(stall),
        }
    }

    /// Copying a segment's records changes so many sections that no segment is left to write them to: their old pages are
    /// collected first, or invalid mappings. False if nothing can be gained there.
    fn turn_from_records<M: SegmentStore>(&mut self, from: SegmentId, m: &M) -> bool {
        if self.log.must_evacuate() || !self.log.segment(from).stream().holds_records() {
            return false;
        }
        let Some(victim) = self.most_gainful_beside_records(m) else { return false };
        self.give_up_collection();
        self.begin_collection(victim);
        true
    }

    fn end_collection<M: SegmentStore>(&mut self, m: &mut M) {
        let Some(Collection { segment, repair, copied_before, .. }) = self.collection.take() else { return };
        self.give_up_collection();
        if let Some(pages) = repair {
            // If more have failed since, it begins again.
            if self.log.segment(segment).failed_pages().len() == pages {
                self.log.end_repair(segment, m);
            }
            return;
        }
        if self.log.segment(segment).live_bytes > 0 {
            return self.log.set_damaged(segment);
        }
        // What was copied is invalid where it was, too, and was noted there.
        let copied = self.stats.gc_records_copied - copied_before;
        let buffered = self.validity.invalid().map_or(0, |invalid| invalid.buffered(segment));
        self.ftl_stats.invalid_mappings_dropped += buffered.saturating_sub(copied);
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        for page in self.validity.forget(segment) {
            self.log.sub_live(self.log.geometry().segment_of(page), page_bytes);
        }
        self.stats.gc_segments += 1;
        self.ftl_stats.collected(self.log.segment(segment).stream());
        self.log.release(segment, m);
        self.rest.ended(self.segments_written(), self.free_soon(m));
    }

    /// The next pages of the segment that a quantum looks at: not those in which nothing is needed.
    pub(super) fn window(&mut self, pages: usize, skip: impl Fn(&Self, PageAddr) -> bool) -> Vec<PageAddr> {
        let Some(Collection { segment, next_page, .. }) = &self.collection else { return Vec::new() };
        let (segment, next_page) = (*segment, *next_page);
        let (geometry, end) = (self.log.geometry(), self.log.segment(segment).next_page);
        let all = (next_page..end).map(|n| geometry.page(segment, n));
        all.filter(|page| !skip(self, *page)).take(pages).collect()
    }

    /// Pages up to this one are through.
    pub(super) fn pass_page(&mut self, page: PageAddr) {
        let next = self.log.geometry().index_of(page) + 1;
        if let Some(collection) = &mut self.collection {
            collection.next_page = next;
        }
    }

    pub(super) fn is_repairing(&self) -> bool {
        self.collection.as_ref().is_some_and(|c| c.repair.is_some())
    }

    /// What copies of records leave.
    pub(super) fn record_copies_leave(&self) -> Reserve {
        let repairs = self.is_repairing();
        let left = if repairs { FOR_RECORD_REPAIRS } else { FOR_RECORD_COPIES };
        left.with_segments(self.log.kept_for_repairs(repairs))
    }

    /// What copies of sections and mappings leave.
    pub(super) fn page_copies_leave(&self) -> Reserve {
        let repairs = self.is_repairing();
        let left = if repairs { FOR_PAGE_REPAIRS } else { FOR_PAGE_COPIES };
        left.with_segments(self.log.kept_for_repairs(repairs))
    }

    /// What sections leave that a collection or a repair waits for.
    pub(super) fn sections_leave(&self) -> Reserve {
        let slots = if self.is_repairing() { FOR_PAGE_REPAIRS.slots } else { FOR_GC_SECTIONS.slots };
        Reserve { slots, ..FOR_GC_SECTIONS }
    }

    /// Whether a repair must look at a page that is a unit of its own.
    pub(super) fn is_not_to_repair(&self, page: PageAddr) -> bool {
        let geometry = self.log.geometry();
        let failed = self.log.segment(geometry.segment_of(page)).failed_pages();
        self.collection.as_ref().is_some_and(|c| c.repair.is_some())
            && !failed.contains(&geometry.index_of(page))
    }

    /// Takes note of a finished I/O.
    pub(super) fn note_completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) {
        let failed = self.log.completed(done, m);
        if failed && self.collection.is_none() {
            self.start_collection(m);
        }
    }
}

/// Something was done before the stall, or nothing.
pub(super) fn stalled<T>(did: bool, stall: Stall, worked: T) -> Step<T> {
    if did { Step::Done(worked) } else { Step::Blocked(stall) }
}
