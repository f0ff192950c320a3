// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a connection holds and may hold: the books of its seat.

use saker_target::Bound;
use tokio::time::Instant;

use super::Core;

/// Bytes read at once, and as many at least where memory is short.
pub(super) const READ_BYTES: usize = 256 << 10;
const READ_BYTES_MIN: usize = 16 << 10;

impl Core {
    /// When to close although the host has not taken everything: it has as long as a server that stops gives.
    pub(super) fn over_by(&mut self) -> Option<Instant> {
        if self.is_over() && self.over_by.is_none() {
            self.over_by = Some(Instant::now() + self.shared.config.stop_timeout);
        }
        self.over_by
    }

    /// Keeps the books of memory: takes the turn that has come, gives back what is not needed, asks for what the next command
    /// needs.
    pub(super) fn settle(&mut self) {
        if self.seat.waits() && self.seat.refresh() {
            self.target.allow(self.seat.allowed());
        }
        self.seat.keep(self.target.memory());
        self.target.allow(self.seat.allowed());
        while let Some(bytes) = self.target.wanted() {
            let waited = self.seat.waits();
            if !self.seat.raise(self.target.held(), bytes) {
                if !waited && self.seat.waits_for_host() {
                    self.tell_memory_limit();
                }
                break;
            }
            self.target.allow(self.seat.allowed());
        }
        self.pass_commands();
    }

    /// Its memory counts as that of its host from now on.
    pub(super) fn enter_host(&mut self, bound: Bound) {
        let (subsystem, host) = &self.names;
        self.seat.enter_host(subsystem, host, bound.memory_max);
    }

    /// Commands go to the subsystem. Those of an admin queue may be held there for ever, as requests for events are.
    pub(super) fn note_asked(&self, commands: usize) {
        if self.qid != Some(0) {
            self.seat.asked(commands);
        }
    }

    /// Commands come back answered.
    pub(super) fn note_answered(&self, commands: usize) {
        if self.qid != Some(0) {
            self.seat.has_answers(commands);
        }
    }

    /// Whether there is room for what the host may say next. If not, commands under way make room, or the host by reading.
    pub(super) fn has_room(&self) -> bool {
        self.target.undrained() < self.seat.share()
    }

    /// How much may be read at once: data in capsules cannot be refused any more once it is read.
    pub(super) fn readable_bytes(&self) -> usize {
        let of_turn = self.turn.as_ref().map_or(READ_BYTES, |turn| turn.bytes_max().min(READ_BYTES));
        self.seat.share().saturating_sub(self.target.undrained()).clamp(READ_BYTES_MIN, of_turn)
    }
}
