// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Landing records as the packing policy has it: at the end of the value log, behind a gap, or in a gap.
//!
//! A gap and the record behind it are appended as one, so recovery has both or neither. Pages from the oldest open gap on stay
//! in the page buffer. A record that fills a gap counts when the gap's word says so; what a sync has vouched for is not written into
//! any more, and before a manifest's cut every gap is given up, so that nothing younger lies before it.

use super::Store;
use super::inside::Inside;
use super::structure::Structure;
use saker_log::{LogAddr, Writer};
use saker_segment_store::{SegmentStore, Stream};
use saker_value_log::gap::{GAP_WORD_BYTES, Gap};
use saker_value_log::packing::{Arriving, DltEntry, End, Gaps, OpenGap, Packing, Placement, dma_unit};
use saker_value_log::record::{HEADER_BYTES, record_bytes};

/// Part of the page buffer that pages with open gaps may take: others need the rest.
const HELD_PART: u64 = 4;
/// Part of the capacity that must be free for values to land.
const SPARE_PART: u64 = 16;

/// What packing came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackingStats {
    /// Bytes of values and groups that a core copied into the value log.
    pub memcpy_bytes: u64,
    /// Bytes of gaps that nothing fills.
    pub gap_bytes: u64,
    /// Values that stayed where DMA put them.
    pub landed_values: u64,
    /// Records in gaps.
    pub backfilled_values: u64,
}

/// Gaps that can still be filled, and counters.
#[derive(Clone, Debug)]
pub struct Landing {
    gaps: Gaps,
    /// Bytes by which records and gaps have lengthened the log.
    appended_bytes: u64,
    /// Bytes of values that were not copied because they landed.
    spared_bytes: u64,
    pub(crate) stats: PackingStats,
}

impl Landing {
    /// Nothing has landed. The page buffer has so many NAND pages of that length.
    pub(super) fn new(page_bytes: u32, buffer_pages: usize) -> Self {
        let gaps = Gaps::new(page_bytes, buffer_pages);
        Self { gaps, appended_bytes: 0, spared_bytes: 0, stats: PackingStats::default() }
    }

    /// Bytes of what it keeps in the device's memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.gaps.table_bytes()
    }
}

/// Where a record will be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Its bytes.
    pub bytes: u32,
    /// Zeros between key and value.
    pub pad_bytes: u8,
    /// Bytes of the value that a core copies.
    pub copied: u32,
    /// Bytes of it that a core would copy elsewhere.
    spared: u32,
    place: Planned,
}

#[derive(Clone, Copy, Debug)]
enum Planned {
    /// In the open gap of that number. Those before it are given up.
    Inside(usize),
    /// At the end, behind a gap of so many bytes.
    End(AtEnd),
}

#[derive(Clone, Copy, Debug, Default)]
struct AtEnd {
    gap: u32,
    /// Bytes of the record before its value, if the gap can be filled.
    open_before: Option<u32>,
    is_landed: bool,
    /// No open gap had room.
    spent: bool,
}

impl Plan {
    /// Bytes to append: a gap counts, a record in one does not.
    pub fn appended(&self) -> Option<u32> {
        match self.place {
            Planned::Inside(_) => None,
            Planned::End(end) => Some(end.gap + self.bytes),
        }
    }
}

/// Room that was taken.
#[derive(Debug)]
pub(super) struct Room {
    pub writer: Writer,
    /// Where in the writer's room the record begins.
    pub from: u32,
    /// What is written there has this stamp.
    pub stamp: u64,
    plan: Plan,
}

impl Room {
    /// Where the record is.
    pub fn position(&self) -> u64 {
        self.writer.log_addr().0 + u64::from(self.from)
    }

    /// Behind the record.
    fn end(&self) -> u64 {
        self.position() + u64::from(self.plan.bytes)
    }

