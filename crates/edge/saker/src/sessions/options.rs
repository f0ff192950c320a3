// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How sessions work.

use saker_host::CacheOptions;
use std::time::Duration;

/// How sessions of a device work.
///
/// ```
/// use saker::{CacheOptions, Saker, SakerOptions};
/// let options = SakerOptions {
///     sessions: 2,                          // for two threads
///     cache: CacheOptions::sized(1 << 20), // 1 MiB for both
///     ..SakerOptions::default()
/// };
/// let saker = Saker::open("mem:?size=4MiB&profile=tiny", options)?;
/// let both = (saker.session()?, saker.session()?);
/// assert!(matches!(saker.session(), Err(saker::Error::NoSession)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SakerOptions {
    /// Sessions that can be open at the same time. Each has a queue pair; durable writes share one more.
    pub sessions: u16,
    /// Commands of a session in flight.
    pub depth: u16,
    /// Writes of a container.
    pub batch: u16,
    /// The longest that a write stays in an open container, about, when nobody syncs.
    pub linger: Duration,
    /// The read cache of all sessions; what the URL says about it counts more.
    pub cache: CacheOptions,
}

impl Default for SakerOptions {
    /// 8 sessions, 32 commands each, containers of 64 writes that leave after a millisecond or two, no cache.
    fn default() -> Self {
        Self {
            sessions: 8,
            depth: 32,
            batch: 64,
            linger: Duration::from_millis(1),
            cache: CacheOptions::NONE,
        }
    }
}
