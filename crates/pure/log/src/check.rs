//! Whether what a log remembers agrees with itself, with the page buffer and with the medium.
//!
//! It is for between two calls: a call that appends has committed or abandoned by then. Nothing is read from the medium.

use crate::log::Append;
use crate::{Log, Segment, SegmentState};
use saker_segment_store::{SegmentId, SegmentStore, SlotId, SlotState, Stream};
use std::collections::BTreeSet;

/// Slots that a segment holds, by what they are doing.
#[derive(Clone, Copy, Debug, Default)]
struct Held {
    open: u64,
    sealed: u64,
}

impl Log {
    /// Says what contradicts itself, if anything does. Looks once at each segment and slot of this log.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        m.page_buffer().check()?;
        self.check_sums()?;
        self.check_lists()?;
        for stream in Stream::ALL {
            self.check_append(m, stream).map_err(|e| format!("the append point of {stream:?}: {e}"))?;
        }
        let mut seen = BTreeSet::new();
        for (id, segment) in self.numbered() {
            self.check_segment(m, id, segment, &mut seen).map_err(|e| format!("segment {}: {e}", id.0))?;
        }
        // The medium may have erased segments that this log has not been told of.
        let erasing = self.segments.iter().filter(|s| s.state == SegmentState::Releasing).count();
        let held = self.held - (erasing - self.releasing()) as u32;
        let (free, quota) = (m.free_segments(), m.quota_segments());
        ensure(free == 0 || free + held <= quota, || {
            format!("{free} segments are free and {held} held, of {quota}")
        })
    }

    fn numbered(&self) -> impl Iterator<Item = (SegmentId, &Segment)> {
        self.segments.iter().enumerate().map(|(n, s)| (SegmentId(n as u32), s))
    }

    fn check_sums(&self) -> Result<(), String> {
        let held = self.segments.iter().filter(|s| s.state != SegmentState::Absent).count();
        ensure(held == self.held as usize, || format!("{held} segments are held, noted: {}", self.held))?;
        let live: u64 = self.segments.iter().map(|s| s.live_bytes).sum();
        ensure(live == self.live_bytes, || format!("{live} bytes live, noted: {}", self.live_bytes))?;
        let failed = self.segments.iter().filter(|s| s.failed.is_some()).count();
        let noted = self.failed_segments;
        ensure(failed == noted as usize, || format!("{failed} segments have failed pages, noted: {noted}"))
    }

    /// What waits refers to what there is.
    fn check_lists(&self) -> Result<(), String> {
        let mut waiting = BTreeSet::new();
        for id in self.ids_releasing() {
            let is_new = waiting.insert(id);
            let state = self.segment(id).state;
            let sound = is_new && state == SegmentState::Releasing;
            ensure(sound, || format!("segment {} waits for its erase and is {state:?}", id.0))?;
        }
        for id in self.ids_repaired() {
            let s = self.segment(id);
            let is_new = waiting.insert(id);
            let sound = is_new && s.failed.is_some() && !s.evacuate && is_used(s);
            ensure(sound, || format!("segment {} was repaired and is {s:?}", id.0))?;
        }
        let repaired: BTreeSet<_> = self.ids_repaired().collect();
        let stray = self.ids_pinned().find(|id| !repaired.contains(id));
        ensure(stray.is_none(), || format!("slots of {stray:?} are kept for a repair that there is not"))
    }

    fn check_append(&self, m: &dyn SegmentStore, stream: Stream) -> Result<(), String> {
        let append = &self.streams[stream as usize];
        let Some(id) = append.segment else {
            let is_empty = append.open.is_none() && append.offset == 0 && append.held.is_none();
            return ensure(is_empty, || format!("it has no segment and is {append:?}"));
        };
        let s = self.segment(id);
        let is_open = s.state == SegmentState::Open && s.stream == stream as u8;
        ensure(is_open, || format!("it is in segment {}, which is {:?} of {:?}", id.0, s.state, s.stream()))?;
        self.check_held(append, id, s)?;
        let Some((slot, page)) = append.open else {
            return ensure(append.offset == 0, || format!("no page is open and it is at {}", append.offset));
        };
        let index = self.geometry.index_of(page);
        let is_last = self.geometry.segment_of(page) == id && index + 1 == s.next_page;
        ensure(is_last && s.slot(index) == Some(slot), || {
            format!("{page:?} is not the segment's open page")
        })?;
        let published = m.page_buffer().published(slot);
        let sound = published == Some(append.offset)
            && append.offset < self.geometry.page_bytes
            && m.page_buffer().state(slot) == SlotState::Open;
        ensure(sound, || format!("it is at {}, and of {slot:?} counts {published:?}", append.offset))
    }

    /// Full pages that stay are those from the first to the open one.
    fn check_held(&self, append: &Append, id: SegmentId, s: &Segment) -> Result<(), String> {
        let Some(first) = append.held else { return Ok(()) };
        let index = self.geometry.index_of(first);
        let stays = self.geometry.segment_of(first) == id
            && index < s.next_page
            && (index..s.next_page).all(|n| s.slot(n).is_some());
        ensure(stays, || format!("pages from {first:?} on should be in the page buffer"))
    }

    fn check_segment(
        &self,
        m: &dyn SegmentStore,
        id: SegmentId,
        s: &Segment,
        seen: &mut BTreeSet<SlotId>,
    ) -> Result<(), String> {
        let appending = self.streams.iter().filter(|a| a.segment == Some(id)).count();
        let expected = usize::from(s.state == SegmentState::Open);
        ensure(appending == expected, || format!("it is {:?}, {appending} streams append to it", s.state))?;
        let until: u64 = s.until_checkpoint.iter().sum();
        ensure(until <= s.live_bytes, || format!("{until} of {} bytes wait for a checkpoint", s.live_bytes))?;
        ensure(s.next_page <= self.geometry.segment_pages, || format!("its next page is {}", s.next_page))?;
        let held = self.check_slots(m, id, s, seen)?;
        match s.state {
            SegmentState::Absent => {
                let is_blank = s.live_bytes == 0 && s.next_page == 0 && s.in_flight == 0 && held.open == 0;
                ensure(is_blank, || format!("it is nobody's and is {s:?}"))
            }
            SegmentState::Damaged => Ok(()),
            _ => self.check_programs(id, s, held),
        }
    }

    /// Sealed slots are being programmed or have failed, and open ones are those of the append point.
    fn check_programs(&self, id: SegmentId, s: &Segment, held: Held) -> Result<(), String> {
        let failed = s.failed_pages.len() as u64;
        let sealed = u64::from(s.in_flight) + failed;
        ensure(held.sealed == sealed, || {
            format!("{} slots are sealed, {} being programmed, {failed} failed", held.sealed, s.in_flight)
        })?;
        let appends = self.streams.iter().zip(Stream::ALL).find(|(append, _)| append.segment == Some(id));
        let open =
            appends.map_or(0, |(append, stream)| u64::from(append.open.is_some()) + self.pages_held(stream));
        ensure(held.open == open, || format!("{} slots are open, the append point has {open}", held.open))
    }

    /// Each slot is for the page that it is noted for, and for no other.
    fn check_slots(
        &self,
        m: &dyn SegmentStore,
        id: SegmentId,
        s: &Segment,
        seen: &mut BTreeSet<SlotId>,
    ) -> Result<Held, String> {
        let mut held = Held::default();
        for (index, slot) in (0..self.geometry.segment_pages).filter_map(|n| Some((n, s.slot(n)?))) {
            ensure(seen.insert(slot), || format!("{slot:?} is for several pages"))?;
            let view = m.page_buffer().view(slot).map_err(|e| e.to_string())?;
            let page = self.geometry.page(id, index);
            let is_its = view.is_some_and(|v| {
                (v.addr, v.owner, v.stream as u8) == (page, self.owner, s.stream)
                    && v.sequence < self.next_sequence
            });
            ensure(is_its && index < s.next_page, || format!("page {index} is in {slot:?}: {view:?}"))?;
            match m.page_buffer().state(slot) {
                SlotState::Open => held.open += 1,
                SlotState::Sealed => held.sealed += 1,
                SlotState::Free => {}
            }
        }
        Ok(held)
    }
}