    /// The gap before the record, and the value that landed behind `head_bytes` of it.
    fn opened(&self, place: &AtEnd, head_bytes: u32) -> (OpenGap, DltEntry) {
        let gap = OpenGap { at: self.writer.log_addr().0, gap: Gap::new(place.gap) };
        let at = self.position() + u64::from(head_bytes);
        (gap, DltEntry { at, bytes: (self.end() - at) as u32 })
    }
}

/// What comes with a record's value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub key_bytes: u32,
    pub value_bytes: u32,
    /// Bytes of it that came in commands.
    pub held: u32,
}

impl Incoming {
    fn arriving(&self) -> Arriving {
        let head_bytes = HEADER_BYTES + self.key_bytes.next_multiple_of(8);
        Arriving { bytes: self.value_bytes, head_bytes, by_dma: self.held < self.value_bytes }
    }

    fn packed_bytes(&self) -> u32 {
        record_bytes(self.key_bytes, self.value_bytes)
    }

    fn landed_bytes(&self) -> u32 {
        record_bytes(self.key_bytes.next_multiple_of(8), self.value_bytes)
    }
}

impl<S: Structure> Store<S> {
    /// Finds a place for a record. Changes nothing but what is known of gaps.
    pub(super) fn plan_record<M: SegmentStore>(&mut self, record: Incoming, m: &M) -> Plan {
        let (bytes, copied) = (record.packed_bytes(), record.held);
        let end = |spent| Planned::End(AtEnd { spent, ..AtEnd::default() });
        let packed = Plan { bytes, pad_bytes: 0, copied, spared: 0, place: end(false) };
        let Some(packing) = self.settings.packing else { return packed };
        self.forget_closed_gaps();
        let arriving = record.arriving();
        if packing.fills_gaps() && !arriving.by_dma && !self.landing.gaps.is_empty() {
            let place = self.gap_for(bytes, m).map_or(end(true), Planned::Inside);
            return Plan { place, ..packed };
        }
        self.plan_end(packing, &record, &arriving, packed, m)
    }

    fn plan_end<M: SegmentStore>(
        &self,
        packing: Packing,
        record: &Incoming,
        arriving: &Arriving,
        packed: Plan,
        m: &M,
    ) -> Plan {
        let here = self.log.end(Stream::User, 0).map_or(0, |log_addr| log_addr.0);
        let landed = |at, is_new| self.landed(packing, record, arriving, (at, is_new), m);
        let fits = |plan: &Plan| {
            let bytes = plan.appended().unwrap_or(0);
            self.log.end(Stream::User, bytes).is_some()
        };
        let fits_anew =
            |plan: &Plan| u64::from(plan.appended().unwrap_or(0)) <= self.log.geometry().segment_bytes();
        let lands = || {
            let plan = landed(here, false)?;
            if fits(&plan) { Some(plan) } else { landed(0, true).filter(fits_anew) }
        };
        let plan = if self.is_nearly_full(record.landed_bytes(), m) { None } else { lands() };
        plan.unwrap_or_else(|| {
            let at = self.log.end(Stream::User, packed.bytes).map_or(0, |log_addr| log_addr.0);
            let value_at = at + u64::from(HEADER_BYTES + record.key_bytes);
            let is_there =
                arriving.by_dma && value_at.is_multiple_of(dma_unit(self.log.geometry().page_bytes));
            Plan { copied: if is_there { record.held } else { record.value_bytes }, ..packed }
        })
    }

    /// Whether gaps would cost collections that gain little.
    fn is_nearly_full<M: SegmentStore>(&self, bytes: u32, m: &M) -> bool {
        let capacity = S::capacity_for(self, &self.content_with(1, Inside::NONE, bytes), m);
        self.content_bytes() + u64::from(bytes) + capacity / SPARE_PART > capacity
    }

    /// Bytes of a value that a core copies, if so many are no engine's work.
    pub(super) fn copied_by_core(&self, plan: &Plan, by_core: u32) -> u32 {
        if self.settings.packing.is_some() { plan.copied.max(by_core) } else { by_core }
    }

