// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV's block commands over a queue pair.

use super::{BlockDone, BlockQueue};
use crate::{KvQueue, QueueStats, RawData, Ticket};
use saker_link::STAGING_BYTES;
use saker_nvme::Status;
use saker_nvme::nvm::{self, BlockRange, DsmRange};
use zerocopy::IntoBytes;

/// A queue pair on a block namespace.
#[derive(Debug)]
pub struct KvBlockQueue {
    queue: KvQueue,
    block_bytes: u32,
    blocks: u64,
    is_volatile: bool,
    next: u64,
    /// The number and, for reads, the wish for data of the command in each slot.
    slots: Vec<Option<(u64, bool)>>,
    /// Commands that were submitted since the doorbell was last rung.
    unrung: u32,
}

impl KvBlockQueue {
    /// Over a queue that exists, on a device that may have a volatile write cache.
    pub fn new(queue: KvQueue, block_bytes: u32, blocks: u64) -> Self {
        let slots = vec![None; queue.slots()];
        Self { queue, block_bytes, blocks, is_volatile: true, next: 0, slots, unrung: 0 }
    }

    /// The same on a device that says whether it has one: bit 0 of VWC in Identify Controller (NVM Express Base Specification).
    #[must_use]
    pub fn with_vwc(self, vwc: u8) -> Self {
        Self { is_volatile: vwc & 1 != 0, ..self }
    }

    /// The queue.
    pub fn queue(&self) -> &KvQueue {
        &self.queue
    }

    /// Takes the next completion, shows its number, how it ended and the data of a read, and returns what `visit` does. The data is
    /// where the device put it.
    pub fn poll_with<R>(&mut self, visit: impl FnOnce(u64, Status, &[u8]) -> R) -> Option<R> {
        let slots = &mut self.slots;
        let taken = self.queue.poll(|done| {
            let (ticket, wants_data) = slots[usize::from(done.ticket.slot())].take().unwrap_or((0, false));
            visit(ticket, done.status, if wants_data { done.data() } else { &[] })
        });
        taken?.ok()
    }

    fn note(&mut self, ticket: Ticket, wants_data: bool) -> u64 {
        self.next += 1;
        self.slots[usize::from(ticket.slot())] = Some((self.next, wants_data));
        self.unrung += 1;
        self.next
    }
}

impl BlockQueue for KvBlockQueue {
    fn block_bytes(&self) -> u32 {
        self.block_bytes
    }

    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    fn write(&mut self, first: u64, data: Vec<u8>) -> Result<u64, Vec<u8>> {
        let blocks = data.len() as u32 / self.block_bytes;
        let range = BlockRange { slba: first, blocks };
        let Ok(sqe) = nvm::write(self.queue.nsid(), range, false) else { return Err(data) };
        // What fits into a slot's own memory is copied there; mapping a buffer costs more.
        let sent = if data.len() <= STAGING_BYTES {
            self.queue.raw(sqe, RawData::ToDevice(&data)).map_err(|_| data)
        } else {
            self.queue.raw_owned(sqe, data).map_err(|returned| returned.buffer)
        };
        sent.map(|ticket| self.note(ticket, false))
    }

    fn read(&mut self, first: u64, blocks: u32) -> Option<u64> {
        let sqe = nvm::read(self.queue.nsid(), BlockRange { slba: first, blocks }, false).ok()?;
        let ticket = self.queue.raw(sqe, RawData::FromDevice(blocks * self.block_bytes)).ok()?;
        Some(self.note(ticket, true))
    }

    fn deallocate(&mut self, first: u64, blocks: u64) -> Option<u64> {
        let range = DsmRange::new(first, u32::try_from(blocks).ok()?);
        let sqe = nvm::deallocate(self.queue.nsid(), 1).ok()?;
        let ticket = self.queue.raw(sqe, RawData::ToDevice(range.as_bytes())).ok()?;
        Some(self.note(ticket, false))
    }

    fn flush(&mut self) -> Option<u64> {
        let ticket = self.queue.flush().ok()?;
        Some(self.note(ticket, false))
    }

    fn poll(&mut self) -> Option<BlockDone> {
        let slots = &mut self.slots;
        let taken = self.queue.poll(|done| {
            let (ticket, wants_data) = slots[usize::from(done.ticket.slot())].take().unwrap_or((0, false));
            let data = wants_data.then(|| done.data().to_vec());
            BlockDone { ticket, status: done.status, data }
        });
        taken?.ok()
    }

    fn unrung(&self) -> u32 {
        self.unrung
    }

    fn ring(&mut self) {
        if std::mem::take(&mut self.unrung) > 0 {
            self.queue.ring();
        }
    }

    fn stats(&self) -> QueueStats {
        self.queue.stats()
    }
}
