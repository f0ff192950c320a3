// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading back: from the page buffer while a page is there, from the medium afterwards.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use crate::{Log, LogAddr};
use saker_segment_store::{CellError, Checked, Page, PageAddr, SegmentStore, SlotId, Step};
use std::ops::Range;

/// A cache line.
const LINE_BYTES: usize = 64;
/// Longer ranges are read in order, which the processor foresees.
const AHEAD_BYTES_MAX: usize = 4 * LINE_BYTES;

/// A byte of each cache line of a record, as far as a hint for each ([`saker_sim::Meter::touch`]) is worth it.
#[inline]
pub fn lines(record: &[u8]) -> impl Iterator<Item = &u8> {
    let first = record.get(..AHEAD_BYTES_MAX).unwrap_or(record);
    first.iter().step_by(LINE_BYTES).chain(first.last())
}

/// Whether a page is in a slot, and in which. `None`: the page does not exist, as places that images tell of can be anywhere.
#[inline]
fn slot_of(log: &Log, page: PageAddr) -> Option<Option<SlotId>> {
    let geometry = log.geometry();
    Some(log.find_segment(geometry.segment_of(page))?.slot(geometry.index_of(page)))
}

/// What a slot holds.
#[inline]
fn in_slot<M: SegmentStore>(m: &M, slot: SlotId) -> Page<'_> {
    Page::Resident { data: m.page_buffer().data(slot), oob: m.page_buffer().oob(slot) }
}

/// A page of the log, wherever it is now; one that does not exist cannot be read.
#[inline]
pub fn page_of<'m, M: SegmentStore>(log: &Log, m: &'m M, page: PageAddr) -> Page<'m> {
    match slot_of(log, page) {
        None => Page::Failed,
        Some(Some(slot)) => in_slot(m, slot),
        Some(None) => m.page(page),
    }
}

/// The same for somebody who looks at those bytes of its data alone ([`SegmentStore::part`]).
#[inline]
pub fn part_of<'m, M: SegmentStore>(log: &Log, m: &'m M, page: PageAddr, bytes: Range<u32>) -> Page<'m> {
    match slot_of(log, page) {
        None => Page::Failed,
        Some(Some(slot)) => in_slot(m, slot),
        Some(None) => m.part(page, bytes),
    }
}

/// What was checked of a page ([`SegmentStore::checked`]); of one in a slot nothing is noted.
#[inline]
pub fn checked_of<'m, M: SegmentStore>(log: &Log, m: &'m M, page: PageAddr) -> Option<&'m Checked> {
    if slot_of(log, page)?.is_some() { None } else { m.checked(page) }
}

/// What one look at a range tells.
#[derive(Clone, Copy, Debug)]
pub enum Look<'m> {
    /// It lies in one page, which is resident.
    Whole(&'m [u8]),
    /// It lies in one page, which has to be read first.
    Absent(PageAddr),
    /// It lies in several pages, or in one that cannot be read: [`Bytes::resident`] tells.
    Elsewhere,
}

/// Access to a range of bytes of the log.
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    log_addr: LogAddr,
    bytes: u32,
}

impl Bytes {
    /// `bytes` from `log_addr` on; they must lie in one segment.
    pub fn new(log_addr: LogAddr, bytes: u32) -> Self {
        Self { log_addr, bytes }
    }

    /// The pages the range touches.
    pub fn pages(&self, log: &Log) -> impl Iterator<Item = PageAddr> + use<> {
        let page_bytes = u64::from(log.geometry().page_bytes);
        let last = self.log_addr.0 + u64::from(self.bytes.max(1)) - 1;
        (self.log_addr.0 / page_bytes..=last / page_bytes).map(PageAddr)
    }

    /// Whether all of it can be looked at: `Need` lists every page that is not resident.
    #[inline]
    pub fn resident<M: SegmentStore>(&self, log: &Log, m: &M) -> Step<Result<(), CellError>> {
        let mut is_absent = false;
        for page in self.pages(log) {
            match part_of(log, m, page, self.bytes_in(log, page)) {
                Page::Resident { .. } => {}
                Page::Absent => is_absent = true,
                Page::Erased | Page::Torn | Page::Failed => return Step::Done(Err(CellError::Read)),
            }
        }
        if is_absent { Step::Need(self.pages(log).collect()) } else { Step::Done(Ok(())) }
    }

