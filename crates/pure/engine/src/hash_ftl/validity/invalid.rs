// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Invalid mappings (Plus, section IV-A): what became invalid, by superblock. A page-sized buffer for each in memory, the
//! pages it filled on flash, and how many grains of each page are invalid.
//!
//! A page of invalid mappings: for each the hash index (4 bytes) and the grain within the superblock (4 bytes). Out of band:
//! `segment u32, its epoch u32, mappings u32, 0 u32`. All little-endian.

use saker_log::ensure;
use saker_segment_store::{Geometry, PageAddr, SegmentId};
use std::collections::VecDeque;

/// The owner's out-of-band bytes of a page of mappings.
pub const OOB_BYTES: usize = 16;
/// Bytes of a mapping.
pub const MAPPING_BYTES: usize = 8;
/// Bytes that the list has for a page on flash (Plus, footnote 2).
pub const PAGE_ADDRESS_BYTES: u64 = 4;

#[derive(Clone, Debug, Default)]
struct Superblock {
    buffer: Vec<u64>,
    pages: Vec<PageAddr>,
    /// Whether it waits in `full`.
    is_queued: bool,
}

/// The superblock that is being collected, and what of it is invalid: a table that lives as long as the collection. A grain
/// in it is a bit here; the paper has a hash table, of as much as there is.
#[derive(Clone, Debug)]
struct Transient {
    segment: SegmentId,
    invalid: Box<[u64]>,
}

impl Transient {
    fn insert(&mut self, offset: u32) {
        if let Some(word) = self.invalid.get_mut(offset as usize / 64) {
            *word |= 1 << (offset % 64);
        }
    }

    fn contains(&self, offset: u32) -> bool {
        self.invalid[offset as usize / 64] >> (offset % 64) & 1 == 1
    }
}

/// All of it.
#[derive(Clone, Debug)]
pub struct InvalidMappings {
    superblocks: Vec<Superblock>,
    /// Invalid grains of each page.
    counts: Vec<u16>,
    full: VecDeque<SegmentId>,
    collected: Option<Transient>,
    page_grains: u64,
    segment_grains: u64,
    page_bytes: usize,
    page_mappings: usize,
    segment_pages: u32,
}

impl InvalidMappings {
    /// Nothing is invalid. A page takes as many mappings as it has room for, or `page_mappings`.
    pub fn new(geometry: &Geometry, grain_bytes: u32, page_mappings: Option<u32>) -> Self {
        let page_grains = u64::from(geometry.page_bytes / grain_bytes);
        let room = geometry.page_bytes as usize / MAPPING_BYTES;
        Self {
            superblocks: vec![Superblock::default(); geometry.segments as usize],
            counts: vec![0; geometry.segments as usize * geometry.segment_pages as usize],
            full: VecDeque::new(),
            collected: None,
            page_grains,
            segment_grains: page_grains * u64::from(geometry.segment_pages),
            page_bytes: geometry.page_bytes as usize,
            page_mappings: page_mappings.map_or(room, |n| (n as usize).clamp(1, room)),
            segment_pages: geometry.segment_pages,
        }
    }

    /// Mappings that a page holds.
    pub fn page_mappings(&self) -> usize {
        self.page_mappings
    }

    fn split(&self, grain: u64) -> (usize, u32) {
        ((grain / self.segment_grains) as usize, (grain % self.segment_grains) as u32)
    }

    /// A record became invalid.
    pub fn add(&mut self, slot: u64, grain: u64, grains: u32) {
        self.count(grain, grains);
        self.note(slot, grain);
    }

    /// Notes its mapping.
    pub fn note(&mut self, slot: u64, grain: u64) {
        let (n, offset) = self.split(grain);
        let limit = self.page_mappings();
        let superblock = &mut self.superblocks[n];
        superblock.buffer.push(slot | u64::from(offset) << 32);
        if let Some(transient) = self.collected.as_mut().filter(|t| t.segment.0 as usize == n) {
            transient.insert(offset);
        } else if superblock.buffer.len() >= limit && !superblock.is_queued {
            superblock.is_queued = true;
            self.full.push_back(SegmentId(n as u32));
        }
    }

    /// Counts its grains.
    pub fn count(&mut self, grain: u64, grains: u32) {
        let (mut at, end) = (grain, grain + u64::from(grains));
        while at < end {
            let page = at / self.page_grains;
            let next = ((page + 1) * self.page_grains).min(end);
            self.counts[page as usize] += (next - at) as u16;
            debug_assert!(
                u64::from(self.counts[page as usize]) <= self.page_grains,
                "grains are invalid once"
            );
            at = next;
        }
    }

    /// Whether every grain of a page is invalid.
    pub fn is_dead(&self, page: PageAddr) -> bool {
        u64::from(self.counts[page.0 as usize]) >= self.page_grains
    }

