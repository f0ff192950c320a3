// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Appending: find room, land bytes in slots, publish, program full pages.
//!
//! A record is contiguous in its segment and may cross pages, never segments. Its bytes are written into the
//! slots of all its pages first; then the pages are published from the last to the first, so that a
//! record either counts wholly or not at all.

pub use crate::reserve::Reserve;

use crate::{Log, SegmentState};
use saker_duty::Duty;
use saker_segment_store::planted::{self, Fault};
use saker_segment_store::{Order, PageAddr, PageHeader, SegmentId, SegmentStore, SlotId, Stall, Stream};

/// Where a record is: the byte address in the medium's linear space (`page * page_bytes + offset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogAddr(pub u64);

/// A record being appended: room is taken, nothing counts yet.
#[derive(Debug)]
#[must_use = "commit or abandon"]
pub struct Writer {
    pub(crate) stream: Stream,
    pub(crate) log_addr: LogAddr,
    pub(crate) bytes: u32,
    pub(crate) first: (SlotId, u32),
    /// Whether the whole record is in one page.
    pub(crate) single: bool,
    pub(crate) duty: Duty,
}

impl Writer {
    /// What became of a writer that was dropped: its room stays taken, and pages behind it are never programmed.
    pub(crate) const DUTY: &'static str = "a writer is committed or abandoned";

    /// Where the record will be.
    pub fn log_addr(&self) -> LogAddr {
        self.log_addr
    }
}

impl Log {
    /// Whether `bytes` can be appended to a stream now. Changes nothing. `reserve` slots and segments are left.
    #[inline]
    pub fn room<M: SegmentStore>(
        &self,
        m: &M,
        stream: Stream,
        bytes: u32,
        reserve: Reserve,
    ) -> Result<(), Stall> {
        let append = &self.streams[stream as usize];
        if append.open.is_some() && append.offset + bytes <= self.geometry.page_bytes {
            return Ok(());
        }
        self.room_slow(m, stream, bytes, reserve)
    }

