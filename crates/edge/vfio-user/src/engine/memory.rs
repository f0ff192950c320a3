// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that comes and goes: a client's, and the controller memory buffer.

use std::sync::Arc;
use std::time::Instant as Clock;

use super::{Engine, WITHOUT_MEMORY};
use crate::bus_error;
use crate::probe::Counts;

impl Engine {
    /// Whether a queue is nowhere. If that lasts the controller fails.
    pub(super) fn is_without_memory(&mut self) -> bool {
        let Some(since) = self.without_memory else { return false };
        if since.elapsed() > WITHOUT_MEMORY {
            self.lose_memory("the memory of a queue was unmapped");
        }
        self.without_memory.is_some()
    }

    /// The controller has failed, and its driver can only reset it.
    pub fn lose_memory(&mut self, why: &str) {
        tracing::warn!(socket = self.socket, why, "the controller has failed");
        self.device.lose_memory();
        self.without_memory = None;
    }

    /// Memory was mapped or unmapped.
    pub fn follow_memory(&mut self) {
        let is_there = self.device.follow_memory();
        self.without_memory =
            if is_there { None } else { self.without_memory.or_else(|| Some(Clock::now())) };
    }

    /// The controller memory buffer is where the driver says, or nowhere.
    pub fn move_memory(&mut self) {
        let Some(buffer) = self.function.memory_buffer() else { return };
        let front = buffer.window().map(|at| (at, Arc::clone(buffer.memory())));
        let is_there = self.space.set_front(front);
        debug_assert!(is_there, "a window that cannot be is none");
        self.follow_memory();
    }

    /// Some client has taken memory away behind a mapping. If it is ours it is left.
    pub(super) fn look_for_lost_memory(&mut self) {
        self.lost_pages = bus_error::lost_pages();
        if self.client.is_some() && self.space.has_lost_foreign() {
            Counts::add(&self.counts.expelled);
            self.leave(&"it has taken away memory that it had mapped");
        }
    }
}
