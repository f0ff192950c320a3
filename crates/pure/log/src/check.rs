// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a log remembers agrees with itself, with the page buffer and with the medium.
//!
//! It is for between two calls: a call that appends has committed or abandoned by then. Nothing is read from the medium.

mod live;

pub use live::LiveBytes;

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
            let sound = is_new && s.failed.is_some() && !s.evacuate && s.can_be_repaired();
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
        // Damage that is found in a segment that still fills does not end the filling.
        let is_filling = matches!(s.state, SegmentState::Open | SegmentState::Damaged);
        let is_open = is_filling && s.stream == stream as u8;
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
        let expected = match s.state {
            SegmentState::Open => 1..=1,
            SegmentState::Damaged => 0..=1,
            _ => 0..=0,
        };
        ensure(expected.contains(&appending), || {
            format!("it is {:?}, {appending} streams append to it", s.state)
        })?;
        let until: u64 = s.until_checkpoint.iter().sum();
        ensure(until <= s.live_bytes, || format!("{until} of {} bytes wait for a checkpoint", s.live_bytes))?;
        ensure(s.next_page <= self.geometry.segment_pages, || format!("its next page is {}", s.next_page))?;
        let held = self.check_slots(m, id, s, seen)?;
        match s.state {
            SegmentState::Absent => {
                let is_blank = s.live_bytes == 0 && s.next_page == 0 && s.in_flight == 0 && held.open == 0;
                ensure(is_blank, || format!("it is nobody's and is {s:?}"))
            }
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
mod tests;
