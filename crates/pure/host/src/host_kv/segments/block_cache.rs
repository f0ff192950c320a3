// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts of pages that reads of operations have brought, the least recently used of which go: RocksDB's block cache
//! (facebook/rocksdb, `include/rocksdb/cache.h`), for blocks as they are on the device. As there, merges and collections fill it not
//! (`fill_cache` of their reads is false).

use super::super::held::Parts;
use saker_segment_store::PageAddr;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// A part of a page.
type At = (PageAddr, u32);

#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    /// When it was used last.
    used: u64,
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCacheStats {
    /// Parts that were there when an operation asked for them.
    pub hits: u64,
    /// Parts that were not.
    pub misses: u64,
}

/// The cache.
#[derive(Debug, Default)]
pub(super) struct BlockCache {
    bytes_max: u64,
    bytes: u64,
    kept: BTreeMap<At, Kept>,
    by_use: BTreeMap<u64, At>,
    uses: u64,
    pub stats: BlockCacheStats,
}

impl BlockCache {
    /// Room for so many bytes of parts; 0: it keeps nothing.
    pub fn new(bytes_max: u64) -> Self {
        Self { bytes_max, ..Self::default() }
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
        let Some(kept) = self.kept.get_mut(&at) else {
            self.stats.misses += 1;
            return None;
        };
        self.stats.hits += 1;
        self.uses += 1;
        self.by_use.remove(&kept.used);
        kept.used = self.uses;
        self.by_use.insert(self.uses, at);
        Some(&kept.bytes)
    }

    /// A part was read. What was used longest ago goes.
    pub fn insert(&mut self, at: At, bytes: &[u8]) {
        if bytes.len() as u64 > self.bytes_max {
            return;
        }
        self.remove(at);
        self.uses += 1;
        self.bytes += bytes.len() as u64;
        self.kept.insert(at, Kept { bytes: bytes.to_vec(), used: self.uses });
        self.by_use.insert(self.uses, at);
        while self.bytes > self.bytes_max {
            let Some((_, oldest)) = self.by_use.first_key_value() else { break };
            self.remove(*oldest);
        }
    }

    fn remove(&mut self, at: At) {
        if let Some(gone) = self.kept.remove(&at) {
            self.by_use.remove(&gone.used);
            self.bytes -= gone.bytes.len() as u64;
        }
    }

    /// Pages are written or deallocated.
    pub fn forget(&mut self, pages: RangeInclusive<PageAddr>) {
        if self.kept.is_empty() {
            return;
        }
        let range = (*pages.start(), 0)..=(*pages.end(), Parts::MAX);
        let gone: Vec<At> = self.kept.range(range).map(|(at, _)| *at).collect();
        gone.into_iter().for_each(|at| self.remove(at));
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
