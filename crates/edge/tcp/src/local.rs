// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device of a subsystem and this thread's end of it.

mod clocked;

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use saker::Error;
use saker_device::controller::{HealthCounters, NamespaceFacts};
use saker_host::kv_queue::Returned;
use saker_host::{Connection, Driver, HostError, KvQueue, RawData, SubmitError, Ticket};
use saker_link::STAGING_BYTES;
use saker_nvme::{Sqe, Status};
use saker_target::IoCommand;

pub(crate) use clocked::Clocked;

/// The device and its admin queue, which the subsystem and its Redis clients share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub clocked: Clocked,
    connection: Connection,
    /// Namespaces that Redis clients have formatted, which hosts have not been told of.
    pub formatted: Vec<u32>,
    /// Redis clients have had commands carried out since that was looked at last.
    pub has_served_redis: bool,
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
        Rc::new(RefCell::new(Self { clocked, connection, formatted: Vec::new(), has_served_redis: false }))
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
