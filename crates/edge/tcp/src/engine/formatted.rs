// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Namespaces that Redis clients have formatted.

use super::Engine;

impl Engine {
    /// Redis clients have formatted namespaces, which hosts have to be told of.
    pub(super) fn tell_formatted(&mut self) {
        let Some(local) = &self.local else { return };
        let formatted = std::mem::take(&mut local.shared().formatted);
        for nsid in &formatted {
            self.subsystem.was_formatted(*nsid);
        }
        if !formatted.is_empty() {
            self.tell_events();
        }
    }
}