    /// The short way of an append that fits the open page and leaves it open: where the record will be, and its bytes.
    /// [`Log::commit_short`] follows, or nothing has happened.
    #[inline]
    pub fn short<'m, M: SegmentStore>(
        &self,
        m: &'m mut M,
        stream: Stream,
        bytes: u32,
    ) -> Option<(LogAddr, &'m mut [u8])> {
        let append = &self.streams[stream as usize];
        let (slot, page) = append.open?;
        let end = append.offset + bytes;
        if end >= self.geometry.page_bytes {
            return None;
        }
        let log_addr = LogAddr(page.0 * u64::from(self.geometry.page_bytes) + u64::from(append.offset));
        Some((log_addr, &mut m.page_buffer_mut().data_mut(slot)[append.offset as usize..end as usize]))
    }

    /// Makes the record of [`Log::short`] count.
    #[inline]
    pub fn commit_short<M: SegmentStore>(&mut self, m: &mut M, stream: Stream, bytes: u32) {
        let append = &mut self.streams[stream as usize];
        debug_assert!(
            append.open.is_some_and(|(slot, _)| m.page_buffer().published(slot) == Some(append.offset)),
            "what was appended before counts"
        );
        append.offset += bytes;
        debug_assert!(append.offset < self.geometry.page_bytes, "a page that is full is sealed");
        self.stats.bytes_appended[stream as usize] += u64::from(bytes);
        if let Some((slot, _)) = append.open {
            m.page_buffer_mut().publish(slot, append.offset);
        }
    }

    fn room_slow<M: SegmentStore>(
        &self,
        m: &M,
        stream: Stream,
        bytes: u32,
        reserve: Reserve,
    ) -> Result<(), Stall> {
        let fits = self.fits_segment(stream, bytes);
        if !fits && m.free_segments() <= reserve.segments + self.held_up(stream) {
            return Err(Stall::NoSegment);
        }
        let pages = (bytes / self.geometry.page_bytes + 2) as usize;
        if m.page_buffer().free_slots() < pages + reserve.slots as usize {
            return Err(Stall::NoSlot);
        }
        Ok(())
    }

    /// Bytes left in the segment that a stream appends to.
    pub fn left_in_segment(&self, stream: Stream) -> u64 {
        let open = self.streams[stream as usize].segment;
        open.map_or(0, |id| self.geometry.segment_bytes() - self.position(stream, id))
    }

    /// Segments that copies must leave for the repair of failed pages, unless they are such a repair.
    pub fn kept_for_repairs(&self, repairs: bool) -> u32 {
        u32::from(!repairs && !self.ring_lasts && self.failed_segments > 0)
    }

    /// Segments that repairs need before new records may take one: nothing is erased until they are through.
    pub fn held_up(&self, stream: Stream) -> u32 {
        if stream == Stream::User && !self.ring_lasts { self.failed_segments } else { 0 }
    }

    /// Whether so many bytes fit in the segment that a stream appends to: no other is taken for them.
    pub fn fits_segment(&self, stream: Stream, bytes: u32) -> bool {
        let append = &self.streams[stream as usize];
        append
            .segment
            .is_some_and(|id| self.position(stream, id) + u64::from(bytes) <= self.geometry.segment_bytes())
    }

    /// The byte position of the append point within its segment.
    pub(crate) fn position(&self, stream: Stream, id: SegmentId) -> u64 {
        let append = &self.streams[stream as usize];
        let next = u64::from(self.segment(id).next_page) * u64::from(self.geometry.page_bytes);
        if append.open.is_some() { next - u64::from(self.geometry.page_bytes - append.offset) } else { next }
    }

    /// Takes room for a record. [`Log::room`] must have said yes.
    #[inline]
    pub fn begin<M: SegmentStore>(&mut self, m: &mut M, stream: Stream, bytes: u32) -> Writer {
        let append = &self.streams[stream as usize];
        if let Some((slot, page)) = append.open
            && append.offset + bytes <= self.geometry.page_bytes
        {
            let log_addr = LogAddr(page.0 * u64::from(self.geometry.page_bytes) + u64::from(append.offset));
            let duty = Duty::new(Writer::DUTY);
            return Writer { stream, log_addr, bytes, first: (slot, append.offset), single: true, duty };
        }
        self.begin_slow(m, stream, 0, bytes)
    }

    /// The same for a record behind `gap` bytes that come with it: whoever looks for the first record of a page finds this one.
    pub fn begin_behind<M: SegmentStore>(
        &mut self,
        m: &mut M,
        stream: Stream,
        gap: u32,
        bytes: u32,
    ) -> Writer {
        if gap == 0 { self.begin(m, stream, bytes) } else { self.begin_slow(m, stream, gap, gap + bytes) }
    }

    fn begin_slow<M: SegmentStore>(&mut self, m: &mut M, stream: Stream, gap: u32, bytes: u32) -> Writer {
        debug_assert_eq!(self.room(m, stream, bytes, Reserve::default()), Ok(()), "room was looked for");
        if !self.fits_segment(stream, bytes) {
            self.close_segment(stream, m);
            self.open_segment(stream, m);
        }
        let page_bytes = self.geometry.page_bytes;
        if self.streams[stream as usize].open.is_none() {
            let (slot, page) = self.open_page(stream, m, 0);
            self.streams[stream as usize].open = Some((slot, page));
            self.streams[stream as usize].offset = 0;
        }
        let append = self.streams[stream as usize];
        let (slot, page) = append.open.expect("opened above");
        let (mut before, mut rest) = (append.offset + gap, append.offset + bytes);
        while rest > page_bytes {
            rest -= page_bytes;
            let starts_before = gap == 0 || before < page_bytes;
            before = before.saturating_sub(page_bytes);
            let first_record = if starts_before { rest } else { before };
            self.open_page(stream, m, first_record.min(page_bytes));
        }
        let log_addr = LogAddr(page.0 * u64::from(page_bytes) + u64::from(append.offset));
        let single = append.offset + bytes <= page_bytes;
        Writer {
            stream,
            log_addr,
            bytes,
            first: (slot, append.offset),
            single,
            duty: Duty::new(Writer::DUTY),
        }
    }

    /// The bytes of the record from `offset` to the end of their page.
    #[inline]
    pub fn chunk_mut<'m, M: SegmentStore>(&self, m: &'m mut M, w: &Writer, offset: u32) -> &'m mut [u8] {
        let page_bytes = self.geometry.page_bytes;
        if w.single {
            let (slot, start) = w.first;
            return &mut m.page_buffer_mut().data_mut(slot)
                [(start + offset) as usize..(start + w.bytes) as usize];
        }
        let at = w.log_addr.0 + u64::from(offset);
        let page = PageAddr(at / u64::from(page_bytes));
        let start = (at % u64::from(page_bytes)) as usize;
        let end = (start + (w.bytes - offset) as usize).min(page_bytes as usize);
        let slot = self.slot_of(page).expect("the writer's pages are in the page buffer");
        &mut m.page_buffer_mut().data_mut(slot)[start..end]
    }

    /// Writes bytes of the record at `offset`.
    #[inline]
    pub fn put<M: SegmentStore>(&self, m: &mut M, w: &Writer, mut offset: u32, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let chunk = self.chunk_mut(m, w, offset);
            let n = chunk.len().min(bytes.len());
            chunk[..n].copy_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            offset += n as u32;
        }
    }

    /// Writes the owner's out-of-band bytes at `offset` for the page in which the record starts.
    pub fn put_oob<M: SegmentStore>(&self, m: &mut M, w: &Writer, offset: usize, bytes: &[u8]) {
        m.page_buffer_mut().owner_oob_mut(w.first.0)[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    /// Stores a word of the owner's out-of-band bytes, as a whole and after everything that was written before.
    pub fn store_oob_word<M: SegmentStore>(&self, m: &mut M, w: &Writer, offset: usize, word: u64) {
        m.page_buffer_mut().store_oob_word(w.first.0, offset, word);
    }

    /// The slot that holds a page, if it is in the page buffer.
    #[inline]
    pub fn slot_of(&self, page: PageAddr) -> Option<SlotId> {
        self.segment(self.geometry.segment_of(page)).slot(self.geometry.index_of(page))
    }

    /// Makes the record count and programs the pages it filled.
    #[inline]
    pub fn commit<M: SegmentStore>(&mut self, m: &mut M, w: Writer) {
        self.stats.bytes_appended[w.stream as usize] += u64::from(w.bytes);
        let page_bytes = self.geometry.page_bytes;
        let end = w.first.1 + w.bytes;
        if end < page_bytes {
            debug_assert!(
                m.page_buffer().published(w.first.0).is_some_and(|now| now <= end),
                "what counts stays"
            );
            m.page_buffer_mut().publish(w.first.0, end);
            self.streams[w.stream as usize].offset = end;
            return w.duty.done();
        }
        self.commit_slow(m, w, end);
    }

    /// The same for a record that may survive a cut only with everything that was appended before it: where the page buffer can be lost,
    /// the page in which it ends is programmed when all pages before it are there.
    pub fn commit_in_order<M: SegmentStore>(&mut self, m: &mut M, w: Writer) {
        if !self.ring_lasts && !planted::is(Fault::CommitsOvertaken) {
            let last = w.log_addr.0 + u64::from(w.bytes) - 1;
            self.ordered.insert(PageAddr(last / u64::from(self.geometry.page_bytes)));
        }
        self.commit(m, w);
    }

    fn commit_slow<M: SegmentStore>(&mut self, m: &mut M, w: Writer, end: u32) {
        let page_bytes = self.geometry.page_bytes;
        let first = PageAddr(w.log_addr.0 / u64::from(page_bytes));
        let pages = end.div_ceil(page_bytes);
        for n in (0..pages).rev() {
            let slot = self.slot_of(PageAddr(first.0 + u64::from(n))).expect("in the page buffer");
            m.page_buffer_mut().publish(slot, (end - n * page_bytes).min(page_bytes));
        }
        let full = end / page_bytes;
        for n in 0..full {
            let page = PageAddr(first.0 + u64::from(n));
            if !self.keeps(w.stream, page) {
                let slot = self.slot_of(page).expect("in the page buffer");
                self.program(w.stream, m, slot);
            }
        }
        let append = &mut self.streams[w.stream as usize];
        append.offset = end % page_bytes;
        append.open = None;
        if append.offset > 0 {
            let page = PageAddr(first.0 + u64::from(full));
            let slot = self.slot_of(page).expect("in the page buffer");
            self.streams[w.stream as usize].open = Some((slot, page));
        }
        w.duty.done();
    }

    /// Gives the room back; nothing happened.
    pub fn abandon<M: SegmentStore>(&mut self, m: &mut M, w: Writer) {
        let page_bytes = u64::from(self.geometry.page_bytes);
        let first = w.log_addr.0 / page_bytes;
        let last = (w.log_addr.0 + u64::from(w.bytes) - 1) / page_bytes;
        for page in (first + 1..=last).rev() {
            let page = PageAddr(page);
            let slot = self.slot_of(page).expect("in the page buffer");
            m.page_buffer_mut().release(slot);
            let (id, index) = (self.geometry.segment_of(page), self.geometry.index_of(page));
            let segment = self.segment_mut(id);
            segment.clear_slot(index);
            segment.next_page = index;
        }
        debug_assert_eq!(
            m.page_buffer().published(w.first.0),
            Some(self.streams[w.stream as usize].offset),
            "nothing of it counts"
        );
        w.duty.done();
    }

    /// Programs the open page of a stream as it is, padded. Nothing happens when it is empty.
    pub fn seal_stream<M: SegmentStore>(&mut self, stream: Stream, m: &mut M) {
        self.hold_from(stream, None, m);
        let append = &mut self.streams[stream as usize];
        let Some((slot, _)) = append.open else { return };
        if append.offset == 0 {
            return;
        }
        append.open = None;
        append.offset = 0;
        self.program(stream, m, slot);
    }

    pub(crate) fn program<M: SegmentStore>(&mut self, stream: Stream, m: &mut M, slot: SlotId) {
        let at = m.page_buffer_mut().seal(slot, true);
        let id = self.geometry.segment_of(at);
        self.segment_mut(id).in_flight += 1;
        self.stats.pages_programmed[stream as usize] += 1;
        let order = if self.ordered.remove(&at) { Order::Behind } else { Order::Any };
        m.program(at, slot, order);
    }

    pub(crate) fn close_segment<M: SegmentStore>(&mut self, stream: Stream, m: &mut M) {
        self.seal_stream(stream, m);
        let append = std::mem::take(&mut self.streams[stream as usize]);
        let Some(id) = append.segment else { return };
        assert!(append.held.is_none() && append.offset == 0, "a stream leaves nothing unsealed: {append:?}");
        if let Some((slot, page)) = append.open {
            // An opened page in which nothing was written: it stays erased.
            m.page_buffer_mut().release(slot);
            let index = self.geometry.index_of(page);
            let segment = self.segment_mut(id);
            segment.clear_slot(index);
        }
        let segment = self.segment_mut(id);
        if segment.state == SegmentState::Open {
            segment.state = SegmentState::Closed;
        }
    }

    fn open_segment<M: SegmentStore>(&mut self, stream: Stream, m: &mut M) {
        let id = m.allocate().expect("room() saw a free segment");
        let segment = self.segment_mut(id);
        assert_eq!(segment.state, SegmentState::Absent, "an allocated segment was free");
        segment.state = SegmentState::Open;
        segment.stream = stream as u8;
        self.held += 1;
        self.streams[stream as usize].segment = Some(id);
    }

    fn open_page<M: SegmentStore>(
        &mut self,
        stream: Stream,
        m: &mut M,
        first_record: u32,
    ) -> (SlotId, PageAddr) {
        let id = self.streams[stream as usize].segment.expect("a segment is open");
        let index = self.segment(id).next_page;
        let addr = self.geometry.page(id, index);
        let header = PageHeader {
            owner: self.owner,
            shard: 0,
            stream,
            epoch: m.epoch(id),
            sequence: self.next_sequence,
            addr,
            used_bytes: 0,
            first_record,
            data_crc: 0,
        };
        let slot = m.page_buffer_mut().open(&header).expect("room() saw a free slot");
        self.next_sequence += 1;
        let pages = self.geometry.segment_pages;
        let segment = self.segment_mut(id);
        segment.set_slot(index, slot, pages);
        segment.next_page += 1;
        (slot, addr)
    }
}
