// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that find the store full while scans are on their way.
//!
//! A scan has a view of its own, and what is replaced meanwhile stays where it is for that view. The view ends with the scan, which
//! waits for nothing but reads. So a write that finds no room waits for the scans that are on their way then, and is refused if there
//! is none when they have ended. Views that users take are not waited for: nobody knows when they end.

use super::parked::Parked;
use super::{HostKv, Outcome, Ticket};
use saker_engine::KvError;

/// What a write that found no room waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Full {
    /// Scans that were submitted before, if it ever found none.
    before: Option<Ticket>,
    /// It found none the last time, when so many scans had ended.
    since: Option<u64>,
}

impl Full {
    /// It is tried again.
    pub fn tried(&mut self) {
        self.since = None;
    }
}

impl HostKv {
    /// Whether an operation that ended so is to wait for scans and to be tried again.
    #[cold]
    pub(super) fn waits_for_scans(&self, parked: &mut Parked, outcome: &Outcome) -> bool {
        if *outcome != Err(KvError::CapacityExceeded) {
            return false;
        }
        let before = *parked.full.before.get_or_insert(Ticket(self.next_ticket));
        parked.full.since = Some(self.scans_ended);
        self.parked.iter().any(|other| other.scanning.is_some() && other.ticket < before)
    }

    /// Whether a write found no room, and no scan has ended since.
    pub(super) fn is_still_full(&self, parked: &Parked) -> bool {
        parked.full.since == Some(self.scans_ended)
    }
}