/// Whether records of a segment can be read and copied.
fn is_used(s: &Segment) -> bool {
    matches!(s.state, SegmentState::Open | SegmentState::Closed)
}

/// What is wrong, unless it is as it should be.
///
/// # Errors
/// `wrong` if not `right`.
pub fn ensure(right: bool, wrong: impl FnOnce() -> String) -> Result<(), String> {
    if right { Ok(()) } else { Err(wrong()) }
}

/// Bytes that live by what their owner finds in its index, by segment: to be compared with what the log counts.
#[derive(Clone, Debug)]
pub struct LiveBytes<'a> {
    log: &'a Log,
    found: Vec<u64>,
}

impl<'a> LiveBytes<'a> {
    /// Nothing has been found yet but what waits for a checkpoint.
    pub fn new(log: &'a Log) -> Self {
        let found = log.segments.iter().map(|s| s.until_checkpoint.iter().sum()).collect();
        Self { log, found }
    }

    /// Something takes `bytes` bytes from a position of the log on, and counts for `counted`.
    ///
    /// # Errors
    /// When nothing can be there.
    pub fn add(&mut self, position: u64, bytes: u64, counted: u64) -> Result<(), String> {
        let segment_bytes = self.log.geometry.segment_bytes();
        let n = position / segment_bytes;
        let id = SegmentId(u32::try_from(n).unwrap_or(u32::MAX));
        let s = self.log.find_segment(id).ok_or_else(|| format!("there is no segment {n}"))?;
        let is_held = is_used(s) || s.state == SegmentState::Damaged;
        ensure(is_held, || format!("position {position} is in segment {n}, which is {:?}", s.state))?;
        let end = position % segment_bytes + bytes;
        let written = self.log.written_bytes(id);
        ensure(end <= written, || {
            format!("{bytes} bytes at {position} end behind the {written} that segment {n} holds")
        })?;
        self.found[n as usize] += counted;
        Ok(())
    }

