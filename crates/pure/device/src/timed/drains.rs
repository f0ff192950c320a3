// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What waits until writes before it are on the flash: flushes, and drains of the whole device.

use super::{Id, Stage, Timed};
use crate::device::Device;
use saker_sim::Class;

impl Device<Timed> {
    pub(super) fn is_flushed(&mut self, id: Id) -> bool {
        let finished = self.flash.finished();
        let token = self.token(id);
        let (Stage::Flushing, Some(tag)) = (token.stage, token.reply.flush) else { return false };
        let n = token.namespace;
        self.namespaces[n].is_flushed(tag, finished)
    }

    /// Ends the drains that are over; the workers make failed programs good for the others.
    pub(super) fn wake_drains(&mut self) {
        self.end_drains();
        if self.drains.is_empty() {
            return;
        }
        for n in 0..self.namespaces.len() {
            let owner = self.namespaces[n].owner();
            if self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
                self.start_worker(n);
            }
        }
    }
}
