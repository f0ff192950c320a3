//! A device on the host's own thread: whenever the host waits, the device makes progress.

use saker_device::{Device, Timed, Untimed};
use saker_host::Turn;

/// A device that keeps no time.
#[derive(Debug)]
pub struct Inline(pub Device<Untimed>);

impl Turn for Inline {
    #[inline]
    fn turn(&mut self) {
        self.0.advance();
    }
}

/// A device in virtual time: a turn goes to its next event.
#[derive(Debug)]
pub struct Clocked(pub Device<Timed>);

impl Turn for Clocked {
    fn turn(&mut self) {
        let now = self.0.now();
        // First what the host has just done, at the current time; then the next event.
        self.0.advance(now);
        if let Some(next) = self.0.next_deadline() {
            self.0.advance(next);
        }
    }
}
