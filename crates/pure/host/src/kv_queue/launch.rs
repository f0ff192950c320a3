// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Submitting a command in its slot.

use saker_link::{PAGE_BYTES, Rejected, Slot, Sqe};
use saker_nvme::vendor_specific::cq_slots;

use super::flight::{DataPlace, Shape, pages_bytes};
use super::{KvQueue, SubmitError, Ticket};

impl KvQueue {
    #[inline]
    pub(super) fn take_slot(&mut self) -> Result<Slot, SubmitError> {
        // Nothing may come between the parts of a value.
        if self.train.is_some() {
            return Err(SubmitError::Full);
        }
        let slot = self.pool.acquire().ok_or(SubmitError::Full)?;
        debug_assert!(self.is_at_rest(&slot), "a free slot knows nothing of its last command");
        Ok(slot)
    }

    /// Submits `sqe`. A loan for the slot is in place already.
    #[inline(always)]
    pub(super) fn launch(
        &mut self,
        slot: Slot,
        sqe: &Sqe,
        place: DataPlace,
        shape: Shape,
        bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        let index = slot.index();
        let flight = &mut self.flights[usize::from(index)];
        (flight.place, flight.shape, flight.bytes) = (place, shape, bytes);
        (flight.offset, flight.first_error) = ((sqe.prp1.get() % PAGE_BYTES as u64) as u16, None);
        let (generation, offset) = (flight.generation, flight.offset);
        match self.queue.submit(slot, sqe) {
            Ok(()) => {
                debug_assert!(self.queue.holds(index) && self.flights[usize::from(index)].is_alone());
                self.stats.commands += 1;
                if shape == Shape::ToDevice && bytes > 0 {
                    self.stats.page_bytes_to_device += pages_bytes(offset, bytes as usize);
                }
                Ok(Ticket { slot: index, generation })
            }
            Err(rejected) => Err(self.take_back(rejected)),
        }
    }

    /// Submits `sqe` with `payload` in the entries behind it.
    #[inline]
    pub(super) fn depart(&mut self, slot: Slot, sqe: &Sqe, payload: &[u8]) -> Result<Ticket, SubmitError> {
        let ticket = self.ticket_of(&slot);
        self.prepare(&slot, DataPlace::Elsewhere, 0);
        match self.queue.submit_with(slot, sqe, payload) {
            Ok(()) => {
                self.stats.commands += 1;
                Ok(ticket)
            }
            Err(rejected) => Err(self.take_back(rejected)),
        }
    }

    /// Payload entries have filled the queue.
    #[cold]
    fn take_back(&mut self, rejected: Rejected) -> SubmitError {
        let slot = rejected.slot;
        let index = usize::from(slot.index());
        match self.flights[index].place {
            DataPlace::Bar => self.bar_ring.release(slot.index()),
            DataPlace::Behind => self.cq_promised -= cq_slots(self.flights[index].bytes),
            _ => {}
        }
        self.pool.release(slot);
        SubmitError::Full
    }
}