    /// The plan of a value that lands behind `at`, if the policy has it so. `is_new`: a segment begins there.
    fn landed<M: SegmentStore>(
        &self,
        packing: Packing,
        record: &Incoming,
        arriving: &Arriving,
        (at, is_new): (u64, bool),
        m: &M,
    ) -> Option<Plan> {
        let end = self.end_at(at, is_new, m);
        let Placement::Landed { value_at, stays_open } = packing.place(arriving, &end) else { return None };
        let gap = end.gap(arriving, value_at) as u32;
        let ends_at = value_at + u64::from(arriving.bytes);
        let can_fill = self.log.geometry().oob_bytes.is_multiple_of(8) && ends_at <= self.buffer_end(at, m);
        let stays_open =
            stays_open && can_fill && gap > GAP_WORD_BYTES && self.landing.gaps.reaches(value_at);
        let open_before = stays_open.then_some(arriving.head_bytes);
        let place = Planned::End(AtEnd { gap, open_before, is_landed: true, spent: false });
        let pad_bytes = (record.key_bytes.next_multiple_of(8) - record.key_bytes) as u8;
        let spared = record.value_bytes - record.held;
        Some(Plan { bytes: record.landed_bytes(), pad_bytes, copied: record.held, spared, place })
    }

    fn end_at<M: SegmentStore>(&self, at: u64, is_new: bool, m: &M) -> End {
        let gaps = &self.landing.gaps;
        let oldest = gaps.first().filter(|_| !is_new).map_or(at, |gap| gap.at);
        let open = if is_new { 0 } else { gaps.open_bytes() };
        End {
            at,
            page_bytes: self.log.geometry().page_bytes,
            open_bytes: open,
            appended_bytes: self.landing.appended_bytes,
            gap_bytes: self.landing.stats.gap_bytes,
            buffer_end: self.buffer_end(oldest, m),
            spared_bytes: self.landing.spared_bytes,
            program_price: self.settings.program_price,
            is_behind: self.is_behind(m),
        }
    }

    /// Whether half of the page buffer or more is on its way to the flash. Pages that wait to be filled are not.
    fn is_behind<M: SegmentStore>(&self, m: &M) -> bool {
        let slots = u64::from(m.page_buffer().slots());
        let taken = slots - m.page_buffer().free_slots() as u64;
        2 * taken.saturating_sub(self.log.pages_held(Stream::User)) >= slots
    }

    /// How far the log may go if pages from that of `at` on stay.
    fn buffer_end<M: SegmentStore>(&self, at: u64, m: &M) -> u64 {
        let page_bytes = u64::from(self.log.geometry().page_bytes);
        (at / page_bytes + (u64::from(m.page_buffer().slots()) / HELD_PART).max(1)) * page_bytes
    }

    /// The first open gap that has room.
    fn gap_for<M: SegmentStore>(&self, bytes: u32, m: &M) -> Option<usize> {
        let inside = |g: &OpenGap| self.log.is_inside(m, g.word(), (LogAddr(g.next()), bytes));
        self.landing.gaps.all(&self.log, m).position(|g| bytes <= g.left() && inside(&g))
    }

    /// Gaps whose pages do not stay any more: the stream was sealed.
    fn forget_closed_gaps(&mut self) {
        let log = &self.log;
        if self.landing.gaps.first().is_some_and(|g| !log.is_held(Stream::User, g.page(log))) {
            self.landing.gaps.clear();
        }
    }

    /// Takes the room of a plan.
    pub(super) fn take_room<M: SegmentStore>(&mut self, plan: Plan, m: &mut M) -> Room {
        match plan.place {
            Planned::Inside(n) => {
                self.give_up_gaps(n, m);
                let gap = self.landing.gaps.first().expect("planned in it");
                let at = (LogAddr(gap.next()), plan.bytes);
                let writer = self.log.inside(m, Stream::User, gap.word(), at).expect("looked at");
                Room { writer, from: 0, stamp: self.log.next_sequence() - 1, plan }
            }
            Planned::End(AtEnd { gap, spent, .. }) => {
                if spent {
                    self.close_gaps(m);
                }
                let (writer, stamp) = self.begin(Stream::User, (gap, plan.bytes), m);
                if gap > 0 {
                    self.write_gap(&writer, gap, m);
                }
                Room { writer, from: gap, stamp, plan }
            }
        }
    }

