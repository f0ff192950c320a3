// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host and device together: on the host's own thread, where the device makes progress whenever the host waits, or elsewhere.

use saker_device::{Device, Timed, Untimed};
use saker_host::{Driver, Spin};
use saker_sim::Instant;

/// A device that keeps no time.
#[derive(Debug)]
pub struct Inline(pub Device<Untimed>);

impl Driver for Inline {
    #[inline]
    fn drive(&mut self) {
        self.0.advance();
    }
}

/// A device in virtual time: a turn goes to its next event.
#[derive(Debug)]
pub struct Clocked(pub Device<Timed>);

impl Driver for Clocked {
    fn drive(&mut self) {
        let now = self.0.now();
        // First what the host has just done, at the current time; then the next event.
        self.0.advance(now);
        if let Some(next) = self.0.next_deadline() {
            self.0.advance(next);
        }
    }
}

/// What is below the lanes of a store: a device, here or elsewhere.
pub trait Below: Driver {
    /// Its time.
    fn now(&self) -> Instant;
    /// When its next event is; `None`: there is none, or it has a clock of its own.
    fn next_deadline(&self) -> Option<Instant>;
    /// Looks at doorbells at `now` and handles all events up to then. How many commands completed.
    fn advance(&mut self, now: Instant) -> u64;
    /// Handles events up to `until`, one by one, up to the first that completes a command. When that was.
    fn go_on(&mut self, until: Instant) -> Option<Instant>;
}

impl Below for Clocked {
    fn now(&self) -> Instant {
        self.0.now()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.0.next_deadline()
    }

    fn advance(&mut self, now: Instant) -> u64 {
        let before = self.0.stats_commands();
        self.0.advance(now);
        self.0.stats_commands() - before
    }

    #[inline]
    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        let before = self.0.stats_commands();
        while let Some(at) = self.0.next_event(until) {
            if self.0.stats_commands() != before {
                return Some(at);
            }
        }
        None
    }
}

/// A device on a thread of its own.
impl Below for Spin {
    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn advance(&mut self, _: Instant) -> u64 {
        0
    }

    fn go_on(&mut self, _: Instant) -> Option<Instant> {
        None
    }
}

/// A device without time: everything has happened once it was let go on.
impl Below for Inline {
    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn next_deadline(&self) -> Option<Instant> {
        None
    }

    fn advance(&mut self, _: Instant) -> u64 {
        self.drive();
        0
    }

    fn go_on(&mut self, _: Instant) -> Option<Instant> {
        None
    }
}
