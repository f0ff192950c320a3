// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Turns of hosts at the sockets of a subsystem's thread.
//!
//! The thread has one turn for its device, then one for its sockets. While several hosts are there, all connections of a host together
//! move so many bytes between two turns of the device, in the order in which they ask for more. So the connections of a greedy host,
//! however many there are, keep the thread from the command of another one no longer than that takes. A host alone has no such bound.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::Semaphore;
use tokio::task::yield_now;

/// Bytes that a host's connections move in a turn.
const TURN_BYTES: usize = 32 << 10;
/// What a system call costs beside the bytes that it moves.
const CALL_BYTES: usize = 2 << 10;

/// Whether several hosts are there.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crowd(Arc<AtomicBool>);

impl Crowd {
    pub fn set(&self, is_there: bool) {
        self.0.store(is_there, Ordering::Relaxed);
    }

    pub fn is_there(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// That of one host. All that use it are on one thread.
#[derive(Debug)]
pub(crate) struct Turn {
    crowd: Crowd,
    /// Those that have to wait for another turn stand in line here.
    line: Semaphore,
    /// What has been moved in this turn.
    moved: AtomicUsize,
}

impl Turn {
    pub fn new(crowd: Crowd) -> Arc<Self> {
        Arc::new(Self { crowd, line: Semaphore::new(1), moved: AtomicUsize::new(0) })
    }

    /// How much to move at once; everything if no other host is there.
    pub fn bytes_max(&self) -> usize {
        if self.crowd.is_there() { TURN_BYTES } else { usize::MAX }
    }

    /// A connection has moved so many bytes by a system call.
    pub fn moved(&self, bytes: usize) {
        self.moved.fetch_add(bytes + CALL_BYTES, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.moved.load(Ordering::Relaxed) >= TURN_BYTES
    }

    /// Waits until this connection may move something.
    pub async fn come(&self) {
        while self.is_over() && self.crowd.is_there() {
            let Ok(_first) = self.line.acquire().await else { return };
            if self.is_over() {
                yield_now().await;
                self.moved.store(0, Ordering::Relaxed);
            }
        }
    }
}