    /// So many bytes of a segment are referred to.
    pub fn refer(&mut self, id: SegmentId, bytes: u64) {
        self.found[id.0 as usize] += bytes;
    }

    /// What lives in a segment cannot be told from memory: what the log counts is taken for right.
    pub fn trust(&mut self, id: SegmentId) {
        self.found[id.0 as usize] = self.log.segment(id).live_bytes;
    }

    /// Bytes of a segment up to where the next record goes.
    pub fn written(&self, id: SegmentId) -> u64 {
        self.log.written_bytes(id)
    }

    /// Compares it with what the log counts.
    ///
    /// # Errors
    /// The first segment in which they differ.
    pub fn compare(self) -> Result<(), String> {
        for ((id, s), found) in self.log.numbered().zip(self.found) {
            ensure(s.live_bytes == found, || {
                format!("{found} bytes live in segment {} ({:?}), noted: {}", id.0, s.stream(), s.live_bytes)
            })?;
        }
        Ok(())
    }
}

impl Log {
    /// Bytes of a segment up to where the next record goes.
    fn written_bytes(&self, id: SegmentId) -> u64 {
        let s = self.segment(id);
        let stream = s.stream();
        if self.streams[stream as usize].segment == Some(id) {
            return self.position(stream, id);
        }
        u64::from(s.next_page) * u64::from(self.geometry.page_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reserve;
    use saker_segment_store::{Geometry, Page, PageBuffer, PowerHistory, SegmentView, Tag};

    const GEOMETRY: Geometry = Geometry { page_bytes: 512, oob_bytes: 64, segment_pages: 4, segments: 6 };

    /// A medium whose programs never end.
    struct Slow {
        page_buffer: PageBuffer,
        next: u32,
        tag: Tag,
    }

    impl SegmentStore for Slow {
        fn geometry(&self) -> Geometry {
            GEOMETRY
        }
        fn page_buffer(&self) -> &PageBuffer {
            &self.page_buffer
        }
        fn page_buffer_mut(&mut self) -> &mut PageBuffer {
            &mut self.page_buffer
        }
        fn page(&self, _: saker_segment_store::PageAddr) -> Page<'_> {
            Page::Erased
        }
        fn allocate(&mut self) -> Option<SegmentId> {
            self.next += 1;
            Some(SegmentId(self.next - 1))
        }
        fn epoch(&self, _: SegmentId) -> u32 {
            0
        }
        fn free_segments(&self) -> u32 {
            GEOMETRY.segments - self.next
        }
        fn quota_segments(&self) -> u32 {
            GEOMETRY.segments
        }
        fn program(&mut self, _: saker_segment_store::PageAddr, _: SlotId) -> Tag {
            self.tag.0 += 1;
            self.tag
        }
        fn erase(&mut self, _: SegmentId) -> Tag {
            self.tag
        }
        fn sync(&mut self) -> Tag {
            self.tag
        }
        fn last_tag(&self) -> Tag {
            self.tag
        }
        fn survey(&self) -> Vec<SegmentView> {
            Vec::new()
        }
        fn history(&self) -> PowerHistory {
            PowerHistory::Clean
        }
    }

    /// A log with two segments, an open page in each, and pages that are being programmed.
    fn used() -> (Log, Slow) {
        let mut m = Slow {
            page_buffer: PageBuffer::heap(16, GEOMETRY.page_bytes, GEOMETRY.oob_bytes),
            next: 0,
            tag: Tag(0),
        };
        let mut log = Log::new(1, GEOMETRY, true);
        for (stream, bytes) in [(Stream::User, 800), (Stream::Gc, 200), (Stream::User, 400)] {
            assert_eq!(log.room(&m, stream, bytes, Reserve::default()), Ok(()));
            let writer = log.begin(&mut m, stream, bytes);
            let id = log.geometry.segment_of(saker_segment_store::PageAddr(writer.log_addr().0 / 512));
            log.commit(&mut m, writer);
            log.add_live(id, u64::from(bytes));
        }
        (log, m)
    }

    type Fault = (&'static str, fn(&mut Log));

    #[test]
    fn every_planted_fault_is_found() {
        let (log, m) = used();
        assert_eq!(log.check(&m), Ok(()));
        let faults: [Fault; 13] = [
            ("segments held", |log| log.held += 1),
            ("live bytes", |log| log.live_bytes -= 1),
            ("live bytes of a segment", |log| log.segments[0].live_bytes += 1),
            ("failed segments", |log| log.failed_segments = 1),
            ("programs on their way", |log| log.segments[0].in_flight -= 1),
            ("the state of a segment", |log| log.segments[0].state = SegmentState::Closed),
            ("the stream of a segment", |log| log.segments[0].stream = Stream::Map as u8),
            ("the append point", |log| log.streams[Stream::User as usize].offset += 8),
            ("the open page", |log| log.streams[Stream::User as usize].open = None),
            ("two pages in one slot", |log| {
                let slot = log.segments[0].slot(0).expect("a slot");
                log.segments[1].set_slot(0, slot, 4);
            }),
            ("a slot that was forgotten", |log| log.segments[0].clear_slot(0)),
            ("the next page's number", |log| log.next_sequence = 1),
            ("more waits for a checkpoint than lives", |log| log.segments[0].until_checkpoint[0] = 1 << 20),
        ];
        for (what, fault) in faults {
            let mut bad = log.clone();
            fault(&mut bad);
            println!("{what}: {}", bad.check(&m).expect_err(what));
        }
    }

    #[test]
    fn what_lives_by_the_index_is_compared_by_segment() {
        let (log, _) = used();
        let count = |all: &[(u64, u64)]| {
            let mut live = LiveBytes::new(&log);
            all.iter().try_for_each(|(at, bytes)| live.add(*at, *bytes, *bytes))?;
            live.compare()
        };
        let segment = GEOMETRY.segment_bytes();
        assert_eq!(count(&[(0, 800), (800, 400), (segment, 200)]), Ok(()));
        assert!(count(&[(0, 800), (segment, 200)]).is_err(), "one is missing");
        assert!(count(&[(0, 800), (900, 400), (segment, 200)]).is_err(), "behind the end");
        assert!(count(&[(2 * segment, 8)]).is_err() && count(&[(99 * segment, 8)]).is_err(), "nobody's");
    }
}
