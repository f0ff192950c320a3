// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device's tree: commands to its key-value namespace, submitted and polled, and its emptying as a whole.

use saker_host::connect::AdminTicket;
use saker_host::{Connection, HostError, KvQueue, QueueStats, SubmitError};
use saker_nvme::admin::{FormatNvm, build};
use saker_nvme::group::{Form, GroupMode, Op};
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::IteratorRange;
use saker_nvme::{Key, Status};

/// A command that has completed.
#[derive(Debug)]
pub(crate) struct DeviceDone {
    /// Whose it was.
    pub owner: u64,
    pub status: Status,
    /// DW0 and DW1 of the completion.
    pub result: (u32, u32),
    pub data: Vec<u8>,
}

/// The queue takes no more commands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct QueueFull;

/// A queue pair on the key-value namespace, and the admin queue of its controller.
#[derive(Debug)]
pub struct DeviceLsm {
    queue: KvQueue,
    connection: Connection,
    nsid: u32,
    /// By slot.
    owners: Box<[u64]>,
    unrung: u32,
    format: Option<AdminTicket>,
    /// Bytes of the longest payload of a group; 0: it takes none.
    group_bytes_max: u32,
    /// Bytes for keys and values.
    capacity_bytes: u64,
    /// Whether a cut can take what was written and not flushed.
    is_volatile: bool,
}

impl DeviceLsm {
    /// On a queue of that namespace. `group_bytes_max`: the longest payload of a group that its engine lands as a whole. `capacity_bytes`: its bytes for
    /// keys and values (NSZE).
    pub fn new(queue: KvQueue, connection: Connection, group_bytes_max: u32, capacity_bytes: u64) -> Self {
        let (owners, nsid) = (vec![0; queue.slots()].into(), queue.nsid());
        let is_volatile = connection.controller().vwc & 1 > 0;
        Self {
            queue,
            connection,
            nsid,
            owners,
            unrung: 0,
            format: None,
            group_bytes_max,
            capacity_bytes,
            is_volatile,
        }
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.is_volatile
    }

    pub(crate) fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    /// The connection of both queues.
    pub(crate) fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Commands on their way.
    pub(crate) fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    pub(crate) fn stats(&self) -> QueueStats {
        self.queue.stats()
    }

    pub(crate) fn unrung(&self) -> u32 {
        self.unrung
    }

    pub(crate) fn ring(&mut self) {
        if std::mem::take(&mut self.unrung) > 0 {
            self.queue.ring();
        }
    }

    pub(crate) fn group_bytes_max(&self) -> u32 {
        self.group_bytes_max
    }

    fn sent(&mut self, owner: u64, sent: Result<saker_host::Ticket, SubmitError>) -> Result<(), QueueFull> {
        let slot = sent.map_err(|_| QueueFull)?.slot();
        self.owners[usize::from(slot)] = owner;
        self.unrung += 1;
        Ok(())
    }

    pub(crate) fn store(&mut self, owner: u64, key: &Key, record: &[u8]) -> Result<(), QueueFull> {
        let sent = self.queue.store(key, record, StoreOptions::NONE);
        self.sent(owner, sent)
    }

    /// Stores of one payload, all or none of which are carried out, and are there after a cut.
    pub(crate) fn store_all(&mut self, owner: u64, payload: &[u8]) -> Result<(), QueueFull> {
        let mode = GroupMode { is_transaction: true, has_versions: false };
        let sent = self.queue.group_in_mode(Form::All(Op::Store), mode, None, payload);
        self.sent(owner, sent)
    }

    pub(crate) fn retrieve(&mut self, owner: u64, key: &Key, bytes: u32) -> Result<(), QueueFull> {
        let sent = self.queue.retrieve(key, bytes);
        self.sent(owner, sent)
    }

    pub(crate) fn delete(&mut self, owner: u64, key: &Key) -> Result<(), QueueFull> {
        let sent = self.queue.delete(key);
        self.sent(owner, sent)
    }

    pub(crate) fn flush(&mut self, owner: u64) -> Result<(), QueueFull> {
        let sent = self.queue.flush();
        self.sent(owner, sent)
    }

    /// An iterator over all records, as of the command.
    pub(crate) fn open_iterator(&mut self, owner: u64) -> Result<(), QueueFull> {
        let Some(all) = IteratorRange::new(&[], &[], &[]) else { return Err(QueueFull) };
        let sent = self.queue.iterator_open(&all, false, None);
        self.sent(owner, sent)
    }

    /// Records from a key on, or backwards from it: up to so many bytes of them, and so many (0: as many as fit).
    pub(crate) fn read_iterator(
        &mut self,
        owner: u64,
        iterator: u32,
        limits: (u32, u32),
        backwards: bool,
        from: Key,
    ) -> Result<(), QueueFull> {
        let sent = self.queue.iterator_next(iterator, limits, backwards, Some(from));
        self.sent(owner, sent)
    }

    pub(crate) fn close_iterator(&mut self, owner: u64, iterator: u32) -> Result<(), QueueFull> {
        let sent = self.queue.iterator_close(iterator);
        self.sent(owner, sent)
    }

    /// The next completion.
    pub(crate) fn poll(&mut self) -> Option<DeviceDone> {
        let owners = &self.owners;
        let polled = self.queue.poll(|done| {
            let owner = owners[usize::from(done.ticket.slot())];
            let (status, result) = (done.status, (done.result, done.result_high));
            DeviceDone { owner, status, result, data: done.into_vec() }
        });
        polled?.ok()
    }

    /// Empties the namespace by one command (Format NVM): wholly or not at all.
    pub(crate) fn begin_emptying(&mut self) -> Result<(), HostError> {
        let command = FormatNvm { nsid: self.nsid, format_index: 0, secure_erase: 0 };
        self.format = Some(self.connection.begin_admin(build::format_nvm(&command))?);
        Ok(())
    }

    /// How the emptying has ended, once it has.
    pub(crate) fn poll_emptying(&mut self) -> Option<Result<(), HostError>> {
        let ended = self.connection.poll_admin(self.format.as_ref()?)?;
        self.format = None;
        Some(ended)
    }
}
