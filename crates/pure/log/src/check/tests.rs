// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;
use crate::Reserve;
use saker_segment_store::{
    CellError, Completion, Geometry, Io, Order, Page, PageBuffer, PowerHistory, SegmentView, Tag,
};

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
    fn program(&mut self, _: saker_segment_store::PageAddr, _: SlotId, _: Order) -> Tag {
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
    used_with(true)
}

/// The same; `ring_lasts`: whether the page buffer survives a cut.
fn used_with(ring_lasts: bool) -> (Log, Slow) {
    let mut m = Slow {
        page_buffer: PageBuffer::heap(16, GEOMETRY.page_bytes, GEOMETRY.oob_bytes),
        next: 0,
        tag: Tag(0),
    };
    let mut log = Log::new(1, GEOMETRY, ring_lasts);
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
        assert!(bad.check(&m).is_err(), "{what}");
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

/// What was on a page whose program failed is in a page buffer that can be lost. That something else in its segment cannot be read changes nothing.
#[test]
fn a_page_that_fails_in_a_damaged_segment_is_repaired_before_anything_is_safe() {
    let (mut log, mut m) = used_with(false);
    let id = SegmentId(0);
    let ended = |log: &mut Log, m: &mut Slow, index, tag, result| {
        let slot = log.segment(id).slot(index).expect("it is in the page buffer");
        log.completed(
            &Completion { tag: Tag(tag), io: Io::Program { at: GEOMETRY.page(id, index), slot }, result },
            m,
        )
    };
    log.set_damaged(id);
    assert!(ended(&mut log, &mut m, 0, 1, Err(CellError::Program)));
    assert_eq!(log.check(&m), Ok(()));
    assert!(!log.is_safe(Tag(1), Tag(1)), "it is nowhere else");
    assert_eq!(log.victim(), Some(id), "it waits for its repair");

    log.close_segment(Stream::User, &mut m);
    assert_eq!((log.segment(id).state, log.check(&m)), (SegmentState::Damaged, Ok(())), "it stays damaged");

    log.end_repair(id, &mut m);
    let last = m.last_tag();
    assert!(!log.is_safe(Tag(1), Tag(1)) && log.is_safe(Tag(1), last), "the copies are on the medium");
    // Damage that is found now is no reason to forget what waits.
    log.set_damaged(id);
    log.pump(last, &mut m);
    assert!(!log.has_failures() && log.segment(id).slot(0).is_none(), "the slot is given back");
    assert_eq!((log.segment(id).state, log.check(&m)), (SegmentState::Damaged, Ok(())));
}

#[test]
fn a_repair_that_meets_damage_begins_again_twice() {
    let (mut log, mut m) = used_with(false);
    let id = SegmentId(0);
    let slot = log.segment(id).slot(0).expect("it is in the page buffer");
    let io = Io::Program { at: GEOMETRY.page(id, 0), slot };
    log.completed(&Completion { tag: Tag(1), io, result: Err(CellError::Program) }, &mut m);
    for _ in 0..2 {
        log.break_off_repair(id);
        assert_eq!((log.segment(id).state, log.victim()), (SegmentState::Open, Some(id)));
    }
    log.break_off_repair(id);
    assert_eq!((log.segment(id).state, log.victim()), (SegmentState::Damaged, None));
    assert!(!log.is_safe(Tag(1), m.last_tag()) && log.segment(id).slot(0) == Some(slot), "it stays");
    assert_eq!(log.check(&m), Ok(()));
}
