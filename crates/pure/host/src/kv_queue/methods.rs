//! Stores by other methods than PRPs. Each is one function here; who chooses is [`crate::transfer`].

use saker_link::{STAGING_BYTES, Slot};
use saker_nvme::kv::{self, StoreOptions};
use saker_nvme::sgl::{SglDescriptor, kind};
use saker_nvme::vendor::{self, HYBRID_PAGE_BYTES, PIGGYBACK_BYTES, TRANSFER_BYTES};
use saker_nvme::{Key, Sqe};

use super::commands::set_prps;
use super::train::Train;
use super::{KvQueue, Place, Shape, SubmitError, Ticket};
use crate::transfer::{Method, Pacing};

impl KvQueue {
    /// Store by `method`, which carries the value.
    #[inline(always)]
    pub(super) fn store_by(
        &mut self,
        method: Method,
        key: &Key,
        value: &[u8],
        options: StoreOptions,
    ) -> Result<Ticket, SubmitError> {
        match method {
            Method::Prp => self.store_prp(key, value, options),
            Method::Sgl => self.store_sgl(key, value, options),
            Method::Piggyback => self.store_piggyback(key, value, options),
            Method::Hybrid => self.store_hybrid(key, value, options),
            Method::Inline => self.store_inline(key, value, options),
            Method::Mmio => self.store_mmio(key, value, options),
        }
    }

    fn store_sgl(&mut self, key: &Key, value: &[u8], options: StoreOptions) -> Result<Ticket, SubmitError> {
        let bytes = value.len() as u32;
        let sqe = kv::store(self.nsid, key, bytes, options);
        let mut slot = self.take_slot()?;
        if value.len() <= STAGING_BYTES {
            slot.staging_mut()[..value.len()].copy_from_slice(value);
            let at = slot.lend_staging();
            let sqe = sqe.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, at, bytes));
            return self.launch(slot, &sqe, Place::Elsewhere, Shape::ToDevice, 0);
        }
        let at = match self.lend(&slot, value.to_vec()) {
            Ok(at) => at,
            Err(returned) => return Err(self.give_up(slot, returned.error)),
        };
        let sqe = sqe.with_sgl(&SglDescriptor::new(kind::DATA_BLOCK, at, bytes));
        self.launch(slot, &sqe, Place::Owned, Shape::ToDevice, 0)
    }

    #[inline]
    fn store_inline(
        &mut self,
        key: &Key,
        value: &[u8],
        options: StoreOptions,
    ) -> Result<Ticket, SubmitError> {
        let sqe = vendor::store_inline(self.nsid, key, value.len() as u32, options);
        let slot = self.take_slot()?;
        self.depart(slot, &sqe, value)
    }

    fn store_mmio(&mut self, key: &Key, value: &[u8], options: StoreOptions) -> Result<Ticket, SubmitError> {
        let Some(bar) = self.bar.clone() else { return self.store_prp(key, value, options) };
        let slot = self.take_slot()?;
        let bytes = value.len() as u32;
        let Some(offset) = self.bar_ring.take(slot.index(), bytes) else {
            return Err(self.give_up(slot, SubmitError::Full));
        };
        match bar.store(self.queue.pair().queue(), offset, value) {
            Ok(lines) => {
                self.stats.mmio_stores += u64::from(lines);
                self.stats.mmio_bytes += u64::from(lines) * saker_link::LINE_BYTES;
            }
            Err(_) => {
                self.bar_ring.release(slot.index());
                self.pool.release(slot);
                return self.store_prp(key, value, options);
            }
        }
        let sqe = vendor::store_mmio(self.nsid, key, bytes, offset, options);
        self.launch(slot, &sqe, Place::Bar, Shape::ToDevice, 0)
    }

    #[inline(always)]
    fn store_piggyback(
        &mut self,
        key: &Key,
        value: &[u8],
        options: StoreOptions,
    ) -> Result<Ticket, SubmitError> {
        let head = vendor::store_piggyback(self.nsid, key, value, options);
        let slot = self.take_slot()?;
        let Some(rest) = value.get(PIGGYBACK_BYTES..).filter(|rest| !rest.is_empty()) else {
            return self.launch(slot, &head, Place::Elsewhere, Shape::ToDevice, 0);
        };
        let nsid = self.nsid;
        let parts = rest.chunks(TRANSFER_BYTES).enumerate();
        let rest = parts.map(|(n, part)| vendor::transfer(nsid, n as u32 + 1, part));
        let entries = std::iter::once(head).chain(rest);
        self.send_all(slot, entries, vendor::piggyback_commands(value.len() as u32), Place::Elsewhere, 0)
    }

    /// The tail first; its store names the pages.
    fn store_hybrid(
        &mut self,
        key: &Key,
        value: &[u8],
        options: StoreOptions,
    ) -> Result<Ticket, SubmitError> {
        let page_bytes = value.len() - value.len() % HYBRID_PAGE_BYTES as usize;
        let (pages, tail) = value.split_at(page_bytes);
        let mut sqe = vendor::store_hybrid(self.nsid, key, value.len() as u32, tail, options);
        let mut slot = self.take_slot()?;
        let place = if pages.len() <= STAGING_BYTES {
            slot.staging_mut()[..pages.len()].copy_from_slice(pages);
            sqe.prp1.set(slot.lend_staging());
            Place::Elsewhere
        } else {
            match self.lend_pages(&mut slot, pages) {
                Ok(prps) => set_prps(&mut sqe, prps),
                Err(error) => return Err(self.give_up(slot, error)),
            }
            Place::Owned
        };
        let nsid = self.nsid;
        let parts = tail.chunks(TRANSFER_BYTES).enumerate();
        let tails = parts.map(|(n, part)| vendor::tail(nsid, n as u32, part));
        let count = vendor::tail_commands(value.len() as u32) + 1;
        self.send_all(slot, tails.chain([sqe]), count, place, pages.len() as u32)
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
        place: Place,
        page_bytes: u32,
    ) -> Result<Ticket, SubmitError> {
        let ticket = self.ticket_of(&slot);
        self.prepare(&slot, place, page_bytes);
        let others = count as usize - 1;
        let fits = self.pool.free() >= others && self.queue.pair().free_entries() >= count;
        let at_once = self.transfer.pacing == Pacing::Pipelined && fits;
        let lends = place == Place::Elsewhere && page_bytes > 0;
        let mut train = Train::new(slot, count, at_once, lends);
        let mut entries = entries;
        if train.at_once {
            for sqe in entries.by_ref().take(others) {
                let part = self.take_slot()?;
                self.send_part(part, &sqe, ticket.slot());
            }
            if let (Some(last), Some(slot)) = (entries.next(), train.slot.take()) {
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
