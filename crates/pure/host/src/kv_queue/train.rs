// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands of one value when they cannot all go out at once.

use std::collections::VecDeque;

use saker_link::{Completion, Slot};
use saker_nvme::Sqe;

use super::{DataPlace, KvQueue, Shape, Ticket};
use crate::transfer::Pacing;

/// The rest of a value. While there is one, no other command may come between its parts, so the queue takes none.
#[derive(Debug)]
pub(super) struct Train {
    /// The slot of the last command, at rest. Parts borrow it when there is no other.
    slot: Option<Slot>,
    /// Its index: what parts report to.
    last: u16,
    pub(super) entries: VecDeque<Sqe>,
    pub(super) at_once: bool,
    /// The last command lends the staging page.
    lends: bool,
}

impl Train {
    pub(super) fn new(mut slot: Slot, count: u32, at_once: bool, lends: bool) -> Self {
        let room = if at_once { 0 } else { count as usize };
        let last = slot.index();
        slot.rest();
        Self { slot: Some(slot), last, entries: VecDeque::with_capacity(room), at_once, lends }
    }

    /// The slot of the last command, unless it is out with a part.
    pub(super) fn take_slot(&mut self) -> Option<Slot> {
        let mut slot = self.slot.take()?;
        slot.owe();
        Some(slot)
    }

    /// Whether the slot of the last command is here, and not out with a part.
    pub(super) fn is_home(&self) -> bool {
        self.slot.is_some()
    }

    /// The index of the slot of the last command.
    pub(super) fn last(&self) -> u16 {
        self.last
    }

    fn give_back(&mut self, mut slot: Slot) {
        debug_assert!(self.slot.is_none() && slot.index() == self.last, "it is the one that was borrowed");
        slot.rest();
        self.slot = Some(slot);
    }
}

impl KvQueue {
    /// Submits what comes next of a value whose commands do not all go out at once, and returns the number of commands; the
    /// caller rings. To be called after completions, until [`is_amid_value`](Self::is_amid_value) is false: nothing else
    /// can be submitted before.
    pub fn continue_value(&mut self) -> u32 {
        let Some(mut train) = self.train.take() else { return 0 };
        let mut sent = 0;
        while self.queue.pair().free_entries() > 0
            && (self.parts_out(train.last) == 0 || self.transfer.pacing == Pacing::Pipelined)
        {
            if train.entries.len() == 1 {
                // The slot may still be out with a part.
                let Some(mut slot) = train.take_slot() else { break };
                if train.lends {
                    // A part that borrowed the slot has closed the page again.
                    slot.lend_staging();
                }
                // There is one: they were counted.
                if let Some(sqe) = train.entries.pop_front() {
                    self.send_last(slot, &sqe);
                }
                return sent + 1;
            }
            let is_free = self.parts_out(train.last) == 0;
            let own = |train: &mut Train| if is_free { train.take_slot() } else { None };
            let Some(slot) = self.part_slot().or_else(|| own(&mut train)) else { break };
            let Some(sqe) = train.entries.pop_front() else {
                self.pool.release(slot);
                break;
            };
            self.send_part(slot, &sqe, train.last);
            sent += 1;
        }
        self.train = Some(train);
        sent
    }

    /// Whether commands of a value are still to be submitted.
    #[inline]
    #[must_use]
    pub fn is_amid_value(&self) -> bool {
        self.train.is_some()
    }

    /// Parts of the value of slot `last` that have not completed.
    fn parts_out(&self, last: u16) -> u32 {
        self.flights[usize::from(last)].parts_out
    }

    /// One command at a time needs no slot but its own.
    fn part_slot(&mut self) -> Option<Slot> {
        if self.transfer.pacing == Pacing::Passthrough { None } else { self.pool.acquire() }
    }

    /// The name of the command that `slot` will identify.
    pub(super) fn ticket_of(&self, slot: &Slot) -> Ticket {
        let generation = self.flights[usize::from(slot.index())].generation;
        Ticket { slot: slot.index(), generation }
    }

    /// Notes where the data of a value's last command is.
    pub(super) fn prepare(&mut self, slot: &Slot, place: DataPlace, page_bytes: u32) {
        let flight = &mut self.flights[usize::from(slot.index())];
        (flight.place, flight.shape, flight.bytes, flight.offset) = (place, Shape::ToDevice, 0, 0);
        flight.first_error = None;
        self.stats.page_bytes_to_device += u64::from(page_bytes);
    }

    /// Sends a part; there is an entry for it.
    pub(super) fn send_part(&mut self, slot: Slot, sqe: &Sqe, last: u16) {
        debug_assert!(
            self.flights[usize::from(slot.index())].is_alone(),
            "a slot is out with one part at a time"
        );
        self.flights[usize::from(slot.index())].part_of = Some(last);
        self.flights[usize::from(last)].parts_out += 1;
        self.stats.commands += 1;
        let sent = self.queue.submit(slot, sqe);
        assert!(sent.is_ok(), "free entries were counted");
    }

    /// Sends the last command of a value; there is an entry for it.
    pub(super) fn send_last(&mut self, slot: Slot, sqe: &Sqe) {
        self.stats.commands += 1;
        let sent = self.queue.submit(slot, sqe);
        assert!(sent.is_ok(), "free entries were counted");
    }

    /// A part has completed: its error is the value's, its slot goes back to where it came from. Returns the completion of
    /// the last command if that has come before: completions are in no order.
    pub(super) fn absorb(&mut self, part: Completion, last: u16) -> Option<Completion> {
        let (status, slot) = (part.cqe().status(), part.slot);
        let index = usize::from(slot.index());
        debug_assert!(!self.queue.holds(slot.index()), "what has completed is not in flight");
        self.flights[index].part_of = None;
        let value = &mut self.flights[usize::from(last)];
        debug_assert!(value.parts_out > 0, "a part is one of those that are out");
        value.parts_out -= 1;
        if !status.is_success() {
            value.first_error.get_or_insert(status);
        }
        let is_over = value.parts_out == 0;
        match self.train.as_mut() {
            Some(train) if last == slot.index() => train.give_back(slot),
            _ => {
                self.flights[index].generation = self.flights[index].generation.wrapping_add(1);
                self.pool.release(slot);
            }
        }
        let held = self.held.iter().position(|c| is_over && c.slot.index() == last)?;
        let mut completion = self.held.swap_remove(held);
        completion.slot.owe();
        Some(completion)
    }
}
