// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the time of commands went, while somebody asks for it.

use super::{Id, Timed};
use crate::device::Device;
use crate::trace::{CommandTrace, Part};

impl Device<Timed> {
    /// From now on the times of commands are collected, until [`take_traces`](Self::take_traces).
    pub fn start_traces(&mut self) {
        self.tempo.traces.get_or_insert_default();
    }

    /// The traces of the commands that completed since the last call, in the order of their completion.
    pub fn take_traces(&mut self) -> Vec<CommandTrace> {
        self.tempo.traces.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Notes for traces that a command's stage is over.
    #[inline]
    pub(super) fn lap(&mut self, id: Id, part: Part) {
        if self.tempo.traces.is_some() {
            self.trace(id, part);
        }
    }

    #[inline(never)]
    fn trace(&mut self, id: Id, part: Part) {
        let now = self.tempo.now;
        let token = self.token(id);
        token.clock.lap(now, part, token.service);
    }
}
