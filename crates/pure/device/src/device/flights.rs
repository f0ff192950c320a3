// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that take time, and who waits for their end: a reset, and the deletion of a submission queue. Until then a command
//! may reach memory that its host named, and its completion could be taken for that of a later command.

use saker_nvme::Status;
use saker_nvme::admin::opcode::DELETE_SQ;

use super::Device;

/// I/O commands on their way, by submission queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flights {
    by_queue: Vec<u32>,
    total: u32,
    is_disabling: bool,
    /// A queue has as many on their way as it may: its next ones are fetched when one has ended.
    is_full: bool,
    /// Queues that were deleted, with the commands that did so.
    deleting: Vec<(u16, u16)>,
}

impl Flights {
    /// A command was fetched.
    pub fn begin(&mut self, qid: u16) {
        let n = usize::from(qid);
        if self.by_queue.len() <= n {
            self.by_queue.resize(n + 1, 0);
        }
        self.by_queue[n] += 1;
        self.total += 1;
    }

    fn end(&mut self, qid: u16) {
        let of_queue = &mut self.by_queue[usize::from(qid)];
        *of_queue = of_queue.checked_sub(1).expect("a command that ends has begun");
        self.total -= 1;
    }

    /// Whether one more of a queue may be fetched that may have so many on their way.
    pub fn admits(&mut self, qid: u16, most: u32) -> bool {
        let admits = self.by_queue.get(usize::from(qid)).is_none_or(|n| *n < most);
        self.is_full |= !admits;
        admits
    }

    /// Whether one has not been admitted since this was asked last.
    pub fn take_full(&mut self) -> bool {
        std::mem::take(&mut self.is_full)
    }

    /// Whether commands of a queue are on their way.
    pub fn has(&self, qid: u16) -> bool {
        self.by_queue.get(usize::from(qid)).is_some_and(|n| *n > 0)
    }

    /// Whether no command is on its way and nobody waits for that.
    pub const fn is_landed(&self) -> bool {
        self.total == 0 && !self.is_disabling
    }

    /// The controller is being disabled; its queues are gone.
    pub fn disable(&mut self) {
        self.is_disabling = true;
        self.deleting.clear();
    }

    /// A queue is gone; the command `cid` of the admin queue that deleted it waits.
    pub fn delete(&mut self, qid: u16, cid: u16) {
        self.deleting.push((qid, cid));
    }
}

impl<T> Device<T> {
    /// CSTS.RDY clears, and what the host asked for meanwhile is looked at, once no command is on its way.
    pub(super) fn end_disable(&mut self) {
        if self.flights.is_disabling && self.flights.total == 0 {
            self.flights.is_disabling = false;
            self.controller.disabled(&self.host.registers);
            self.changes_seen = self.changes_seen.wrapping_sub(1);
        }
    }

    /// A command has ended; its completion is posted, if its queue is still there.
    pub(crate) fn end_flight(&mut self, qid: u16) {
        self.flights.end(qid);
        self.end_disable();
        if self.flights.has(qid) {
            return;
        }
        while let Some(at) = self.flights.deleting.iter().position(|(deleted, _)| *deleted == qid) {
            let (_, cid) = self.flights.deleting.swap_remove(at);
            self.complete_admin(DELETE_SQ, cid, Status::SUCCESS, 0);
        }
    }
}
