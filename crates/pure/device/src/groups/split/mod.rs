// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts: what hosts have sent of them, in memory until their commit, and how much of it each may have. Those that nobody
//! goes on with time out by what is asked and written meanwhile, as iterators do.

mod request;
#[cfg(test)]
mod tests;

pub use request::SplitRequest;

use saker_nvme::Status;
use saker_nvme::group::{Asked, COUNT_BYTES, SPLIT_BYTES_MAX, TransactionId};
use std::collections::BTreeMap;

/// Most bytes of a host's transactions.
const HOST_BYTES_MAX: usize = 8 << 20;
/// Transactions of a host at a time.
pub const HOST_OPEN_MAX: usize = 16;
/// Most bytes of all hosts' transactions in a namespace.
const ALL_BYTES_MAX: usize = 64 << 20;
/// Transactions of all hosts at a time in a namespace.
const ALL_OPEN_MAX: usize = 1024;
/// What one takes beside its entries, at least.
const OPEN_BYTES: usize = 256;
/// Commands for transactions in parts after which one that nobody went on with has timed out.
const IDLE_COMMANDS_MAX: u64 = 1 << 16;
/// The part of a capacity that may be written meanwhile.
const IDLE_CAPACITY_PART: u64 = 8;

/// What is there of a transaction.
#[derive(Clone, Debug)]
struct Open {
    /// Its entries as a payload of form mixed.
    payload: Vec<u8>,
    entries: u32,
    /// Commands for transactions in parts, and bytes written, when it was gone on with last.
    used: Moment,
}

impl Open {
    fn bytes(&self) -> usize {
        OPEN_BYTES + self.payload.len()
    }
}

/// By what idleness is measured: commands for transactions in parts, and bytes written.
type Moment = (u64, u64);

/// The open transactions of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Splits {
    open: BTreeMap<TransactionId, Open>,
    bytes: usize,
    commands: u64,
}

impl Splits {
    /// A command has come, when so many bytes were written. Ends what nobody has gone on with.
    fn tick(&mut self, written: u64, capacity: u64) -> Moment {
        self.commands += 1;
        let now = (self.commands, written);
        let is_idle = |used: Moment| {
            now.0 - used.0 > IDLE_COMMANDS_MAX || now.1.saturating_sub(used.1) > capacity / IDLE_CAPACITY_PART
        };
        self.end_where(|_, open| is_idle(open.used));
        now
    }

    fn begin(&mut self, id: TransactionId, now: Moment) -> Result<(), Status> {
        self.end(id);
        let (open, bytes) = self.of_host(id);
        if open >= HOST_OPEN_MAX || self.open.len() >= ALL_OPEN_MAX || !self.has_room(bytes, OPEN_BYTES) {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        let opened = Open { payload: vec![0; COUNT_BYTES], entries: 0, used: now };
        self.bytes += opened.bytes();
        self.open.insert(id, opened);
        Ok(())
    }

    /// Adds the entries of a part; how many there are then.
    fn add(&mut self, id: TransactionId, part: &[u8], entries: u32, now: Moment) -> Result<u32, Status> {
        let more = part.get(COUNT_BYTES..).unwrap_or_default();
        let (_, of_host) = self.of_host(id);
        let has_room = self.has_room(of_host, more.len());
        let open = self.open.get_mut(&id).ok_or(Status::NO_SUCH_TRANSACTION)?;
        open.used = now;
        if open.payload.len() + more.len() > SPLIT_BYTES_MAX || !has_room {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        let before = open.bytes();
        open.payload.extend_from_slice(more);
        open.entries += entries;
        if let Some(count) = open.payload.first_chunk_mut() {
            *count = open.entries.to_le_bytes();
        }
        self.bytes += open.bytes() - before;
        Ok(open.entries)
    }

    fn has_room(&self, of_host: usize, more: usize) -> bool {
        of_host + more <= HOST_BYTES_MAX && self.bytes + more <= ALL_BYTES_MAX
    }

    fn of_host(&self, id: TransactionId) -> (usize, usize) {
        let first = TransactionId { number: 0, ..id };
        let last = TransactionId { number: u64::MAX, ..id };
        self.open.range(first..=last).fold((0, 0), |(open, bytes), (_, one)| (open + 1, bytes + one.bytes()))
    }

    fn find(&self, id: TransactionId) -> Option<&Open> {
        self.open.get(&id)
    }

    /// Whether parts of it are there.
    pub fn has(&self, id: TransactionId) -> bool {
        self.find(id).is_some()
    }

    /// Forgets what was sent of one.
    pub fn end(&mut self, id: TransactionId) {
        if let Some(ended) = self.open.remove(&id) {
            self.bytes -= ended.bytes();
        }
    }

    fn end_where(&mut self, ends: impl Fn(&TransactionId, &Open) -> bool) {
        let bytes = &mut self.bytes;
        self.open.retain(|id, open| {
            let goes = ends(id, open);
            *bytes -= if goes { open.bytes() } else { 0 };
            !goes
        });
    }

    /// Ends all: the host has reset its controller, or the namespace is erased.
    pub fn clear(&mut self) {
        (self.open, self.bytes) = (BTreeMap::new(), 0);
    }

    /// Open transactions, and the bytes that they hold.
    pub fn held(&self) -> (usize, usize) {
        (self.open.len(), self.bytes)
    }
}

/// Bytes that an entry takes in the record of its transaction.
fn written_bytes(asked: &Asked) -> usize {
    if asked.ask.is_write() { asked.ask.entry_bytes(asked.key.len(), asked.value.len()) } else { 0 }
}
