// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a cache counts.

use std::iter::Sum;

/// What a cache has done, and holds.
///
/// ```
/// use saker_host::CacheStats;
/// let before = CacheStats { hits: 10, misses: 10, ..CacheStats::default() };
/// let now = CacheStats { hits: 19, misses: 11, ..CacheStats::default() };
/// assert_eq!(now.since(&before).hit_ratio(), 0.9);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Values entered after a read.
    pub inserted: u64,
    /// Values that were too long to be admitted.
    pub refused: u64,
    /// Values that a write replaced.
    pub updated: u64,
    /// Values that a write or a failure removed.
    pub removed: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes of the entries, with [`ENTRY_BYTES`](super::ENTRY_BYTES) each.
    pub bytes: u64,
}

impl CacheStats {
    /// Hits by reads, 0 to 1; 0 without reads.
    #[must_use]
    pub fn hit_ratio(&self) -> f64 {
        let reads = self.hits + self.misses;
        if reads == 0 { 0.0 } else { self.hits as f64 / reads as f64 }
    }

    /// What was counted since `before`; entries and bytes stay as they are.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            hits: self.hits - before.hits,
            misses: self.misses - before.misses,
            inserted: self.inserted - before.inserted,
            refused: self.refused - before.refused,
            updated: self.updated - before.updated,
            removed: self.removed - before.removed,
            ..*self
        }
    }
}

impl Sum for CacheStats {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), |a, b| Self {
            hits: a.hits + b.hits,
            misses: a.misses + b.misses,
            inserted: a.inserted + b.inserted,
            refused: a.refused + b.refused,
            updated: a.updated + b.updated,
            removed: a.removed + b.removed,
            entries: a.entries + b.entries,
            bytes: a.bytes + b.bytes,
        })
    }
}