    /// Writes a gap that nothing fills: nothing of an earlier page leaves the slot.
    fn write_gap<M: SegmentStore>(&self, writer: &Writer, bytes: u32, m: &mut M) {
        let mut at = 0;
        while at < bytes {
            let chunk = self.log.chunk_mut(m, writer, at);
            let n = chunk.len().min((bytes - at) as usize);
            chunk[..n].fill(0);
            at += n as u32;
        }
        let word = Gap::new(bytes).encode(writer.log_addr().0);
        self.log.put(m, writer, 0, &word.to_le_bytes());
    }

    /// Makes a record count that is written.
    pub(super) fn commit_record<M: SegmentStore>(&mut self, room: Room, m: &mut M) {
        self.landing.stats.memcpy_bytes += u64::from(room.plan.copied);
        self.landing.spared_bytes += u64::from(room.plan.spared);
        match room.plan.place {
            Planned::Inside(_) => self.fill_gap(room.writer, room.plan.bytes, m),
            Planned::End(place) => {
                self.landing.stats.gap_bytes += u64::from(place.gap);
                self.landing.appended_bytes += u64::from(place.gap + room.plan.bytes);
                self.landing.stats.landed_values += u64::from(place.is_landed);
                let opened = place.open_before.map(|head| room.opened(&place, head));
                self.hold_to_buffer(opened, room.end(), m);
                self.log.commit(m, room.writer);
            }
        }
    }

    /// Gives the room of a record back: nothing happened.
    pub(super) fn abandon_record<M: SegmentStore>(&mut self, room: Room, m: &mut M) {
        match room.plan.appended() {
            Some(_) => self.log.abandon(m, room.writer),
            None => self.log.leave_inside(room.writer),
        }
    }

    fn fill_gap<M: SegmentStore>(&mut self, writer: Writer, bytes: u32, m: &mut M) {
        let open = self.landing.gaps.fill(bytes);
        self.log.commit_inside(m, writer, open.word(), open.gap.encode(open.at));
        self.landing.stats.gap_bytes -= u64::from(bytes);
        self.landing.stats.backfilled_values += 1;
    }

    /// The log goes on to `end`, maybe behind a gap that can be filled. The oldest gaps are given up if the buffer cannot hold
    /// all.
    fn hold_to_buffer<M: SegmentStore>(&mut self, opened: Option<(OpenGap, DltEntry)>, end: u64, m: &mut M) {
        self.forget_closed_gaps();
        let gaps = &self.landing.gaps;
        if opened.is_none() && gaps.is_empty() {
            return;
        }
        let over = gaps.all(&self.log, m).take_while(|g| self.buffer_end(g.at, m) < end).count();
        let full = usize::from(opened.is_some() && gaps.is_full());
        self.landing.gaps.jump(over.max(full), &self.log, m);
        if let Some((gap, landed)) = opened {
            self.landing.gaps.push(gap, landed);
        }
        self.hold_pages(m);
    }

    fn give_up_gaps<M: SegmentStore>(&mut self, count: usize, m: &mut M) {
        if count > 0 {
            self.landing.gaps.jump(count, &self.log, m);
            self.hold_pages(m);
        }
    }

    fn hold_pages<M: SegmentStore>(&mut self, m: &mut M) {
        let first = self.landing.gaps.first().map(|gap| gap.page(&self.log));
        self.log.hold_from(Stream::User, first, m);
    }

    /// Gives up every gap: the pages that stayed are programmed. Whether there was any.
    pub(super) fn close_gaps<M: SegmentStore>(&mut self, m: &mut M) -> bool {
        let any = !self.landing.gaps.is_empty();
        if any {
            self.landing.gaps.clear();
            self.hold_pages(m);
        }
        any
    }

    /// What packing came to.
    pub fn packing_stats(&self) -> PackingStats {
        self.landing.stats
    }
}
