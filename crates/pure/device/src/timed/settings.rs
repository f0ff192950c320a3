// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a changed setting means in time.

use super::Timed;
use crate::device::Device;
use saker_sim::Class;

impl Device<Timed> {
    /// A setting has changed: background work that has become due begins, though no command follows, and delayed writes may not be delayed
    /// any more. Commands that are blocked need nothing: a worker is busy for them, and they look again after its quantum.
    pub(super) fn follow_settings(&mut self) {
        if !std::mem::take(&mut self.retuned) {
            return;
        }
        for n in 0..self.namespaces.len() {
            self.look_at_turns(n);
            let owner = self.namespaces[n].owner();
            if self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
                self.start_worker(n);
            }
        }
    }
}
