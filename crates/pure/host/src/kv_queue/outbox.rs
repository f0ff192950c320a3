// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The ways in which a queue sends the commands of one value; what the commands are is the method's
//! ([`crate::transfer`]).

use saker_link::{LINE_BYTES, STAGING_BYTES, Slot};
use saker_nvme::Sqe;
use saker_nvme::sgl::{SglDescriptor, kind};

use super::commands::set_prps;
use super::train::Train;
use super::{DataPlace, KvQueue, Shape, SubmitError, Ticket};
use crate::transfer::{Outbox, Pacing};

impl Outbox for KvQueue {
    type Ticket = Ticket;
    type Error = SubmitError;

    #[inline(always)]
    fn nsid(&self) -> u32 {
        self.nsid
    }

    #[inline(always)]
    fn send(&mut self, sqe: &Sqe) -> Result<Ticket, SubmitError> {
        let slot = self.take_slot()?;
        self.launch(slot, sqe, DataPlace::Elsewhere, Shape::ToDevice, 0)
    }

    fn send_train(&mut self, entries: impl Iterator<Item = Sqe>, count: u32) -> Result<Ticket, SubmitError> {
        let slot = self.take_slot()?;
        self.send_all(slot, entries, count, DataPlace::Elsewhere, 0)
    }

    #[inline]
    fn send_pages(&mut self, sqe: Sqe, data: &[u8]) -> Result<Ticket, SubmitError> {
        if data.len() > STAGING_BYTES {
            let lent = self.lend_and_launch(sqe, Shape::ToDevice, data.to_vec());
            return lent.map_err(|returned| returned.error);
        }
        let slot = self.take_slot()?;
        self.send_staged(slot, sqe, data)
    }

    fn send_pages_after(
        &mut self,
        parts: impl Iterator<Item = Sqe>,
        count: u32,
        mut sqe: Sqe,
        data: &[u8],
    ) -> Result<Ticket, SubmitError> {
        let mut slot = self.take_slot()?;
        let place = match self.name_pages(&mut slot, &mut sqe, data) {
            Ok(place) => place,
            Err(error) => return Err(self.give_up(slot, error)),
        };
        self.send_all(slot, parts.chain([sqe]), count + 1, place, data.len() as u32)
    }

    fn send_block(&mut self, sqe: Sqe, data: &[u8]) -> Result<Ticket, SubmitError> {
        let bytes = data.len() as u32;
        let mut slot = self.take_slot()?;
        if data.len() <= STAGING_BYTES {
            slot.staging_mut()[..data.len()].copy_from_slice(data);
            let at = slot.lend_staging();
            let sqe = sqe.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, at, bytes));
            return self.launch(slot, &sqe, DataPlace::Elsewhere, Shape::ToDevice, 0);
        }
        let at = match self.lend(&slot, data.to_vec()) {
            Ok(at) => at,
            Err(returned) => return Err(self.give_up(slot, returned.error)),
        };
        let sqe = sqe.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, at, bytes));
        let index = usize::from(slot.index());
        let sent = self.launch(slot, &sqe, DataPlace::Owned, Shape::ToDevice, 0);
        sent.inspect_err(|_| drop(self.cancel_loan(index, data.len())))
    }

    #[inline]
    fn send_behind(&mut self, sqe: &Sqe, payload: &[u8]) -> Result<Ticket, SubmitError> {
        let slot = self.take_slot()?;
        self.depart(slot, sqe, payload)
    }

    fn send_from_bar(
        &mut self,
        data: &[u8],
        commit: impl FnOnce(u32) -> Sqe,
    ) -> Result<Option<Ticket>, SubmitError> {
        let Some(bar) = self.bar.clone() else { return Ok(None) };
        let slot = self.take_slot()?;
        let Some(offset) = self.bar_ring.take(slot.index(), data.len() as u32) else {
            return Err(self.give_up(slot, SubmitError::Full));
        };
        match bar.store(self.queue.pair().queue(), offset, data) {
            Ok(lines) => {
                self.stats.mmio_stores += u64::from(lines);
                self.stats.mmio_bytes += u64::from(lines) * LINE_BYTES;
            }
            Err(_) => {
                self.bar_ring.release(slot.index());
                self.pool.release(slot);
                return Ok(None);
            }
        }
        self.launch(slot, &commit(offset), DataPlace::Bar, Shape::ToDevice, 0).map(Some)
    }
}

impl KvQueue {
    /// Whole pages go through the slot's staging page, or are lent; `sqe` names them.
    fn name_pages(&mut self, slot: &mut Slot, sqe: &mut Sqe, pages: &[u8]) -> Result<DataPlace, SubmitError> {
        if pages.len() <= STAGING_BYTES {
            slot.staging_mut()[..pages.len()].copy_from_slice(pages);
            sqe.prp1.set(slot.lend_staging());
            return Ok(DataPlace::Elsewhere);
        }
        set_prps(sqe, self.lend_pages(slot, pages)?);
        Ok(DataPlace::Owned)
    }

    fn lend_pages(&mut self, slot: &mut Slot, pages: &[u8]) -> Result<(u64, u64), SubmitError> {
        let at = self.lend(slot, pages.to_vec()).map_err(|returned| returned.error)?;
        let prps = self.prps(slot, at, pages.len() as u32);
        if prps.is_err() {
            self.cancel_loan(usize::from(slot.index()), pages.len());
        }
        prps
    }

    /// Sends the commands of one value, of which the last has `slot`. Pipelined, if there is room for all of them; else
    /// they go out as [`continue_value`](Self::continue_value) is called.
    fn send_all(
        &mut self,
        slot: Slot,
        entries: impl Iterator<Item = Sqe>,
        count: u32,
        place: DataPlace,
        page_bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        let ticket = self.ticket_of(&slot);
        self.prepare(&slot, place, page_bytes);
        let others = count as usize - 1;
        let fits = self.pool.free() >= others && self.queue.pair().free_entries() >= count;
        let at_once = self.transfer.pacing == Pacing::Pipelined && fits;
        let lends = place == DataPlace::Elsewhere && page_bytes > 0;
        let mut train = Train::new(slot, count, at_once, lends);
        let mut entries = entries;
        if train.at_once {
            for sqe in entries.by_ref().take(others) {
                let part = self.take_slot()?;
                self.send_part(part, &sqe, ticket.slot());
            }
            if let (Some(last), Some(slot)) = (entries.next(), train.take_slot()) {
                self.send_last(slot, &last);
            }
            return Ok(ticket);
        }
        train.entries.extend(entries);
        self.train = Some(train);
        self.continue_value();
        Ok(ticket)
    }

    /// Gives a slot back with the reason why its command was not sent.
    pub(super) fn give_up(&mut self, slot: Slot, error: SubmitError) -> SubmitError {
        self.pool.release(slot);
        error
    }
}
