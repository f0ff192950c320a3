// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connections that are gone while the device works for them.

#[cfg(test)]
pub(super) mod tests;

use saker_target::ConnectionId;

use super::Engine;
use crate::memory::Seat;

impl Engine {
    /// A host that has lost a connection asks again over another what was not answered. So commands that the device has not begun
    /// are dropped: carried out later, an older write would replace a newer one.
    pub(super) fn closed(&mut self, id: ConnectionId, seat: Seat) {
        let now = self.now();
        let with_device = self
            .peers
            .remove(&id)
            .map_or(0, |peer| peer.outstanding - self.traffic.leave(peer.host, id, now));
        if with_device > 0 {
            self.leaving.insert(id, (with_device, seat));
        }
        self.end_iterators(id);
        self.end_splits(id);
        for queue in self.subsystem.disconnected(id) {
            self.close(queue);
        }
        self.follow_write_cache();
    }

    /// A command has ended; its connection may be gone.
    pub(super) fn left(&mut self, id: ConnectionId) {
        if let Some((commands, _)) = self.leaving.get_mut(&id) {
            *commands -= 1;
            if *commands == 0 {
                self.leaving.remove(&id);
            }
        }
    }
}
