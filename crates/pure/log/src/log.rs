// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The log itself: segments, append points, live bytes, release.

mod failed;

use crate::{LogStats, Segment, SegmentState};
use saker_segment_store::{
    Completion, Geometry, Io, PageAddr, SegmentId, SegmentStore, SlotId, SlotState, Stream, Tag,
};
use std::collections::{BTreeSet, VecDeque};

/// The append point of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Append {
    pub(crate) segment: Option<SegmentId>,
    /// The open slot and its page; the page after it is `next_page` of the segment.
    pub(crate) open: Option<(SlotId, PageAddr)>,
    /// Bytes used in the open page.
    pub(crate) offset: u32,
    /// Full pages from here on stay in the page buffer (see [`crate::hold`]).
    pub(crate) hold: Option<PageAddr>,
    /// The first full page that has stayed.
    pub(crate) held: Option<PageAddr>,
}

/// Pages that can be on their way at once: slots of a page buffer have 16 bits.
const LOST_PAGES_MAX: u64 = 1 << 16;

/// An append-only log of one owner.
#[derive(Clone, Debug)]
pub struct Log {
    pub(crate) owner: u16,
    pub(crate) geometry: Geometry,
    pub(crate) segments: Vec<Segment>,
    pub(crate) streams: [Append; Stream::COUNT],
    pub(crate) next_sequence: u64,
    pub(crate) held: u32,
    pub(crate) live_bytes: u64,
    /// Those of them that only checkpoints free.
    tombstone_bytes: u64,
    releasing: VecDeque<(SegmentId, Option<Tag>)>,
    /// Segments whose failed pages have been copied.
    repaired: Vec<(SegmentId, Option<Tag>)>,
    /// Those of them whose failed pages are still read from their slots.
    pinned: Vec<SegmentId>,
    pub(crate) ring_lasts: bool,
    /// Pages that are programmed behind all before them ([`Log::commit_in_order`]).
    pub(crate) ordered: BTreeSet<PageAddr>,
    /// Segments with `failed`.
    pub(crate) failed_segments: u32,
    pub(crate) stats: LogStats,
}

impl Log {
    /// An empty log. `ring_lasts`: whether what is published in the page buffer survives a power cut.
    pub fn new(owner: u16, geometry: Geometry, ring_lasts: bool) -> Self {
        Self {
            owner,
            geometry,
            segments: vec![Segment::default(); geometry.segments as usize],
            streams: [Append::default(); Stream::COUNT],
            next_sequence: 1,
            held: 0,
            live_bytes: 0,
            tombstone_bytes: 0,
            releasing: VecDeque::new(),
            repaired: Vec::new(),
            pinned: Vec::new(),
            ring_lasts,
            ordered: BTreeSet::new(),
            failed_segments: 0,
            stats: LogStats::default(),
        }
    }

    /// The shape of the medium.
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// Counters.
    pub fn stats(&self) -> LogStats {
        self.stats
    }

    /// Bytes the owner needs, in all segments.
    pub fn live_bytes(&self) -> u64 {
        self.live_bytes
    }

    /// Those of one stream.
    pub fn live_bytes_of(&self, stream: Stream) -> u64 {
        let of_it = self.segments.iter().filter(|s| s.stream == stream as u8);
        of_it.map(|s| s.live_bytes).sum()
    }

    /// Segments this log holds.
    pub fn segments_held(&self) -> u32 {
        self.held
    }

    /// A segment of this log; `None` if there is none of that number.
    #[inline]
    pub fn find_segment(&self, id: SegmentId) -> Option<&Segment> {
        self.segments.get(id.0 as usize)
    }

    /// A segment of this log.
    #[inline]
    pub fn segment(&self, id: SegmentId) -> &Segment {
        &self.segments[id.0 as usize]
    }

    #[inline]
    pub(crate) fn segment_mut(&mut self, id: SegmentId) -> &mut Segment {
        &mut self.segments[id.0 as usize]
    }

    pub(crate) fn append_point(&mut self, stream: Stream) -> &mut Append {
        &mut self.streams[stream as usize]
    }

    /// The sequence number the next opened page will get.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Pages get no number up to `last` any more: it was meant for a page that a cut took, and who knows it must not take another page for
    /// that one. A number far beyond the next one was meant for none: 65,536 pages at most are on their way at once.
    pub fn retire_sequences(&mut self, last: u64) {
        if last.checked_sub(self.next_sequence).is_some_and(|more| more < LOST_PAGES_MAX) {
            self.next_sequence = last.saturating_add(1);
        }
    }

    /// Notes that `bytes` in a segment became needed.
    #[inline]
    pub fn add_live(&mut self, id: SegmentId, bytes: u64) {
        debug_assert!(
            !matches!(self.segment(id).state, SegmentState::Absent | SegmentState::Releasing),
            "bytes live in a segment that is {:?}",
            self.segment(id).state
        );
        self.segment_mut(id).live_bytes += bytes;
        self.live_bytes += bytes;
    }

