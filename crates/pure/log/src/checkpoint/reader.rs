// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading a checkpoint back.
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

use super::{Cut, HEAD, KIND_BEGIN, KIND_CHUNK, KIND_END};
use crate::recover::scan_page;
use crate::{Bytes, Log, LogAddr};
use saker_segment_store::header::crc32c;
use saker_segment_store::{Page, PageAddr, SegmentStore, Step, Stream};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, KnownLayout, Unaligned};

/// Generations and versions end here: who counts on from one does not come to the end of numbers.
const NUMBER_MAX: u64 = 1 << 56;

/// The head of a record.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct Head {
    crc: U32,
    payload_bytes: U32,
    generation: U64,
    index: U32,
    kind: u8,
    reserved: [u8; 3],
}

const _: () = assert!(size_of::<Head>() == HEAD);

/// A cut, before its pages.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct CutHead {
    sequence: U64,
    version: U64,
    pages: U32,
}

/// A page that was open at a cut.
#[derive(FromBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct CutPage {
    sequence: U64,
    offset: U32,
}

/// What a reader found in the next record.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The cut of a checkpoint of that generation.
    Begin(u64, Cut),
    /// A chunk of the owner's index.
    Chunk(Vec<u8>),
    /// The checkpoint ends here and is whole.
    End,
    /// The records end before the checkpoint does: it was never finished.
    Incomplete,
    /// A record is not as it was written.
    Broken,
}

/// Reads one checkpoint: the pages of its segments in the order of their sequence numbers.
#[derive(Clone, Debug)]
pub struct CheckpointReader {
    /// Page runs: first page of each segment and its written pages, in order.
    runs: Vec<(PageAddr, u32)>,
    run: usize,
    /// Byte position in the run.
    at: u64,
    generation: u64,
    chunks: u32,
    payload_bytes: u64,
}

impl CheckpointReader {
    /// A reader over segments (first page, written pages) in sequence order.
    pub fn new(runs: Vec<(PageAddr, u32)>) -> Self {
        Self { runs, run: 0, at: 0, generation: 0, chunks: 0, payload_bytes: 0 }
    }

    /// Segments read so far, the current one included.
    pub fn runs_used(&self) -> usize {
        self.run + 1
    }

    /// The next record.
    pub fn step<M: SegmentStore>(&mut self, log: &Log, m: &M) -> Step<Found> {
        loop {
            let Some((first, pages)) = self.runs.get(self.run).copied() else {
                return Step::Done(Found::Incomplete);
            };
            let page_bytes = u64::from(log.geometry().page_bytes);
            let left = u64::from(pages) * page_bytes - self.at.min(u64::from(pages) * page_bytes);
            if left < HEAD as u64 {
                (self.run, self.at) = (self.run + 1, 0);
                continue;
            }
            let log_addr = LogAddr(first.0 * page_bytes + self.at);
            let mut head = [0; HEAD];
            match read(log, m, log_addr, &mut head) {
                Step::Done(None) => {}
                Step::Done(Some(found)) => return Step::Done(found),
                Step::Need(reads) => return Step::Need(reads),
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
            if head == [0; HEAD] {
                // Padding after the last record of a segment.
                (self.run, self.at) = (self.run + 1, 0);
                continue;
            }
            let len = Head::read_from_bytes(&head).map_or(u32::MAX, |head| head.payload_bytes.get());
            let bytes = (HEAD as u64 + u64::from(len)).next_multiple_of(8);
            if bytes > left {
                return cut_short(log, m, PageAddr(log_addr.0 / page_bytes));
            }
            let mut record = vec![0; bytes as usize];
            match read(log, m, log_addr, &mut record) {
                Step::Done(None) => {}
                Step::Done(Some(found)) => return Step::Done(found),
                Step::Need(reads) => return Step::Need(reads),
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
            let found = self.accept(&record, len as usize);
            if found == Found::Incomplete {
                return cut_short(log, m, PageAddr(log_addr.0 / page_bytes));
            }
            self.at += bytes;
            return Step::Done(found);
        }
    }

    fn accept(&mut self, record: &[u8], len: usize) -> Found {
        let Some((head, payload)) = open(record, len) else { return Found::Broken };
        if head.kind == KIND_BEGIN {
            let Some(cut) = decode_cut(payload) else { return Found::Broken };
            (self.generation, self.chunks, self.payload_bytes) = (head.generation.get(), 0, 0);
            return Found::Begin(self.generation, cut);
        }
        if head.generation.get() != self.generation || head.index.get() != self.chunks {
            return Found::Incomplete;
        }
        match head.kind {
            KIND_CHUNK => {
                self.chunks = self.chunks.saturating_add(1);
                self.payload_bytes += len as u64;
                Found::Chunk(payload.to_vec())
            }
            KIND_END if payload == self.payload_bytes.to_le_bytes() => Found::End,
            _ => Found::Broken,
        }
    }
}

/// The head and the payload of a record that matches its checksum.
fn open(record: &[u8], len: usize) -> Option<(Head, &[u8])> {
    let (head, rest) = Head::read_from_prefix(record).ok()?;
    let sound = head.crc.get() == crc32c(record.get(4..)?) && head.generation.get() <= NUMBER_MAX;
    Some((head, rest.get(..len)?)).filter(|_| sound)
}

fn decode_cut(payload: &[u8]) -> Option<Cut> {
    let (head, rest) = CutHead::read_from_prefix(payload).ok()?;
    let (open, _) = rest.as_chunks::<{ size_of::<CutPage>() }>();
    let count = (head.pages.get() as usize).min(Stream::COUNT);
    let pages = open.get(..count)?.iter().filter_map(|page| CutPage::read_from_bytes(page).ok());
    let (sequence, version) = (head.sequence.get(), head.version.get());
    let open = pages.map(|page| (page.sequence.get(), page.offset.get())).collect();
    (version <= NUMBER_MAX).then_some(Cut { sequence, version, open })
}

/// A record that cannot be part of a whole checkpoint: one that was never finished, if its page is sound.
fn cut_short<M: SegmentStore>(log: &Log, m: &M, page: PageAddr) -> Step<Found> {
    scan_page(log, m, page).map(|scanned| if scanned.is_ok() { Found::Incomplete } else { Found::Broken })
}

/// Reads bytes of a checkpoint; `Some` says why there are none.
fn read<M: SegmentStore>(log: &Log, m: &M, log_addr: LogAddr, out: &mut [u8]) -> Step<Option<Found>> {
    let range = Bytes::new(log_addr, out.len() as u32);
    let page_bytes = u64::from(log.geometry().page_bytes);
    for page in range.pages(log) {
        let wanted = (log_addr.0 + out.len() as u64 - page.0 * page_bytes).min(page_bytes) as u32;
        if log.slot_of(page).is_some_and(|slot| m.page_buffer().published(slot).is_none_or(|n| n < wanted)) {
            // The last page of a checkpoint that was being written; what is behind its end is not ours.
            return Step::Done(Some(Found::Incomplete));
        }
        match crate::page_of(log, m, page) {
            // Lost with the page buffer, or cut short: this checkpoint was being written.
            Page::Erased | Page::Torn => return Step::Done(Some(Found::Incomplete)),
            Page::Failed => return Step::Done(Some(Found::Broken)),
            Page::Absent | Page::Resident { .. } => {}
        }
    }
    range.resident(log, m).map(|_| {
        range.copy_to(log, m, 0, out);
        None
    })
}
