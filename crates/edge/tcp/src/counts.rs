// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the threads of sockets count; the metrics tell it.

use std::sync::atomic::{AtomicU64, Ordering};

/// What the threads of sockets count.
#[derive(Debug, Default)]
pub(crate) struct SocketCounts {
    /// Sockets accepted.
    pub accepted: AtomicU64,
    /// Of these, closed for want of a place.
    pub without_place: AtomicU64,
    /// Connects refused.
    pub refused: AtomicU64,
}

/// Counts one more.
pub(crate) fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}
