// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The read cache (SAKER, SYSTOR'25, section 3.4): values near the reader, so that a read that hits crosses no interface and
//! touches no medium. Only values up to a threshold are admitted: long ones amortise their command, and push many short ones
//! out.
//!
//! | file | holds |
//! |---|---|
//! | `options` | size, policy, threshold |
//! | `lru` | least recently used, as in the paper |
//! | `s3_fifo` | S3-FIFO (Yang et al., SOSP'23) |
//! | `shard` | one lock's part, by whichever policy |
//! | `stats` | counters |
//!
//! A cache knows nothing of stores. Who owns one keeps this: *a value that is in it is the newest that anybody may see.* So
//! writes replace or remove what is there before they return, and what was read is entered only if nothing was written
//! meanwhile. Reads enter values, writes only keep what is there up to date (as RocksDB's row cache, which the paper took,
//! is filled by reads).
//!
//! Both policies come from libraries; `cargo run --release -p saker-host --example caches` prints why these.

mod lru;
mod options;
mod s3_fifo;
mod shard;
mod slot;
mod stats;

use std::sync::Arc;

use saker_link::ShortLock;
use saker_nvme::Key;
use saker_sim::{Meter, Unit};

pub use options::{CacheOptions, CachePolicy};
pub use stats::CacheStats;

use shard::Shard;
use slot::Slot;

/// What an entry takes beside its value in bytes, about: key, links, table slot, counters of the value, two allocations.
pub const ENTRY_BYTES: usize = 128;

/// Values up to here are shown while the lock is held; longer ones are lent out.
const SHOWN_BYTES_MAX: usize = 4096;

/// Parts of a large cache, each with a lock of its own.
const SHARDS_MAX: usize = 16;

/// A part has room for so many of the longest values at least, so that dividing the cache costs no hits.
const PART_VALUES_MIN: usize = 64;

/// Values by key, of a limited number of bytes. Any thread may use it.
#[derive(Debug)]
pub struct ReadCache {
    shards: Box<[ShortLock<Shard>]>,
    value_bytes_max: usize,
}

impl ReadCache {
    /// An empty cache; nothing if it has no bytes.
    #[must_use]
    pub fn new(options: CacheOptions) -> Option<Self> {
        if options.bytes == 0 {
            return None;
        }
        let part = options.value_bytes_max.saturating_add(ENTRY_BYTES).saturating_mul(PART_VALUES_MIN);
        let wanted = (options.bytes / part).clamp(1, SHARDS_MAX);
        let count = 1 << wanted.ilog2();
        let shard = |_| ShortLock::new(Shard::new(options.policy, options.bytes / count));
        Some(Self { shards: (0..count).map(shard).collect(), value_bytes_max: options.value_bytes_max })
    }

    fn shard(&self, slot: &Slot) -> &ShortLock<Shard> {
        &self.shards[slot.part() & (self.shards.len() - 1)]
    }

    /// Shows the value of a key, if it is here.
    #[inline]
    pub fn get<R>(&self, key: &Key, meter: &mut impl Meter, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        meter.work(Unit::Lock, 1);
        meter.work(Unit::Probe, 2);
        let slot = Slot::new(key);
        let mut shard = self.shard(&slot).lock();
        let value = shard.get(&slot)?;
        meter.work(Unit::CopyByte, value.len() as u64);
        if value.len() <= SHOWN_BYTES_MAX {
            return Some(read(value));
        }
        let lent = Arc::clone(value);
        drop(shard);
        Some(read(&lent))
    }

    /// Whether a key is here. No hit and no miss.
    #[must_use]
    pub fn contains(&self, key: &Key) -> bool {
        let slot = Slot::new(key);
        self.shard(&slot).lock().contains(&slot)
    }

    /// Enters a value that was read, if it is short enough.
    pub fn insert(&self, key: &Key, value: &[u8], meter: &mut impl Meter) {
        let slot = Slot::new(key);
        let mut shard = self.shard(&slot).lock();
        if value.len() > self.value_bytes_max {
            shard.stats.refused += 1;
            shard.remove(&slot);
            return;
        }
        note_entry(value, meter);
        shard.insert(slot, value.into());
    }

    /// A key was written (`None`: deleted): what is here of it becomes that, or goes.
    pub fn update(&self, key: &Key, write: Option<&[u8]>, meter: &mut impl Meter) {
        meter.work(Unit::Lock, 1);
        meter.work(Unit::Probe, 1);
        let slot = Slot::new(key);
        let mut shard = self.shard(&slot).lock();
        match write {
            Some(value) if value.len() <= self.value_bytes_max => {
                if shard.contains(&slot) {
                    note_entry(value, meter);
                    shard.replace(slot, value.into());
                }
            }
            _ => shard.remove(&slot),
        }
    }

    /// Nothing of a key is here afterwards.
    pub fn remove(&self, key: &Key) {
        let slot = Slot::new(key);
        self.shard(&slot).lock().remove(&slot);
    }

    /// Nothing is here afterwards.
    pub fn clear(&self) {
        self.shards.iter().for_each(|shard| shard.lock().clear());
    }

    /// Counters of all parts.
    #[must_use]
    pub fn stats(&self) -> CacheStats {
        self.shards.iter().map(|shard| shard.lock().stats()).sum()
    }
}

fn note_entry(value: &[u8], meter: &mut impl Meter) {
    meter.work(Unit::Lock, 1);
    meter.work(Unit::Probe, 2);
    meter.work(Unit::CopyByte, value.len() as u64);
}

/// What an entry counts in bytes.
fn weight(value: &[u8]) -> usize {
    value.len() + ENTRY_BYTES
}

#[cfg(test)]
mod tests;