    /// The bytes of a page that the range touches.
    #[inline]
    fn bytes_in(&self, log: &Log, page: PageAddr) -> Range<u32> {
        let page_bytes = u64::from(log.geometry().page_bytes);
        let first = page.0 * page_bytes;
        let start = self.log_addr.0.saturating_sub(first);
        let end = (self.log_addr.0 + u64::from(self.bytes)).saturating_sub(first).min(page_bytes);
        start as u32..end as u32
    }

    /// The page where the range begins, and the byte in it.
    #[inline]
    fn begin(&self, log: &Log) -> (PageAddr, u32) {
        let page_bytes = u64::from(log.geometry().page_bytes);
        (PageAddr(self.log_addr.0 / page_bytes), (self.log_addr.0 % page_bytes) as u32)
    }

    /// One look at all of it, instead of one for each part.
    #[inline]
    pub fn look<'m, M: SegmentStore>(&self, log: &Log, m: &'m M) -> Look<'m> {
        let (page, start) = self.begin(log);
        let (start, end) = (start as usize, start as usize + self.bytes as usize);
        if end > log.geometry().page_bytes as usize {
            return Look::Elsewhere;
        }
        let whole = |data: &'m [u8]| data.get(start..end).map_or(Look::Elsewhere, Look::Whole);
        let found = match slot_of(log, page) {
            None => return Look::Elsewhere,
            // Its bytes out of band, which `part_of` finds as well, nobody looks at here.
            Some(Some(slot)) => return whole(m.page_buffer().data(slot)),
            Some(None) => m.part(page, start as u32..end as u32),
        };
        match found {
            Page::Resident { data, .. } => whole(data),
            Page::Absent => Look::Absent(page),
            Page::Erased | Page::Torn | Page::Failed => Look::Elsewhere,
        }
    }

    /// All of it in one piece, if it lies in one page that is resident.
    #[inline]
    pub fn whole<'m, M: SegmentStore>(&self, log: &Log, m: &'m M) -> Option<&'m [u8]> {
        match self.look(log, m) {
            Look::Whole(bytes) => Some(bytes),
            Look::Absent(_) | Look::Elsewhere => None,
        }
    }

    /// Memory of the range's first bytes in a page that has to be read first, for [`SegmentStore::ahead`]'s purpose: a byte of
    /// each cache line, as far as a hint for each is worth it.
    #[inline]
    pub fn ahead<'m, M: SegmentStore>(
        &self,
        log: &Log,
        m: &'m M,
    ) -> impl Iterator<Item = &'m u8> + use<'m, M> {
        let (page, start) = self.begin(log);
        let memory = m.ahead(page, start).unwrap_or_default();
        lines(memory.get(..self.bytes as usize).unwrap_or(memory))
    }

    /// The bytes from `offset` to the end of the range or of their page; empty at the end or when not resident.
    #[inline]
    pub fn chunk<'m, M: SegmentStore>(&self, log: &Log, m: &'m M, offset: u32) -> &'m [u8] {
        if offset >= self.bytes {
            return &[];
        }
        let page_bytes = u64::from(log.geometry().page_bytes);
        let at = self.log_addr.0 + u64::from(offset);
        let start = (at % page_bytes) as usize;
        let end = (start + (self.bytes - offset) as usize).min(page_bytes as usize);
        match part_of(log, m, PageAddr(at / page_bytes), start as u32..end as u32) {
            Page::Resident { data, .. } => data.get(start..end).unwrap_or_default(),
            _ => &[],
        }
    }

    /// Copies the range from `offset` on into `out`; returns how many bytes there were.
    pub fn copy_to<M: SegmentStore>(&self, log: &Log, m: &M, offset: u32, out: &mut [u8]) -> usize {
        let (mut done, mut rest) = (0, out);
        while !rest.is_empty() {
            let chunk = self.chunk(log, m, offset + done as u32);
            let n = chunk.len().min(rest.len());
            let Some(from) = chunk.get(..n).filter(|from| !from.is_empty()) else { break };
            let Some((to, left)) = std::mem::take(&mut rest).split_at_mut_checked(n) else { break };
            to.copy_from_slice(from);
            (done, rest) = (done + n, left);
        }
        done
    }

    /// Appends the range to `out`, which is not zeroed for it first; returns how many bytes there were.
    pub fn append_to<M: SegmentStore>(&self, log: &Log, m: &M, out: &mut Vec<u8>) -> usize {
        let begin = out.len();
        loop {
            let done = out.len() - begin;
            let chunk = self.chunk(log, m, done as u32);
            if chunk.is_empty() {
                return done;
            }
            out.extend_from_slice(chunk);
        }
    }
}
