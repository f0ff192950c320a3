// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Taking completions.

use saker_link::{Completion, CompletionError, Cqe, Slot};
use saker_nvme::vendor_specific::cq_slots;

use super::flight::{DataPlace, pages_bytes};
use super::ticket::Bytes;
use super::{Done, KvQueue, Ticket};

impl KvQueue {
    /// Whether [`poll`](Self::poll) would find a completion, or report some to the device.
    #[inline]
    #[must_use]
    pub fn has_news(&self) -> bool {
        self.cq_unreported > 0 || self.queue.pair().has_completed(1)
    }

    /// Takes the next completion, if there is one, shows it to `visit` and releases its slot. The completion queue's
    /// doorbell is rung when nothing is left to take, or a quarter of the queue has been taken.
    ///
    /// # Errors
    /// [`CompletionError`] for an entry that answers no command in flight: the device is broken. It is consumed.
    #[inline]
    pub fn poll<R>(&mut self, visit: impl FnOnce(Done<'_>) -> R) -> Option<Result<R, CompletionError>> {
        loop {
            let Some(polled) = self.queue.poll() else {
                self.report_taken(1);
                return None;
            };
            self.cq_unreported += 1;
            self.stats.completions += 1;
            let whole = match polled {
                Ok(completion) if self.is_alone(&completion) => completion,
                Ok(completion) => match self.gather(completion) {
                    Some(whole) => whole,
                    None => continue,
                },
                Err(error) => {
                    self.report_taken(self.cq_unreported_max);
                    return Some(Err(error));
                }
            };
            let answer = self.finish(whole, visit);
            self.report_taken(self.cq_unreported_max);
            return Some(Ok(answer));
        }
    }

    #[inline]
    fn is_alone(&self, completion: &Completion) -> bool {
        self.flights[usize::from(completion.slot.index())].is_alone()
    }

    /// A completion of a value of several commands: the last command's, once all of them are there.
    #[cold]
    fn gather(&mut self, mut completion: Completion) -> Option<Completion> {
        let whole = match self.flights[usize::from(completion.slot.index())].part_of {
            Some(last) => self.absorb(completion, last),
            None => {
                completion.slot.rest();
                self.held.push(completion);
                None
            }
        };
        self.report_taken(self.cq_unreported_max);
        whole
    }

    #[inline]
    fn report_taken(&mut self, at_least: u32) {
        if self.cq_unreported >= at_least {
            self.queue.ring_cq();
            self.stats.cq_doorbells += 1;
            self.cq_unreported = 0;
        }
    }

    #[inline]
    fn finish<R>(&mut self, completion: Completion, visit: impl FnOnce(Done<'_>) -> R) -> R {
        let (cqe, slot) = (completion.cqe(), completion.slot);
        debug_assert!(!self.queue.holds(slot.index()), "what has completed is not in flight");
        let flight = &mut self.flights[usize::from(slot.index())];
        let generation = flight.generation;
        flight.generation = generation.wrapping_add(1);
        let (place, status) = (flight.place, flight.first_error.unwrap_or(cqe.status()));
        let ticket = Ticket { slot: slot.index(), generation };
        let (result, result_high) = (cqe.result_dw0(), cqe.dw1.get());
        let staged = match place {
            DataPlace::Elsewhere => 0,
            DataPlace::Staging => {
                let bytes = flight.visible_bytes(&cqe);
                self.stats.page_bytes_from_device += pages_bytes(flight.offset, bytes);
                bytes
            }
            _ => {
                let done = Done { ticket, status, result, result_high, bytes: Bytes::Staged(&[]) };
                return self.finish_beside_staging(slot, &cqe, done, visit);
            }
        };
        // The slot's memory is the device's no more, and nobody else's before the slot is released.
        let bytes = Bytes::Staged(if staged == 0 { &[] } else { &slot.staging()[..staged] });
        let answer = visit(Done { ticket, status, result, result_high, bytes });
        self.pool.release(slot);
        answer
    }

    /// Finishes a command whose data came neither in its slot's staging memory nor into memory of the caller.
    fn finish_beside_staging<R>(
        &mut self,
        slot: Slot,
        cqe: &Cqe,
        done: Done<'_>,
        visit: impl FnOnce(Done<'_>) -> R,
    ) -> R {
        let index = usize::from(slot.index());
        let flight = self.flights[index];
        let bytes = flight.visible_bytes(cqe);
        let answer = if flight.place == DataPlace::Owned {
            self.stats.page_bytes_from_device += pages_bytes(flight.offset, bytes);
            let (mut buffer, start) = self.end_loan(index);
            visit(Done { bytes: Bytes::Owned(&mut buffer, start..start + bytes), ..done })
        } else {
            let small = self.small_payload(cqe, index, flight.place, bytes);
            visit(Done { bytes: Bytes::Staged(&small), ..done })
        };
        self.pool.release(slot);
        answer
    }

    /// Data that came in the completion queue; of a value in the BAR, nothing but its place.
    fn small_payload(&mut self, cqe: &Cqe, index: usize, place: DataPlace, bytes: usize) -> Vec<u8> {
        match place {
            DataPlace::Bar => {
                self.bar_ring.release(index as u16);
                Vec::new()
            }
            DataPlace::Dword => {
                let dword = cqe.dw1.get().to_le_bytes();
                let bytes = if cqe.result_dw0() as usize <= dword.len() { bytes } else { 0 };
                dword[..bytes].to_vec()
            }
            _ => self.take_payload(self.flights[index].bytes, bytes),
        }
    }

    /// The payload behind a completion.
    fn take_payload(&mut self, capacity: u32, bytes: usize) -> Vec<u8> {
        let mut payload = vec![0; bytes];
        self.queue.pair_mut().take_payload(&mut payload);
        self.cq_unreported += cq_slots(bytes as u32);
        debug_assert!(self.cq_promised >= cq_slots(capacity), "payload takes entries that were promised");
        self.cq_promised -= cq_slots(capacity);
        payload
    }
}
