// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One lock's part of a cache.

use std::sync::Arc;

use super::lru::Lru;
use super::options::CachePolicy;
use super::s3_fifo::S3Fifo;
use super::slot::Slot;
use super::stats::CacheStats;

#[derive(Debug)]
enum Policy {
    Lru(Lru),
    S3Fifo(S3Fifo),
}

#[derive(Debug)]
pub(super) struct Shard {
    policy: Policy,
    pub stats: CacheStats,
}

impl Shard {
    pub fn new(policy: CachePolicy, bytes_max: usize) -> Self {
        let policy = match policy {
            CachePolicy::Lru => Policy::Lru(Lru::new(bytes_max)),
            CachePolicy::S3Fifo => Policy::S3Fifo(S3Fifo::new(bytes_max)),
        };
        Self { policy, stats: CacheStats::default() }
    }

    #[inline]
    pub fn get(&mut self, slot: &Slot) -> Option<&Arc<[u8]>> {
        let found = match &mut self.policy {
            Policy::Lru(lru) => lru.get(slot),
            Policy::S3Fifo(fifo) => fifo.get(slot),
        };
        match found {
            Some(_) => self.stats.hits += 1,
            None => self.stats.misses += 1,
        }
        found
    }

    pub fn contains(&self, slot: &Slot) -> bool {
        match &self.policy {
            Policy::Lru(lru) => lru.contains(slot),
            Policy::S3Fifo(fifo) => fifo.contains(slot),
        }
    }

    pub fn insert(&mut self, slot: Slot, value: Arc<[u8]>) {
        self.stats.inserted += 1;
        match &mut self.policy {
            Policy::Lru(lru) => lru.insert(slot, value),
            Policy::S3Fifo(fifo) => fifo.insert(slot, value),
        }
    }

    pub fn replace(&mut self, slot: Slot, value: Arc<[u8]>) {
        self.stats.updated += 1;
        match &mut self.policy {
            Policy::Lru(lru) => lru.replace(&slot, value),
            Policy::S3Fifo(fifo) => fifo.replace(slot, value),
        }
    }

    pub fn remove(&mut self, slot: &Slot) {
        let removed = match &mut self.policy {
            Policy::Lru(lru) => lru.remove(slot),
            Policy::S3Fifo(fifo) => fifo.remove(slot),
        };
        self.stats.removed += u64::from(removed);
    }

    pub fn clear(&mut self) {
        match &mut self.policy {
            Policy::Lru(lru) => lru.clear(),
            Policy::S3Fifo(fifo) => fifo.clear(),
        }
    }

    pub fn stats(&self) -> CacheStats {
        let (entries, bytes) = match &self.policy {
            Policy::Lru(lru) => (lru.len(), lru.bytes()),
            Policy::S3Fifo(fifo) => (fifo.len(), fifo.bytes()),
        };
        CacheStats { entries: entries as u64, bytes: bytes as u64, ..self.stats }
    }
}
