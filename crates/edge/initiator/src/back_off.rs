// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pauses between attempts to connect.

use std::time::{Duration, Instant};

/// The first pause.
const FIRST: Duration = Duration::from_millis(20);
/// The longest pause.
pub(crate) const LONGEST: Duration = Duration::from_secs(2);

/// Pauses, each twice as long as the one before, up to a deadline.
#[derive(Debug)]
pub(crate) struct BackOff {
    deadline: Instant,
    next: Duration,
}

impl BackOff {
    /// No pause ends later than `patience` from now.
    pub fn new(patience: Duration) -> Self {
        Self { deadline: Instant::now() + patience, next: FIRST }
    }

    /// Waits; false, at once, if no time is left.
    pub fn pause(&mut self) -> bool {
        if Instant::now() + self.next > self.deadline {
            return false;
        }
        std::thread::sleep(self.next);
        self.next = (self.next * 2).min(LONGEST);
        true
    }
}
