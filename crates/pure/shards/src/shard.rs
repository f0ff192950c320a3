// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One shard: a device, this dispatcher's connection to it and a queue pair for all commands.

use crate::part::Part;
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, Driver, HostError, KvQueue, Port, SubmitError, Ticket};
use saker_nvme::{Sqe, Status};

/// A connected shard.
#[derive(Debug)]
pub struct Shard<T> {
    pub(crate) driver: T,
    pub(crate) connection: Connection,
    pub(crate) queue: KvQueue,
    /// What the command in each slot is part of.
    parts: Vec<Option<Part>>,
    group_bytes_max: u32,
}

impl<T: Driver> Shard<T> {
    /// Connects to the device behind `port`, which `turn` runs, for `depth` commands at once in namespace `nsid`.
    ///
    /// # Errors
    /// [`HostError`] if there is no such device.
    pub fn open(port: Port, mut driver: T, nsid: u32, depth: u16) -> Result<Self, HostError> {
        let mut connection = Connection::connect(port, &mut driver, ConnectOptions::default())?;
        let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let queue = connection.create_kv_queue(&mut driver, nsid, options)?;
        let parts = vec![None; queue.slots()];
        let methods = connection.transfer_methods(&mut driver, u32::from(depth) + 1)?;
        Ok(Self { driver, connection, queue, parts, group_bytes_max: methods.group_bytes_max })
    }

    pub(crate) fn group_bytes_max(&self) -> u32 {
        self.group_bytes_max
    }

    pub(crate) fn into_driver(self) -> T {
        self.driver
    }

    /// Whether it takes another command.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.in_flight() < self.queue.slots()
    }

    /// Whether it has commands.
    pub(crate) fn is_asked(&self) -> bool {
        self.queue.in_flight() > 0
    }

    /// What was submitted is that part.
    pub(crate) fn note(
        &mut self,
        submitted: Result<Ticket, SubmitError>,
        part: Part,
    ) -> Result<(), SubmitError> {
        self.parts[usize::from(submitted?.slot())] = Some(part);
        Ok(())
    }

    /// The next completion: what it is part of, its status, dwords and data.
    pub(crate) fn next(&mut self) -> Option<(Part, Ended)> {
        let polled = self.queue.poll(|done| {
            let (slot, status) = (usize::from(done.ticket.slot()), done.status);
            let (dw0, dw1) = (done.result, done.result_high);
            (slot, Ended { status, dw0, dw1, data: done.into_vec() })
        });
        let (slot, ended) = polled?.ok()?;
        Some((self.parts.get_mut(slot)?.take()?, ended))
    }

    /// Executes an admin command as it is.
    pub(crate) fn admin(&mut self, sqe: &Sqe) -> (Status, u64) {
        match self.connection.execute_admin(&mut self.driver, *sqe) {
            Ok(cqe) => (Status::SUCCESS, cqe.result()),
            Err(HostError::Status(status)) => (status, 0),
            Err(HostError::Kv(error)) => (error.status(), 0),
            Err(_) => (Status::INTERNAL_ERROR, 0),
        }
    }
}

/// How a command of a shard ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub status: Status,
    pub dw0: u32,
    pub dw1: u32,
    pub data: Vec<u8>,
}