    /// Grains of a superblock that are invalid.
    pub fn grains(&self, segment: SegmentId) -> u64 {
        let (first, pages) = (segment.0 as usize * self.segment_pages as usize, self.segment_pages as usize);
        self.counts[first..first + pages].iter().map(|n| u64::from(*n)).sum()
    }

    /// The superblock that is being collected.
    pub fn collected(&self) -> Option<SegmentId> {
        self.collected.as_ref().map(|t| t.segment)
    }

    /// Says what contradicts itself: queues, buffers and counts.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        for (n, superblock) in self.superblocks.iter().enumerate() {
            let queued = self.full.iter().filter(|s| s.0 as usize == n).count();
            let sound = queued == usize::from(superblock.is_queued)
                && (queued == 0 || superblock.buffer.len() >= self.page_mappings);
            ensure(sound, || format!("superblock {n} is {queued} times in the queue: {superblock:?}"))?;
            let inside = superblock.buffer.iter().all(|word| word >> 32 < self.segment_grains);
            ensure(inside, || format!("mappings of superblock {n} lead out of it"))?;
        }
        let over = self.counts.iter().position(|n| u64::from(*n) > self.page_grains);
        ensure(over.is_none(), || format!("page {over:?} has more invalid grains than grains"))
    }

    /// A superblock whose buffer is to be written.
    pub fn next_full(&self) -> Option<SegmentId> {
        self.full.front().copied()
    }

    /// Superblocks whose buffers are to be written.
    pub fn full(&self) -> usize {
        self.full.len()
    }

    /// Fills a page from the buffer of the next full superblock, and gives its out-of-band bytes. [`InvalidMappings::wrote`]
    /// follows.
    pub fn fill_page(&self, segment: SegmentId, epoch: u32, out: &mut [u8]) -> [u8; OOB_BYTES] {
        let buffer = &self.superblocks[segment.0 as usize].buffer;
        let count = buffer.len().min(self.page_mappings());
        out.fill(0);
        for (mapping, to) in buffer.iter().zip(out.chunks_exact_mut(MAPPING_BYTES)) {
            to.copy_from_slice(&mapping.to_le_bytes());
        }
        let mut oob = [0; OOB_BYTES];
        oob[..4].copy_from_slice(&segment.0.to_le_bytes());
        oob[4..8].copy_from_slice(&epoch.to_le_bytes());
        oob[8..12].copy_from_slice(&(count as u32).to_le_bytes());
        oob
    }

    /// What [`InvalidMappings::fill_page`] gave is on that page.
    pub fn wrote(&mut self, segment: SegmentId, page: PageAddr) {
        let limit = self.page_mappings();
        let superblock = &mut self.superblocks[segment.0 as usize];
        superblock.buffer.drain(..limit.min(superblock.buffer.len()));
        superblock.pages.push(page);
        if superblock.buffer.len() < limit {
            self.unqueue(segment);
        }
    }

    fn unqueue(&mut self, segment: SegmentId) {
        if std::mem::take(&mut self.superblocks[segment.0 as usize].is_queued) {
            self.full.retain(|s| *s != segment);
        }
    }

    /// Pages that speak of a superblock.
    pub fn pages(&self, segment: SegmentId) -> &[PageAddr] {
        &self.superblocks[segment.0 as usize].pages
    }

    /// One of them was copied.
    pub fn moved(&mut self, segment: SegmentId, from: PageAddr, to: PageAddr) {
        let mut pages = self.superblocks[segment.0 as usize].pages.iter_mut();
        *pages.find(|p| **p == from).expect("a page on the list is copied") = to;
    }

    /// Begins the collection of a superblock, of which its pages say that these grains are invalid.
    pub fn collect(&mut self, segment: SegmentId, listed: impl Iterator<Item = u32>) {
        self.unqueue(segment);
        let buffer = self.superblocks[segment.0 as usize].buffer.iter().map(|m| (m >> 32) as u32);
        let words = self.segment_grains.div_ceil(64) as usize;
        let mut transient = Transient { segment, invalid: vec![0; words].into_boxed_slice() };
        listed.chain(buffer).for_each(|offset| transient.insert(offset));
        self.collected = Some(transient);
    }

    /// Gives a collection up.
    pub fn end_collection(&mut self) {
        let limit = self.page_mappings();
        let Some(transient) = self.collected.take() else { return };
        let superblock = &mut self.superblocks[transient.segment.0 as usize];
        if superblock.buffer.len() >= limit && !superblock.is_queued {
            superblock.is_queued = true;
            self.full.push_back(transient.segment);
        }
    }

    /// Whether the table for a collection of that superblock is there.
    pub fn is_collecting(&self, segment: SegmentId) -> bool {
        self.collected.as_ref().is_some_and(|t| t.segment == segment)
    }

    /// Whether a grain of the superblock that is being collected was never invalidated.
    pub fn is_valid(&self, grain: u64) -> bool {
        let (n, offset) = self.split(grain);
        let transient = self.collected.as_ref().expect("validity is asked for in collections");
        assert_eq!(transient.segment.0 as usize, n, "a grain of the superblock that is collected");
        !transient.contains(offset)
    }

    /// Mappings of a superblock that are not on a page.
    pub fn buffered(&self, segment: SegmentId) -> u64 {
        self.superblocks[segment.0 as usize].buffer.len() as u64
    }

    /// A superblock is empty. Gives the pages that spoke of it.
    pub fn forget(&mut self, segment: SegmentId) -> Vec<PageAddr> {
        self.unqueue(segment);
        if self.is_collecting(segment) {
            self.collected = None;
        }
        let first = segment.0 as usize * self.segment_pages as usize;
        self.counts[first..first + self.segment_pages as usize].fill(0);
        std::mem::take(&mut self.superblocks[segment.0 as usize]).pages
    }

    /// Modelled memory.
    pub fn memory(&self) -> InvalidMemory {
        let listed = self.superblocks.iter().map(|s| s.pages.len() as u64).sum();
        InvalidMemory::of(
            self.superblocks.len() as u64,
            self.counts.len() as u64,
            self.page_bytes as u64,
            self.page_grains,
            listed,
        )
    }
}

