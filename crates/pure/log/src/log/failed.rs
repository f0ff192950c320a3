// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages whose programs failed: their segments wait to be repaired, and what was to be safe with them is so later.

use super::Log;
use crate::{Segment, SegmentState};
use saker_segment_store::{SegmentId, SegmentStore, Stream, Tag};

impl Log {
    /// Everything that was on the failed pages of a segment and is needed has been copied. The segment stays as it
    /// is; the slots of those pages are given back once the copies are safe.
    pub fn end_repair<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        let s = self.segment_mut(id);
        assert!(s.failed.is_some() && s.awaits_repair(), "only what failed and waits is repaired: {s:?}");
        s.evacuate = false;
        let after = self.copies_sent(m);
        self.repaired.push((id, after));
    }

    /// The same, but something that a cut may take is still read from those pages: their slots stay until
    /// [`Log::unpin_repairs`].
    pub fn end_repair_pinned<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        self.end_repair(id, m);
        self.pinned.push(id);
    }

    /// A repair met what could not be read, and what was to be copied may be there. Another one tries again, because reads that failed may succeed
    /// then. After so many the segment is damaged: its failed pages stay in the page buffer, and what is to be safe with them is not.
    pub fn break_off_repair(&mut self, id: SegmentId) {
        if !self.segment_mut(id).tries_repair_again() {
            self.set_damaged(id);
        }
    }

    /// Repairs that left something behind begin again.
    pub fn unpin_repairs(&mut self) {
        for id in std::mem::take(&mut self.pinned) {
            self.forget_repair(id);
            self.segment_mut(id).evacuate = true;
        }
    }

    /// A segment goes, is not what it was, or has one more page to be copied.
    pub(super) fn forget_repair(&mut self, id: SegmentId) {
        self.repaired.retain(|(other, _)| *other != id);
        self.pinned.retain(|other| *other != id);
    }

    /// What was on the failed pages of a segment is elsewhere.
    pub(super) fn give_up_pages<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        self.repaired.retain(|(other, _)| *other != id);
        for index in std::mem::take(&mut self.segment_mut(id).failed_pages) {
            if let Some(slot) = self.segment(id).slot(index) {
                m.page_buffer_mut().release(slot);
                self.segment_mut(id).clear_slot(index);
            }
        }
        self.clear_failed(id);
    }

    /// Whether everything that was sent to the medium up to `tag` is safe, given that all I/O up to `finished` has
    /// completed. Where the page buffer can be lost, what a failed program was to write is safe once it has been copied and the
    /// copies are safe, which can take several rounds.
    pub fn is_safe(&self, tag: Tag, finished: Tag) -> bool {
        self.is_safe_in(|_| true, tag, finished)
    }

    /// The same for what may be needed of a segment that is released. Pages of a structure are not: no manifest names one whose
    /// program failed. Their repair can need the segment that comes of this one.
    pub(super) fn copies_safe(&self, tag: Tag, finished: Tag) -> bool {
        self.is_safe_in(|s| s.stream != Stream::Table as u8, tag, finished)
    }

    /// The same for records only: a checkpoint of which a page failed is replaced by one that must not wait for that.
    pub(crate) fn records_safe(&self, tag: Tag, finished: Tag) -> bool {
        self.is_safe_in(|s| s.stream != Stream::Checkpoint as u8, tag, finished)
    }

    fn is_safe_in(&self, counts: fn(&Segment) -> bool, tag: Tag, finished: Tag) -> bool {
        if self.failed_segments == 0 || self.ring_lasts {
            return tag <= finished;
        }
        let failed_by = |s: &Segment, tag| counts(s) && s.failed.is_some_and(|t| t <= tag);
        let all = self.segments.iter().filter(|s| failed_by(s, tag)).count();
        let moved =
            self.releasing.iter().chain(&self.repaired).filter(|(id, _)| failed_by(self.segment(*id), tag));
        let (count, last) =
            moved.fold((0, tag), |(n, last), (_, after)| (n + 1, last.max(after.unwrap_or(last))));
        if count < all || tag > finished {
            return false;
        }
        last == tag || self.is_safe_in(counts, last, finished)
    }

    /// Whether a failed program waits for its segment to be evacuated.
    #[inline]
    pub fn has_failures(&self) -> bool {
        self.failed_segments > 0
    }

    pub(crate) fn set_failed(&mut self, id: SegmentId, index: u32, tag: Tag) {
        let s = &mut self.segments[id.0 as usize];
        if s.state == SegmentState::Absent {
            return;
        }
        // Also where nothing is needed any more: a checkpoint that is being written can refer to what was there, and
        // what replaced it is safe only when the copies are.
        s.failed_pages.push(index);
        if s.failed.is_none_or(|first| tag < first) {
            self.failed_segments += u32::from(s.failed.is_none());
            s.failed = Some(tag);
        }
        self.forget_repair(id);
    }

    pub(super) fn clear_failed(&mut self, id: SegmentId) {
        if self.segment_mut(id).failed.take().is_some() {
            self.failed_segments -= 1;
        }
    }

    /// The page stays in the page buffer until it has been copied; the segment goes on behind it. A checkpoint is given up.
    pub(super) fn page_failed<M: SegmentStore>(&mut self, id: SegmentId, index: u32, tag: Tag, m: &mut M) {
        if self.streams[Stream::Checkpoint as usize].segment == Some(id) {
            self.close_segment(Stream::Checkpoint, m);
        }
        self.set_failed(id, index, tag);
        let s = self.segment_mut(id);
        s.evacuate = s.can_be_repaired();
    }
}
