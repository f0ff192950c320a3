// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How large a cache is and how it chooses.

/// What leaves a full cache.
///
/// ```
/// use saker_host::CachePolicy;
/// assert_eq!(CachePolicy::named("s3fifo"), Some(CachePolicy::S3Fifo));
/// assert_eq!(CachePolicy::default().name(), "lru");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CachePolicy {
    /// What was not used for the longest time (SYSTOR'25, section 3.4).
    #[default]
    Lru,
    /// What was not used again soon after it came, then what is not used any more (S3-FIFO, SOSP'23).
    S3Fifo,
}

impl CachePolicy {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Lru, Self::S3Fifo];

    /// The name it is asked for by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::S3Fifo => "s3fifo",
        }
    }

    /// The policy of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// How large a cache is and how it chooses.
///
/// ```
/// use saker_host::{CacheOptions, CachePolicy};
/// let options = CacheOptions { policy: CachePolicy::S3Fifo, ..CacheOptions::sized(64 << 20) }; // 64 MiB
/// assert_eq!(options.value_bytes_max, 4096, "longer values are read from the device each time");
/// assert_eq!(CacheOptions::default().bytes, 0, "there is no cache unless one is asked for");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    /// Bytes of values with [`ENTRY_BYTES`](super::ENTRY_BYTES) each; 0: no cache.
    pub bytes: usize,
    /// What leaves it.
    pub policy: CachePolicy,
    /// Longest value that is admitted, in bytes.
    pub value_bytes_max: usize,
}

impl CacheOptions {
    /// No cache.
    pub const NONE: Self = Self::sized(0);

    /// LRU with so many bytes, for values of up to 4 KiB: what one page of a command carries. The paper has a threshold
    /// and does not say which.
    #[must_use]
    pub const fn sized(bytes: usize) -> Self {
        Self { bytes, policy: CachePolicy::Lru, value_bytes_max: 4096 }
    }
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self::NONE
    }
}