impl InvalidMemory {
    /// Of so many superblocks and pages of `page_bytes` bytes or `page_grains` grains, with `listed` pages of mappings on
    /// flash: a buffer of a page for each superblock, a counter for each page, an address for each page that is listed.
    pub fn of(superblocks: u64, pages: u64, page_bytes: u64, page_grains: u64, listed: u64) -> Self {
        let counter = if page_grains > 255 { 2 } else { 1 };
        Self {
            buffer_bytes: superblocks * page_bytes,
            count_bytes: pages * counter,
            list_bytes: listed * PAGE_ADDRESS_BYTES,
        }
    }
}

/// Modelled memory of invalid mappings, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidMemory {
    /// Buffers.
    pub buffer_bytes: u64,
    /// Invalid grains of each page: a byte, or two where a page has more than 255 grains.
    pub count_bytes: u64,
    /// Addresses of pages on flash.
    pub list_bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash_ftl::validity::parse::read_page;

    fn geometry() -> Geometry {
        Geometry { page_bytes: 512, oob_bytes: 128, segment_pages: 16, segments: 4 }
    }

    #[test]
    fn buffers_become_pages() {
        let mut invalid = InvalidMappings::new(&geometry(), 64, None);
        assert_eq!(invalid.page_mappings(), 64);
        // Segment 1 has grains 128..256.
        for n in 0..63 {
            invalid.add(500 + n, 128 + n, 1);
        }
        assert_eq!(invalid.next_full(), None);
        invalid.add(999, 200, 10);
        assert_eq!(invalid.next_full(), Some(SegmentId(1)));
        let mut page = [7; 512];
        let oob = invalid.fill_page(SegmentId(1), 3, &mut page);
        assert_eq!(oob, [1, 0, 0, 0, 3, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(page[8..16], [0xf5, 1, 0, 0, 1, 0, 0, 0]);
        let (segment, epoch, mappings) = read_page(&page, &oob).expect("a page");
        let mappings: Vec<_> = mappings.collect();
        assert_eq!((segment, epoch, mappings.len(), mappings[63]), (SegmentId(1), 3, 64, (999, 72)));
        invalid.wrote(SegmentId(1), PageAddr(40));
        assert_eq!((invalid.next_full(), invalid.pages(SegmentId(1))), (None, &[PageAddr(40)][..]));
        assert!(invalid.is_dead(PageAddr(25)) && !invalid.is_dead(PageAddr(26)));
        assert_eq!(invalid.memory(), InvalidMemory { buffer_bytes: 2048, count_bytes: 64, list_bytes: 4 });
    }

    #[test]
    fn a_collection_sees_pages_buffer_and_what_comes_meanwhile() {
        let mut invalid = InvalidMappings::new(&geometry(), 64, None);
        invalid.add(1, 130, 2);
        invalid.collect(SegmentId(1), [5u32].into_iter());
        invalid.add(2, 140, 1);
        let valid: Vec<_> = [130, 133, 134, 140].iter().map(|g| invalid.is_valid(*g)).collect();
        assert_eq!(valid, [false, false, true, false]);
        invalid.end_collection();
        invalid.collect(SegmentId(1), std::iter::empty());
        assert!(!invalid.is_valid(140) && invalid.is_valid(133));
        assert_eq!(invalid.forget(SegmentId(1)), []);
        assert!(!invalid.is_collecting(SegmentId(1)) && !invalid.is_dead(PageAddr(16)));
    }

    #[test]
    fn a_page_that_lies_about_its_length_is_none() {
        let mut oob = [0; 16];
        oob[8] = 8;
        assert!(read_page(&[0; 64], &oob).is_some());
        oob[8] = 9;
        assert!(read_page(&[0; 64], &oob).is_none() && read_page(&[0; 64], &[0; 5]).is_none());
    }
}