    /// Notes that `bytes` in a segment are no longer needed.
    #[inline]
    pub fn sub_live(&mut self, id: SegmentId, bytes: u64) {
        let segment = self.segment_mut(id);
        assert!(segment.live_bytes >= bytes, "more bytes freed than lived in a segment");
        segment.live_bytes -= bytes;
        debug_assert!(self.live_bytes >= bytes, "no segment has more than all");
        self.live_bytes -= bytes;
    }

    /// Notes a record of so many bytes that a collection of its segment may have to copy.
    #[inline]
    pub fn note_length(&mut self, id: SegmentId, bytes: u32) {
        let segment = self.segment_mut(id);
        segment.longest = segment.longest.max(bytes);
    }

    /// Notes live bytes that the next checkpoint begun from now on will free.
    pub fn add_until_checkpoint(&mut self, id: SegmentId, bytes: u64) {
        self.segment_mut(id).until_checkpoint[0] += bytes;
        self.tombstone_bytes += bytes;
        self.add_live(id, bytes);
    }

    /// Every record of a segment was moved or is not needed: forget what only a checkpoint would free.
    pub fn drop_until_checkpoint(&mut self, id: SegmentId) {
        let [new, old] = std::mem::take(&mut self.segment_mut(id).until_checkpoint);
        self.tombstone_bytes -= new + old;
        self.sub_live(id, new + old);
    }

    /// Live bytes that only checkpoints free, those that the running one frees included.
    pub fn tombstone_bytes(&self) -> u64 {
        self.tombstone_bytes
    }

    /// Bytes that the next checkpoint frees.
    pub fn until_checkpoint_bytes(&self) -> u64 {
        self.segments.iter().map(|s| s.until_checkpoint[0]).sum()
    }

    /// A checkpoint begins: what is marked so far goes when it is complete.
    pub fn cut_checkpoint(&mut self) {
        for s in &mut self.segments {
            s.until_checkpoint[1] += std::mem::take(&mut s.until_checkpoint[0]);
        }
    }

    /// The checkpoint is complete: what was marked before it is free.
    pub fn checkpoint_complete(&mut self) {
        debug_assert_eq!(
            self.tombstone_bytes,
            self.segments.iter().map(|s| s.until_checkpoint.iter().sum::<u64>()).sum()
        );
        for n in 0..self.segments.len() {
            let bytes = std::mem::take(&mut self.segments[n].until_checkpoint[1]);
            self.tombstone_bytes -= bytes;
            self.sub_live(SegmentId(n as u32), bytes);
        }
    }

    /// The cheapest segment to collect: one that must be evacuated, else the closed one with the fewest live
    /// bytes (greedy), as long as collecting it gains something.
    pub fn victim(&self) -> Option<SegmentId> {
        self.victim_that_loses(|_| 0)
    }

    /// The same where the copies of a segment's records can leave bytes unused: those count as if they lived.
    pub fn victim_that_loses(&self, lost: impl Fn(&Segment) -> u64) -> Option<SegmentId> {
        let most = self.geometry.segment_bytes();
        let records = self.segments.iter().enumerate().filter(|(_, s)| s.stream().holds_records());
        let repaired = self.segments.iter().enumerate().find(|(_, s)| s.is_repaired_by_collections());
        let greedy = || {
            let settled =
                |s: &Segment| s.state == SegmentState::Closed && s.in_flight == 0 && s.live_bytes < most;
            records.filter(|(_, s)| settled(s)).min_by_key(|(n, s)| (s.live_bytes + lost(s), *n))
        };
        repaired.or_else(greedy).map(|(n, _)| SegmentId(n as u32))
    }

    /// The closed segment of a stream with the fewest live bytes, as long as collecting it gains something.
    pub fn victim_of(&self, stream: Stream) -> Option<SegmentId> {
        let most = self.geometry.segment_bytes();
        let of_it = self.segments.iter().enumerate().filter(|(_, s)| s.stream == stream as u8);
        let settled =
            of_it.filter(|(_, s)| s.state == SegmentState::Closed && s.in_flight == 0 && s.live_bytes < most);
        settled.min_by_key(|(n, s)| (s.live_bytes, *n)).map(|(n, _)| SegmentId(n as u32))
    }

    /// Segments of a stream.
    pub fn segments_of(&self, stream: Stream) -> u32 {
        let of_it = |s: &&Segment| s.state != SegmentState::Absent && s.stream == stream as u8;
        self.segments.iter().filter(of_it).count() as u32
    }

    /// Whether failed pages wait to be copied.
    pub fn must_evacuate(&self) -> bool {
        self.segments.iter().any(Segment::is_repaired_by_collections)
    }

    /// A segment of tables that has pages to be copied because their programs failed.
    pub fn tables_to_repair(&self) -> Option<SegmentId> {
        let awaits = |s: &Segment| s.stream() == Stream::Table && s.awaits_repair();
        self.segments.iter().position(awaits).map(|n| SegmentId(n as u32))
    }

