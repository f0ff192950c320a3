//! What a changed setting means for commands on their way.

use super::Timed;
use crate::device::Device;
use saker_sim::Class;

impl Device<Timed> {
    /// A setting has changed: commands that are blocked look again whether they are, since background work that would have told
    /// them may not be due any more; what has become due begins.
    pub(super) fn follow_settings(&mut self) {
        if !std::mem::take(&mut self.retuned) {
            return;
        }
        for n in 0..self.namespaces.len() {
            self.retry_blocked(n);
            let owner = self.namespaces[n].owner();
            if self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background)) {
                self.start_worker(n);
            }
        }
    }
}
