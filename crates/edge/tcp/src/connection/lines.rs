// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the log has of a connection.

use saker_target::Bound;

use super::{Core, State};
use crate::logs::{Ended, told};

impl Core {
    /// A queue is connected. That of admin commands stands for its host.
    pub(super) fn tell_connected(&self, bound: Bound) {
        let Bound { cntlid, qid, entries, .. } = bound;
        let limits = &self.shared.limits;
        let (id, peer, host) = (self.id, &self.peer, &self.host);
        if qid == 0 {
            told!(limits, INFO, Connect, connection = id, %peer, host, cntlid, "host connected");
        } else {
            told!(limits, DEBUG, Connect, connection = id, %peer, host, cntlid, qid, entries, "queue connected");
        }
    }

    /// A command waits because its host holds as much memory as it may.
    pub(super) fn tell_memory_limit(&self) {
        let (limits, host, limit) = (&self.shared.limits, &self.host, "memory_max");
        told!(limits, INFO, Limit, connection = self.id, host, limit, "host waits for its limit");
    }

    /// It ends.
    pub(super) fn tell_end(&self, why: Ended) {
        let limits = &self.shared.limits;
        let (id, peer, host) = (self.id, &self.peer, &self.host);
        match (&self.state, self.qid) {
            // Without a secret a host can do no more than that.
            (State::Connected(_), Some(_)) if !self.is_admitted && why.is_of_host() => {
                told!(
                    limits,
                    WARN,
                    Authentication,
                    connection = id,
                    %peer,
                    host,
                    %why,
                    "host left without authentication"
                );
            }
            (State::Connected(_), Some(0)) => {
                told!(limits, INFO, Disconnect, connection = id, %peer, host, %why, "host disconnected");
            }
            (State::Connected(_), qid) => {
                told!(limits, DEBUG, Disconnect, connection = id, %peer, host, qid, %why, "queue disconnected");
            }
            _ => told!(limits, INFO, Stranger, connection = id, %peer, host, %why, "closed without a queue"),
        }
    }
}
