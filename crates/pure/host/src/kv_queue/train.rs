//! The commands of one value when they cannot all go out at once.

use std::collections::VecDeque;

use saker_link::{Completion, Slot};
use saker_nvme::{Sqe, Status};

use super::{KvQueue, Place, Shape, Ticket};
use crate::transfer::Pacing;

/// The rest of a value. While there is one, no other command may come between its parts, so the queue takes none.
#[derive(Debug)]
pub(super) struct Train {
    /// The slot of the last command. Parts borrow it when there is no other.
    pub(super) slot: Option<Slot>,
    /// Its index: what parts report to.
    last: u16,
    pub(super) entries: VecDeque<Sqe>,
    pub(super) at_once: bool,
    in_flight: u32,
}

impl Train {
    pub(super) fn new(slot: Slot, count: u32, at_once: bool) -> Self {
        let room = if at_once { 0 } else { count as usize };
        let last = slot.index();
        Self { slot: Some(slot), last, entries: VecDeque::with_capacity(room), at_once, in_flight: 0 }
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
            && (train.in_flight == 0 || self.transfer.pacing == Pacing::Pipelined)
        {
            if train.entries.len() == 1 {
                // The slot may still be out with a part.
                let Some(slot) = train.slot.take() else { break };
                let Some(sqe) = train.entries.pop_front() else { break };
                self.send_last(slot, &sqe);
                return sent + 1;
            }
            let own = |train: &mut Train| if train.in_flight == 0 { train.slot.take() } else { None };
            let Some(slot) = self.part_slot().or_else(|| own(&mut train)) else { break };
            let Some(sqe) = train.entries.pop_front() else { break };
            self.send_part(slot, &sqe, train.last);
            train.in_flight += 1;
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
    pub(super) fn prepare(&mut self, slot: &Slot, place: Place, page_bytes: u32) {
        let flight = &mut self.flights[usize::from(slot.index())];
        (flight.place, flight.shape, flight.bytes, flight.offset) = (place, Shape::ToDevice, 0, 0);
        flight.first_error = None;
        self.stats.page_bytes_to_device += u64::from(page_bytes);
    }

    /// Sends a part; there is an entry for it.
    pub(super) fn send_part(&mut self, slot: Slot, sqe: &Sqe, last: u16) {
        self.flights[usize::from(slot.index())].part_of = Some(last);
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

    /// A part has completed: its error is the value's, its slot goes back to where it came from.
    pub(super) fn absorb(&mut self, Completion { slot, cqe }: Completion, last: u16) {
        let index = usize::from(slot.index());
        self.flights[index].part_of = None;
        let status = cqe.status();
        if !status.is_success() {
            let first: &mut Option<Status> = &mut self.flights[usize::from(last)].first_error;
            first.get_or_insert(status);
        }
        if let Some(train) = self.train.as_mut().filter(|train| train.last == last) {
            train.in_flight -= 1;
            if train.last == slot.index() {
                train.slot = Some(slot);
                return;
            }
        }
        self.flights[index].generation = self.flights[index].generation.wrapping_add(1);
        self.pool.release(slot);
    }
}