    /// Bytes a collection of the victim would free.
    pub fn gain(&self, victim: SegmentId) -> u64 {
        self.geometry.segment_bytes() - self.segment(victim).live_bytes.min(self.geometry.segment_bytes())
    }

    /// The owner needs nothing in this segment any more. It is erased once its copies are safe.
    pub fn release<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        let s = self.segment(id);
        assert_eq!(
            (s.state, s.live_bytes),
            (SegmentState::Closed, 0),
            "only a dead closed segment is released"
        );
        self.segment_mut(id).state = SegmentState::Releasing;
        self.segment_mut(id).evacuate = false;
        self.forget_repair(id);
        let after = self.copies_sent(m);
        self.releasing.push_back((id, after));
    }

    /// Where the page buffer can be lost: the tag after which all copies made so far are on the medium.
    fn copies_sent<M: SegmentStore>(&mut self, m: &mut M) -> Option<Tag> {
        if self.ring_lasts {
            return None;
        }
        self.seal_stream(Stream::Gc, m);
        self.seal_stream(Stream::User, m);
        Some(m.last_tag())
    }

    /// A segment holds bytes that cannot be read: keep it as it is. Pages of it whose programs failed stay in the page buffer, and what was to be
    /// safe with them is not; they are repaired when another page fails.
    pub fn set_damaged(&mut self, id: SegmentId) {
        let s = self.segment_mut(id);
        s.state = SegmentState::Damaged;
        s.evacuate = false;
    }

    pub(crate) fn ids_releasing(&self) -> impl Iterator<Item = SegmentId> {
        self.releasing.iter().map(|(id, _)| *id)
    }

    pub(crate) fn ids_repaired(&self) -> impl Iterator<Item = SegmentId> {
        self.repaired.iter().map(|(id, _)| *id)
    }

    pub(crate) fn ids_pinned(&self) -> impl Iterator<Item = SegmentId> {
        self.pinned.iter().copied()
    }

    /// Segments on their way to being free.
    pub fn releasing(&self) -> usize {
        self.releasing.len()
    }

    /// Ends the repairs and starts the erases whose copies are safe: everything up to `finished` has completed.
    pub fn pump<M: SegmentStore>(&mut self, finished: Tag, m: &mut M) {
        let is_over = |(id, after): &&(SegmentId, Option<Tag>)| {
            !self.pinned.contains(id) && after.is_none_or(|tag| self.is_safe(tag, finished))
        };
        let over: Vec<_> = self.repaired.iter().filter(is_over).map(|(id, _)| *id).collect();
        over.into_iter().for_each(|id| self.give_up_pages(id, m));
        for _ in 0..self.releasing.len() {
            let Some((id, after)) = self.releasing.front().copied() else { return };
            let busy =
                self.segment(id).in_flight != 0 || after.is_some_and(|tag| !self.copies_safe(tag, finished));
            self.releasing.pop_front();
            if busy {
                self.releasing.push_back((id, after));
                continue;
            }
            self.clear_failed(id);
            self.drop_slots(id, m);
            let s = self.segment_mut(id);
            s.failed_pages.clear();
            debug_assert!(
                s.state == SegmentState::Releasing && s.live_bytes == 0 && s.in_flight == 0,
                "only what nobody needs is erased: {s:?}"
            );
            m.erase(id);
        }
    }

    fn drop_slots<M: SegmentStore>(&mut self, id: SegmentId, m: &mut M) {
        for slot in self.segment_mut(id).take_slots() {
            m.page_buffer_mut().release(slot);
        }
    }

    /// Takes note of a finished I/O of this log. Returns whether a program failed (its segment is then to be
    /// evacuated; its slot keeps the bytes readable until the segment is erased).
    pub fn completed<M: SegmentStore>(&mut self, done: &Completion, m: &mut M) -> bool {
        match done.io {
            Io::Program { at, slot } => {
                let id = self.geometry.segment_of(at);
                let index = self.geometry.index_of(at);
                debug_assert_eq!(
                    self.segment(id).slot(index),
                    Some(slot),
                    "the slot is kept until its program ends"
                );
                debug_assert_eq!(
                    m.page_buffer().state(slot),
                    SlotState::Sealed,
                    "only sealed slots are programmed"
                );
                assert!(self.segment(id).in_flight > 0, "more programs of a segment ended than began");
                self.segment_mut(id).in_flight -= 1;
                if done.result.is_ok() {
                    m.page_buffer_mut().release(slot);
                    self.segment_mut(id).clear_slot(index);
                    return false;
                }
                self.stats.programs_failed += 1;
                self.page_failed(id, index, done.tag, m);
                true
            }
            Io::Erase(id) => {
                debug_assert_eq!(
                    self.segment(id).state,
                    SegmentState::Releasing,
                    "a released segment is erased"
                );
                *self.segment_mut(id) = Segment::default();
                self.held -= 1;
                self.stats.segments_erased += u64::from(done.result.is_ok());
                false
            }
            Io::Sync => false,
        }
    }
}
