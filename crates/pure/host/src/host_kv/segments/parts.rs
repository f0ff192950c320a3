// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bringing pages, or the parts of them that are looked at: from the write buffer, from the block cache, or by reads.

use super::super::held::{Parts, Reading};
use super::block_cache::{BlockCache, BlockCacheStats};
use super::{BlockSegments, Request, bytes_of};
use saker_segment_store::{CellError, Page, PageAddr};

/// Looks that are noted at most.
const LOOKED_MAX: usize = 4096;

/// On whose behalf pages are brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// An operation's: the block cache is asked, and gets what is read.
    Operation,
    /// A scan's: the same, but pages come as a whole, for what it shows lies side by side. RocksDB's iterators read ahead, too
    /// (facebook/rocksdb, `include/rocksdb/table.h`, `max_auto_readahead_size`).
    Scan,
    /// Background work's: pages come as a whole, for what merges and collections read lies side by side.
    Background,
}

impl BlockSegments {
    /// The same with a cache of that many bytes for blocks that operations read.
    #[must_use]
    pub fn with_block_cache(mut self, bytes: u64) -> Self {
        self.cache = BlockCache::new(bytes);
        self
    }

    /// What the block cache did.
    pub fn block_cache_stats(&self) -> BlockCacheStats {
        self.cache.stats
    }

    /// Asks for pages, an operation's as far as they were looked at since pages were asked for last, and holds them until they are
    /// released. How many parts were in the block cache.
    pub fn bring(&mut self, pages: &[PageAddr], whose: Whose) -> u64 {
        let hits = self.cache.stats.hits;
        let looked = std::mem::take(&mut *self.looked.borrow_mut());
        for at in pages {
            let parts =
                looked.iter().filter(|(page, _)| page == at).fold(Parts::NONE, |all, (_, p)| all.and(*p));
            self.bring_parts(*at, self.wanted(*at, parts, whose), whose);
        }
        self.cache.stats.hits - hits
    }

    /// What to bring of a page of which those parts were looked at and were not there. If there were none, what was looked at is there
    /// already, or nothing was looked at.
    fn wanted(&self, at: PageAddr, looked: Parts, whose: Whose) -> Parts {
        let is_held = self.pages.get(at, Parts::NONE).is_some();
        match whose {
            Whose::Operation if !looked.is_none() || is_held => looked,
            Whose::Operation | Whose::Scan | Whose::Background => self.pages.all(),
        }
    }

    fn bring_parts(&mut self, at: PageAddr, parts: Parts, whose: Whose) {
        let Some(reading) = self.pages.hold(at, parts) else { return };
        if let Some(slot) = self.programmed.get(&at) {
            // A Read could overtake the Write, and would show zeros after the slot is given back.
            let (page_buffer, slot) = (&self.page_buffer, *slot);
            return self.pages.renew(at..=at, || bytes_of(page_buffer, slot));
        }
        let fills = whose != Whose::Background && self.cache.is_on();
        if fills && self.are_cached(at, reading) {
            return;
        }
        self.start(Request::Read { at, reading, fills });
    }

    /// Whether all parts of a read are in the cache: then they are here.
    fn are_cached(&mut self, at: PageAddr, reading: Reading) -> bool {
        let (cache, mut bytes) = (&mut self.cache, Vec::new());
        for part in reading.parts.iter() {
            let Some(found) = cache.get((at, part)) else { return false };
            bytes.extend_from_slice(found);
        }
        self.pages.arrive(at, reading, Ok(bytes));
        true
    }

    /// A read has ended.
    pub(super) fn read_ended(
        &mut self,
        at: PageAddr,
        reading: Reading,
        fills: bool,
        found: Result<Vec<u8>, CellError>,
    ) {
        if let (true, Ok(bytes)) = (fills && self.pages.is_reading(at, reading), &found) {
            let parts = reading.parts.iter().zip(bytes.chunks(self.pages.part_bytes()));
            parts.for_each(|(part, bytes)| self.cache.insert((at, part), bytes));
        }
        self.pages.arrive(at, reading, found);
    }

    /// The same, and lets go of those that were held before: what is asked for again is not read again.
    pub fn bring_instead(&mut self, pages: &[PageAddr], before: &[PageAddr], whose: Whose) -> u64 {
        let hits = self.bring(pages, whose);
        self.release_pages(before);
        hits
    }

    /// A page of which those parts are looked at. What is not here will be asked for.
    pub(super) fn seen(&self, at: PageAddr, parts: Parts) -> Page<'_> {
        if self.torn.contains(&at) {
            return Page::Torn;
        }
        match self.pages.get(at, parts) {
            None => {
                self.note_looked(at, parts);
                Page::Absent
            }
            Some(Err(_)) => Page::Failed,
            Some(Ok(bytes)) => {
                let Some((data, oob)) = bytes.split_at_checked(self.geometry.page_bytes as usize) else {
                    return Page::Failed;
                };
                // A page that was programmed has a header there: its data are not looked through. Of one that is not here as a whole
                // that is not known.
                let is_whole = self.pages.get(at, self.pages.all()).is_some();
                let is_blank =
                    is_whole && saker_segment_store::is_zero(oob) && saker_segment_store::is_zero(data);
                if is_blank { Page::Erased } else { Page::Resident { data, oob } }
            }
        }
    }

    /// Who looks and does not ask leaves notes that nobody takes: then whole pages are read.
    fn note_looked(&self, at: PageAddr, parts: Parts) {
        let mut looked = self.looked.borrow_mut();
        if looked.len() >= LOOKED_MAX {
            looked.clear();
        }
        looked.push((at, parts));
    }
}
