// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors of building and filling rings.

use thiserror::Error;

use crate::dma::ArenaFull;

/// A queue that cannot be built from the values given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum RingError {
    /// A queue holds 2 to 65536 entries.
    #[error("a queue of {0} entries is not possible")]
    EntryCount(u32),
    /// The entries do not start at a page of the arena or do not end within it.
    #[error("a queue of {bytes} bytes at IOVA {iova:#x} is not in the arena, or not page-aligned")]
    Memory {
        /// Address of the first entry.
        iova: u64,
        /// Bytes of all entries.
        bytes: usize,
    },
    /// There is no doorbell for this queue.
    #[error("queue {0} has no doorbell")]
    QueueId(u16),
    /// The host has no memory for the queue.
    #[error(transparent)]
    Arena(#[from] ArenaFull),
}

/// The submission queue has no free entry: the one after its tail is the controller's head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the submission queue is full")]
pub struct SqFull;
