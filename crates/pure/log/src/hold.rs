// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Full pages that stay in the page buffer, so that their owner can still write into room that it left in them.
//!
//! Pages of a segment are programmed in order, so everything behind the first page that stays waits with it. What a
//! sync has vouched for does not change any more.

use crate::{Log, LogAddr, Writer};
use saker_duty::Duty;
use saker_segment_store::{PageAddr, SegmentId, SegmentStore, Stream};

impl Log {
    /// Where the next record of a stream begins if it and all before it in the segment fit: the end of the last one, or the
    /// start of a page. `None`: a segment begins.
    pub fn end(&self, stream: Stream, bytes: u32) -> Option<LogAddr> {
        let append = &self.streams[stream as usize];
        let id = append.segment?;
        let position = self.position(stream, id);
        let segment_bytes = self.geometry.segment_bytes();
        let fits = position + u64::from(bytes) <= segment_bytes;
        fits.then(|| LogAddr(u64::from(id.0) * segment_bytes + position))
    }

    /// From now on full pages from `page` on stay in the page buffer; those before it are programmed. `None`: none stays.
    pub fn hold_from<M: SegmentStore>(&mut self, stream: Stream, page: Option<PageAddr>, m: &mut M) {
        let append = &mut self.streams[stream as usize];
        append.hold = page;
        let Some(first) = append.held else { return };
        let open = append.open.map(|(_, page)| page);
        let id = append.segment.expect("pages stay in an open segment");
        let end = open.unwrap_or_else(|| self.next_page(id));
        let until = page.unwrap_or(end).min(end).max(first);
        self.streams[stream as usize].held = (until < end).then_some(until);
        for page in first.0..until.0 {
            let slot = self.slot_of(PageAddr(page)).expect("a page that stays is in the page buffer");
            self.program(stream, m, slot);
        }
    }

    /// Whether full pages from `page` on stay.
    pub fn is_held(&self, stream: Stream, page: PageAddr) -> bool {
        self.streams[stream as usize].hold.is_some_and(|first| first <= page)
    }

    /// Full pages that stay.
    pub fn pages_held(&self, stream: Stream) -> u64 {
        let append = &self.streams[stream as usize];
        let Some((first, id)) = append.held.zip(append.segment) else { return 0 };
        append.open.map_or_else(|| self.next_page(id), |(_, page)| page).0 - first.0
    }

    /// The page that the segment opens next; behind its last one if it is full.
    fn next_page(&self, id: SegmentId) -> PageAddr {
        PageAddr(
            u64::from(id.0) * u64::from(self.geometry.segment_pages) + u64::from(self.segment(id).next_page),
        )
    }

    /// Notes that a page is full. True if it stays.
    pub(crate) fn keeps(&mut self, stream: Stream, page: PageAddr) -> bool {
        let append = &mut self.streams[stream as usize];
        let keeps = append.held.is_some() || append.hold.is_some_and(|first| first <= page);
        if keeps {
            append.held.get_or_insert(page);
        }
        keeps
    }

    /// Room within pages that stay or are open, for a record of `bytes` at `log_addr`. `None` if a sync has vouched for any of
    /// it, or for the word at `word`.
    pub fn inside<M: SegmentStore>(
        &self,
        m: &M,
        stream: Stream,
        word: LogAddr,
        (log_addr, bytes): (LogAddr, u32),
    ) -> Option<Writer> {
        if !self.is_inside(m, word, (log_addr, bytes)) {
            return None;
        }
        let page_bytes = u64::from(self.geometry.page_bytes);
        let (first, last) = (log_addr.0 / page_bytes, (log_addr.0 + u64::from(bytes) - 1) / page_bytes);
        let slot = self.slot_of(PageAddr(first))?;
        let start = (log_addr.0 % page_bytes) as u32;
        let duty = Duty::new(Writer::DUTY);
        Some(Writer { stream, log_addr, bytes, first: (slot, start), single: first == last, duty })
    }

    /// Whether there is such room.
    pub fn is_inside<M: SegmentStore>(
        &self,
        m: &M,
        word: LogAddr,
        (log_addr, bytes): (LogAddr, u32),
    ) -> bool {
        let page_bytes = u64::from(self.geometry.page_bytes);
        let last = (log_addr.0 + u64::from(bytes) - 1) / page_bytes;
        let first = word.0 / page_bytes;
        (first..=last).all(|page| {
            let from = if page == first { word.0 % page_bytes } else { 0 };
            let slot = self.slot_of(PageAddr(page));
            slot.is_some_and(|slot| u64::from(m.page_buffer().vouched_bytes(slot)) <= from)
        })
    }

    /// Makes such a record count, by storing a word whole.
    pub fn commit_inside<M: SegmentStore>(&mut self, m: &mut M, w: Writer, at: LogAddr, word: u64) {
        self.stats.bytes_appended[w.stream as usize] += u64::from(w.bytes);
        let page_bytes = u64::from(self.geometry.page_bytes);
        let slot =
            self.slot_of(PageAddr(at.0 / page_bytes)).expect("a page that stays is in the page buffer");
        m.page_buffer_mut().store_word(slot, (at.0 % page_bytes) as u32, word);
        w.duty.done();
    }

    /// Leaves such room as it is: nothing was taken for it.
    pub fn leave_inside(&self, w: Writer) {
        w.duty.done();
    }
}
