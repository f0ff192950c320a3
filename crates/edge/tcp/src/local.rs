// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device of a subsystem and this thread's end of it.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::time::Instant as Clock;

use saker::{AnyDevice, EngineKind, Error, close_device};
use saker_device::controller::{HealthCounters, NamespaceFacts};
use saker_flash::FlashStats;
use saker_host::kv_queue::Returned;
use saker_host::{Connection, Driver, HostError, KvQueue, RawData, SubmitError, Ticket};
use saker_link::STAGING_BYTES;
use saker_nvme::group::TransactionId;
use saker_nvme::vendor_specific::Counter;
use saker_nvme::{Sqe, Status};
use saker_sim::{Duration, Instant};
use saker_target::IoCommand;

/// A device that is advanced on this thread, against the clock if it keeps time.
#[derive(Debug)]
pub(crate) struct Clocked {
    device: AnyDevice,
    begun: Clock,
    base: Instant,
}

impl Clocked {
    /// Time goes on from where the device stands.
    pub fn new(device: AnyDevice) -> Self {
        let base = device.now();
        Self { device, begun: Clock::now(), base }
    }

    /// The device is over: an image is marked clean.
    pub fn close(self) -> Result<(), Error> {
        close_device(self.device)
    }

    pub fn now(&self) -> Instant {
        self.base + Duration::from_nanos(self.begun.elapsed().as_nanos() as u64)
    }

    /// The namespaces as they are now.
    pub fn facts(&mut self) -> Vec<NamespaceFacts> {
        self.device.facts()
    }

    /// Pairs of a namespace, where its engine counts them.
    pub fn pairs(&mut self, nsid: u32) -> Option<u64> {
        let stats = self.device.stats();
        let of_namespace = stats.namespaces.iter().find(|ns| ns.nsid == nsid)?;
        let kind = EngineKind::named(of_namespace.engine)?;
        kind.counts_pairs().then_some(of_namespace.store.pairs)
    }

    /// Everything that the device counts.
    pub fn counters(&mut self) -> Vec<Counter> {
        self.device.counters()
    }

    /// Lets the medium keep what lasts of it.
    pub fn keep_counters(&mut self) {
        self.device.keep_counters();
    }

    /// The device, for tests.
    #[cfg(test)]
    pub fn device_mut(&mut self) -> &mut AnyDevice {
        &mut self.device
    }

    /// Nothing is asked of it: space of its image goes back. True: there is more, now.
    pub fn give_space_back(&mut self) -> bool {
        self.device.give_space_back()
    }

    /// All hosts together may have so many iterators in a namespace.
    pub fn allow_iterators(&mut self, most: usize) {
        self.device.allow_iterators(most);
    }

    /// Whether the device has an iterator of that number.
    pub fn has_iterator(&self, nsid: u32, number: u32) -> bool {
        self.device.has_iterator(nsid, number)
    }

    /// Whether the device has parts of a transaction.
    pub fn has_transaction(&self, nsid: u32, id: TransactionId) -> bool {
        self.device.has_transaction(nsid, id)
    }

    /// What the medium counts, and segments that were given up.
    pub fn media(&self) -> (FlashStats, u32) {
        self.device.media()
    }

    /// Whether its operations take time.
    pub fn is_timed(&self) -> bool {
        self.device.is_timed()
    }

    /// When a device that keeps time has something to do; nothing for others.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.device.next_deadline()
    }
}

impl Driver for Clocked {
    fn drive(&mut self) {
        let now = if self.device.is_timed() { self.now() } else { Instant::ZERO };
        self.device.advance(now);
    }
}

/// The device and its admin queue, which the subsystem and its Redis clients share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub clocked: Clocked,
    connection: Connection,
    /// Namespaces that Redis clients have formatted, which hosts have not been told of.
    pub formatted: Vec<u32>,
}

/// The device on its thread, and the queue pair that takes all I/O of hosts.
#[derive(Debug)]
pub(crate) struct Local {
    shared: Rc<RefCell<Shared>>,
    pub queue: KvQueue,
    /// The namespaces as last looked at: their sizes in use change, their shapes do not.
    pub facts: Vec<NamespaceFacts>,
}

