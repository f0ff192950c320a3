// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts of pages that reads of operations have brought, the least recently used of which go: RocksDB's block cache
//! (facebook/rocksdb, `include/rocksdb/cache.h`), for blocks as they are on the device. As there, merges and collections fill it not
//! (`fill_cache` of their reads is false).

use super::super::held::Parts;
use lru::LruCache;
use saker_segment_store::PageAddr;
use std::ops::RangeInclusive;

/// A part of a page.
type At = (PageAddr, u32);

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCacheStats {
    /// Parts that were there when an operation asked for them.
    pub hits: u64,
    /// Parts that were not.
    pub misses: u64,
}

/// The cache: the library's list and table, our count of bytes.
#[derive(Debug)]
pub(super) struct BlockCache {
    bytes_max: u64,
    bytes: u64,
    kept: LruCache<At, Vec<u8>>,
    pub stats: BlockCacheStats,
}

impl BlockCache {
    /// Room for so many bytes of parts; 0: it keeps nothing.
    pub fn new(bytes_max: u64) -> Self {
        Self { bytes_max, bytes: 0, kept: LruCache::unbounded(), stats: BlockCacheStats::default() }
    }

    /// Whether it keeps anything at all.
    pub fn is_on(&self) -> bool {
        self.bytes_max > 0
    }

    /// Bytes that it keeps.
    #[cfg(test)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// A part, if it is there. It is used.
    pub fn get(&mut self, at: At) -> Option<&[u8]> {
        let found = self.kept.get(&at);
        let counted = if found.is_some() { &mut self.stats.hits } else { &mut self.stats.misses };
        *counted += 1;
        found.map(Vec::as_slice)
    }

    /// A part was read. What was used longest ago goes.
    pub fn insert(&mut self, at: At, bytes: &[u8]) {
        if bytes.len() as u64 > self.bytes_max {
            return;
        }
        self.remove(at);
        self.bytes += bytes.len() as u64;
        self.kept.push(at, bytes.to_vec());
        while self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.kept.pop_lru() else { break };
            self.bytes -= oldest.len() as u64;
        }
    }

    fn remove(&mut self, at: At) {
        if let Some(gone) = self.kept.pop(&at) {
            self.bytes -= gone.len() as u64;
        }
    }

    /// Pages are written or deallocated.
    pub fn forget(&mut self, pages: RangeInclusive<PageAddr>) {
        if self.kept.is_empty() {
            return;
        }
        for page in pages.start().0..=pages.end().0 {
            (0..Parts::MAX).for_each(|part| self.remove((PageAddr(page), part)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page: u64, part: u32) -> At {
        (PageAddr(page), part)
    }

    fn found(cache: &mut BlockCache, page: u64, part: u32) -> Option<u8> {
        cache.get(at(page, part)).map(|bytes| bytes[0])
    }

    #[test]
    fn what_was_used_longest_ago_goes() {
        let mut cache = BlockCache::new(30);
        (0..3).for_each(|n| cache.insert(at(n, 0), &[n as u8; 10]));
        assert_eq!(found(&mut cache, 0, 0), Some(0));
        cache.insert(at(3, 1), &[3; 10]);
        assert_eq!((found(&mut cache, 1, 0), cache.bytes()), (None, 30), "the second was used longest ago");
        let left = [(0, 0), (2, 0), (3, 1)].map(|(page, part)| found(&mut cache, page, part));
        assert_eq!(left, [Some(0), Some(2), Some(3)]);
        assert_eq!(cache.stats, BlockCacheStats { hits: 4, misses: 1 });
    }

    #[test]
    fn what_is_written_or_too_long_is_not_kept() {
        let mut cache = BlockCache::new(30);
        cache.insert(at(1, 0), &[1; 10]);
        cache.insert(at(1, 3), &[1; 10]);
        cache.insert(at(2, 0), &[2; 10]);
        cache.forget(PageAddr(1)..=PageAddr(1));
        let gone = [0, 3].map(|part| found(&mut cache, 1, part));
        assert_eq!((gone, cache.bytes()), ([None, None], 10));
        cache.insert(at(2, 0), &[5; 10]);
        assert_eq!((found(&mut cache, 2, 0), cache.bytes()), (Some(5), 10), "the newer of two");
        cache.insert(at(4, 0), &[0; 31]);
        assert_eq!(found(&mut cache, 4, 0), None);
        let mut off = BlockCache::new(0);
        off.insert(at(0, 0), &[1]);
        assert!(!off.is_on() && found(&mut off, 0, 0).is_none());
    }
}
