// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Gaps of the value log that can still be filled: the write pointer is in the oldest, the DMA log table tells what lies behind
//! each (BandSlim, ICPP'24, section 3.3.3).
//!
//! The write pointer stays behind what DMA has put there. When the next record does not fit before the oldest entry of the table,
//! it jumps over that entry, and again, until it fits or the end of the log is reached. How long the gap is where it comes to
//! says the gap's own word, in the page buffer.

use super::dlt::{Dlt, DltEntry};
use crate::gap::{GAP_WORD_BYTES, Gap};
use saker_log::{Log, LogAddr};
use saker_segment_store::{PageAddr, SegmentStore};

/// A gap and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct OpenGap {
    /// The byte of the log at which it begins.
    pub at: u64,
    /// What its word says.
    pub gap: Gap,
}

impl OpenGap {
    /// Where its word is.
    #[inline]
    pub fn word(&self) -> LogAddr {
        LogAddr(self.at)
    }

    /// Where the next record in it begins.
    #[inline]
    pub fn next(&self) -> u64 {
        self.at + u64::from(GAP_WORD_BYTES + self.gap.filled)
    }

    /// Bytes for more records.
    #[inline]
    pub fn left(&self) -> u32 {
        self.gap.bytes - GAP_WORD_BYTES - self.gap.filled
    }

    /// The page of its word.
    #[inline]
    pub fn page(&self, log: &Log) -> PageAddr {
        PageAddr(self.at / u64::from(log.geometry().page_bytes))
    }

    /// The gap that begins there, as its word in the page buffer says.
    fn read<M: SegmentStore>(at: u64, log: &Log, m: &M) -> Option<Self> {
        let page_bytes = u64::from(log.geometry().page_bytes);
        let slot = log.slot_of(PageAddr(at / page_bytes))?;
        let from = (at % page_bytes) as usize;
        let word = m.page_buffer().data(slot).get(from..from + GAP_WORD_BYTES as usize)?;
        let gap = Gap::decode(u64::from_le_bytes(word.try_into().ok()?), at)?;
        Some(Self { at, gap })
    }
}

/// The gaps, the oldest first.
#[derive(Clone, Debug)]
pub struct Gaps {
    /// The gap that the write pointer is in: there is one while the table has an entry.
    pointer: Option<OpenGap>,
    dlt: Dlt,
    open_bytes: u64,
}

impl Gaps {
    /// None, where a page buffer has so many NAND pages of that length.
    pub fn new(page_bytes: u32, buffer_pages: usize) -> Self {
        Self { pointer: None, dlt: Dlt::new(page_bytes, buffer_pages), open_bytes: 0 }
    }

    /// The oldest gap.
    #[inline]
    pub fn first(&self) -> Option<&OpenGap> {
        self.pointer.as_ref()
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pointer.is_none()
    }

    /// Bytes that records may still fill.
    #[inline]
    pub fn open_bytes(&self) -> u64 {
        self.open_bytes
    }

    /// Bytes of the table in the device's memory.
    pub fn table_bytes(&self) -> u64 {
        self.dlt.bytes()
    }

    /// Whether the table can name a value there.
    #[inline]
    pub fn reaches(&self, value_at: u64) -> bool {
        self.dlt.reaches(value_at)
    }

    /// Whether another gap needs the oldest to be given up.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.dlt.is_full()
    }

    /// All of them, by the words in the page buffer.
    pub fn all<M: SegmentStore>(&self, log: &Log, m: &M) -> impl Iterator<Item = OpenGap> {
        let behind = self.dlt.entries().zip(self.dlt.entries().skip(1));
        let later = behind.map_while(move |(entry, _)| OpenGap::read(entry.end(), log, m));
        self.pointer.into_iter().chain(later)
    }

    /// Adds a gap at the end of the log, with what DMA puts behind it.
    pub fn push(&mut self, gap: OpenGap, landed: DltEntry) {
        self.open_bytes += u64::from(gap.left());
        self.dlt.extend_last(gap.at);
        self.dlt.push(landed);
        self.pointer.get_or_insert(gap);
    }

    /// The write pointer jumps over so many entries.
    pub fn jump<M: SegmentStore>(&mut self, entries: usize, log: &Log, m: &M) {
        for _ in 0..entries {
            let Some((gap, entry)) = self.pointer.take().zip(self.dlt.pop()) else { break };
            self.open_bytes -= u64::from(gap.left());
            self.pointer = if self.dlt.is_empty() { None } else { OpenGap::read(entry.end(), log, m) };
        }
        if self.pointer.is_none() {
            self.clear();
        }
    }

    /// A record fills the oldest gap from the write pointer on. Returns that gap as it is now. Panics if there is none.
    pub fn fill(&mut self, bytes: u32) -> OpenGap {
        let open = self.pointer.as_mut().expect("its room was taken");
        open.gap.filled += bytes;
        self.open_bytes -= u64::from(bytes);
        *open
    }

    /// Gives up every gap.
    pub fn clear(&mut self) {
        self.pointer = None;
        self.dlt.clear();
        self.open_bytes = 0;
    }
}
