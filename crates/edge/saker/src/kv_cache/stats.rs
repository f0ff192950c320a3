// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a cache counts.

/// What a cache has done.
///
/// ```
/// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
/// let mut buffer = [0; 16];
/// cache.get_into(b"block", &mut buffer)?; // a miss
/// cache.put_if_absent(b"block", b"data")?;
/// cache.get_into(b"block", &mut buffer)?; // a hit
/// let stats: saker::KvCacheStats = cache.stats();
/// assert_eq!((stats.misses, stats.stored, stats.hits), (1, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KvCacheStats {
    /// Reads that found their key.
    pub hits: u64,
    /// Reads that did not.
    pub misses: u64,
    /// Pairs stored.
    pub stored: u64,
    /// Pairs that were there already when they should have been stored.
    pub present: u64,
    /// Pairs that went to make room.
    pub evicted: u64,
    /// Pairs that went because of their age.
    pub expired: u64,
}