impl Local {
    /// A device with its admin queue, and a queue pair to it.
    pub fn new(shared: Rc<RefCell<Shared>>, queue: KvQueue, facts: Vec<NamespaceFacts>) -> Self {
        Self { shared, queue, facts }
    }

    /// The device and its admin queue. Nobody else may be at it meanwhile.
    pub fn shared(&self) -> RefMut<'_, Shared> {
        self.shared.borrow_mut()
    }

    /// Looks at the namespaces again.
    pub fn refresh_facts(&mut self) {
        let facts = self.shared().clocked.device.facts();
        self.facts = facts;
    }

    /// What the device has done for all hosts.
    pub fn health(&self) -> HealthCounters {
        self.shared().clocked.device.health()
    }

    /// Executes an admin command without data.
    pub fn admin(&self, sqe: Sqe) -> (Status, u64) {
        self.shared().admin(sqe)
    }

    /// Submits a command; the doorbell is the caller's. Returns its slot.
    pub fn submit(&mut self, mut command: IoCommand) -> Result<u16, (SubmitError, IoCommand)> {
        let ticket = match (command.data.len(), command.room) {
            (0, 0) => self.queue.raw(command.sqe, RawData::Untouched),
            (memory, room @ 1..) if command.is_value && memory >= room as usize => {
                command.data.truncate(room as usize);
                let buffer = std::mem::take(&mut command.data);
                kept(self.queue.raw_value_into(command.sqe, buffer), &mut command)
            }
            (_, room @ 1..) if command.is_value => {
                self.queue.raw(command.sqe, RawData::ValueFromDevice(room))
            }
            (_, room @ 1..) => self.queue.raw(command.sqe, RawData::FromDevice(room)),
            (1..=STAGING_BYTES, _) => self.queue.raw(command.sqe, RawData::ToDevice(&command.data)),
            _ => {
                let data = std::mem::take(&mut command.data);
                kept(self.queue.raw_owned(command.sqe, data), &mut command)
            }
        };
        ticket.map(|ticket| ticket.slot()).map_err(|error| (error, command))
    }

    /// Flushes and closes the device. No command may be in flight.
    pub fn close(mut self) -> Result<(), Error> {
        let flush =
            self.queue.raw(Sqe::new(saker_nvme::kv::opcode::FLUSH, saker_nvme::NSID_ALL), RawData::Untouched);
        let flushed = flush.map_err(HostError::Submit).and_then(|_| self.wait());
        // Redis clients have gone before.
        let shared =
            Rc::into_inner(self.shared).unwrap_or_else(|| unreachable!("somebody shares the device"));
        shared.into_inner().clocked.close()?;
        Ok(flushed?)
    }

    fn wait(&mut self) -> Result<(), HostError> {
        self.queue.ring();
        loop {
            self.shared().clocked.drive();
            if let Some(done) = self.queue.poll(|done| done.status) {
                let status = done?;
                return if status.is_success() { Ok(()) } else { Err(status.into()) };
            }
        }
    }
}

impl Shared {
    /// Of one thread.
    pub fn new(clocked: Clocked, connection: Connection) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self { clocked, connection, formatted: Vec::new() }))
    }

    /// Deletes all pairs of a namespace.
    pub fn format(&mut self, nsid: u32) -> Result<(), HostError> {
        self.connection.format(&mut self.clocked, nsid)
    }

    /// Executes an admin command without data.
    fn admin(&mut self, sqe: Sqe) -> (Status, u64) {
        match self.connection.execute_admin(&mut self.clocked, sqe) {
            Ok(cqe) => (Status::SUCCESS, cqe.result()),
            Err(HostError::Status(status)) => (status, 0),
            Err(HostError::Kv(error)) => (error.status(), 0),
            Err(_) => (Status::INTERNAL_ERROR, 0),
        }
    }
}

/// A command that cannot be submitted now keeps its buffer.
fn kept(submitted: Result<Ticket, Returned>, command: &mut IoCommand) -> Result<Ticket, SubmitError> {
    submitted.map_err(|returned| {
        command.data = returned.buffer;
        returned.error
    })
}
