//! What a cache counts.

/// What a cache has done.
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
