// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A session whose calls wait, by letting the device make progress.

mod many;
mod range;
mod reads;
mod scan;

use std::sync::Arc;

use saker_nvme::Key;
use saker_sim::Free;

use super::calls::{CallId, Reply};
use super::container::Write;
use super::hub::{Cover, Hub, Refusal, Sync};
use super::ticket::Ticket;
use super::wire::{Command, Wire};
use crate::driver::{Driver, Patience};
use crate::error::HostError;

/// Writes that a sync covers and that failed, or why it could not wait for them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyncError {
    /// These writes were refused; what readers see of their keys is what was stored before, or later. All others are
    /// durable.
    #[error("{} writes failed, the first of key {}: {}", .0.len(), .0[0].0, .0[0].1)]
    Failed(Vec<(Key, HostError)>),
    /// It is not known which writes are durable.
    #[error(transparent)]
    Unknown(#[from] HostError),
}

/// One thread's session: its lane of a [`Hub`], and calls that wait.
#[derive(Debug)]
pub struct Session<W: Wire, T> {
    hub: Arc<Hub<W>>,
    lane: usize,
    commit_lane: usize,
    driver: T,
    value_bytes_max: u32,
    patience: Patience,
}

impl<W: Wire, T: Driver> Session<W, T> {
    /// The session of lane `lane`. Durable writes of all sessions share lane `commit_lane`, which may be a session's, too.
    /// Values are at most `value_bytes_max` bytes long.
    pub fn new(
        hub: Arc<Hub<W>>,
        (lane, commit_lane): (usize, usize),
        driver: T,
        value_bytes_max: u32,
        patience: Patience,
    ) -> Self {
        assert!(lane < hub.lanes() && commit_lane < hub.lanes(), "the lanes are of this hub");
        Self { hub, lane, commit_lane, driver, value_bytes_max, patience }
    }

    /// Stores a pair. It is visible to all sessions at once, and durable after a [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened. What the device says comes with the sync.
    #[inline]
    pub fn put(&mut self, key: &Key, value: &[u8]) -> Result<(), HostError> {
        if value.len() > self.value_bytes_max as usize {
            return Err(self.too_long(value));
        }
        self.write(key, Some(value))
    }

    /// Deletes a key, if it is there. As [`put`](Self::put).
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened.
    #[inline]
    pub fn delete(&mut self, key: &Key) -> Result<(), HostError> {
        self.write(key, None)
    }

    #[cold]
    fn too_long(&self, value: &[u8]) -> HostError {
        HostError::ValueLength { bytes: value.len(), bytes_max: self.value_bytes_max as usize }
    }

    #[inline]
    fn write(&mut self, key: &Key, write: Write<'_>) -> Result<(), HostError> {
        match self.hub.write(self.lane, key, write, Cover::Session, &mut Free) {
            Ok(()) => Ok(()),
            Err(_) => self.write_slowly(self.lane, key, write, Cover::Session),
        }
    }

    #[cold]
    fn write_slowly(
        &mut self,
        lane: usize,
        key: &Key,
        write: Write<'_>,
        cover: Cover<'_>,
    ) -> Result<(), HostError> {
        let mut wait = self.patience.wait();
        loop {
            match self.hub.write(lane, key, write, cover, &mut Free) {
                Ok(()) => return Ok(()),
                Err(Refusal::Broken(error)) => return Err(error),
                Err(Refusal::Busy | Refusal::Changed) => {}
            }
            wait.drive(&mut self.driver)?;
            self.hub.advance(lane, &mut Free);
            if self.hub.parked_bytes() > self.hub.options().parked_bytes_max / 2 {
                self.hub.push_out_all(&mut Free);
            }
        }
    }

    /// Stores a pair and returns when it survives a cut. Sessions that do so at the same time share a container and a
    /// Flush (group commit).
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn put_durable(&mut self, key: &Key, value: &[u8]) -> Result<(), SyncError> {
        self.write_durable(key, Some(value))
    }

    /// Deletes a key, if it is there, and returns when that survives a cut.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn delete_durable(&mut self, key: &Key) -> Result<(), SyncError> {
        self.write_durable(key, None)
    }

    fn write_durable(&mut self, key: &Key, write: Write<'_>) -> Result<(), SyncError> {
        let (ticket, lane) = (self.begin_durable(key, write)?, self.commit_lane);
        let mut wait = self.patience.wait();
        while !self.hub.poll_commit(lane, &ticket, &mut Free) {
            wait.drive(&mut self.driver)?;
        }
        self.make_durable(ticket.take_failures())
    }

    /// Buffers a write that shares a container with the durable writes of other sessions. [`Hub::poll_commit`] over their
    /// lane sends it and tells when it has come to its end.
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened.
    pub fn begin_durable(&mut self, key: &Key, write: Write<'_>) -> Result<Ticket, HostError> {
        match write {
            Some(value) if value.len() > self.value_bytes_max as usize => return Err(self.too_long(value)),
            _ => {}
        }
        let ticket = Ticket::new();
        self.write_slowly(self.commit_lane, key, write, Cover::Ticket(&ticket))?;
        Ok(ticket)
    }

    /// Returns when everything this session has written survives a cut.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn sync(&mut self) -> Result<(), SyncError> {
        let sync = self.begin_sync();
        let mut wait = self.patience.wait();
        while !self.hub.poll_sync(self.lane, &sync, &mut Free) {
            wait.drive(&mut self.driver)?;
        }
        self.make_durable(sync.take_failures())
    }

    /// Sends what this session has written. [`Hub::poll_sync`] tells when it has come to its end.
    pub fn begin_sync(&mut self) -> Sync {
        self.hub.begin_sync(self.lane)
    }

    fn make_durable(&mut self, failures: Vec<(Key, HostError)>) -> Result<(), SyncError> {
        if self.hub.options().volatile {
            self.flush()?;
        }
        if failures.is_empty() { Ok(()) } else { Err(SyncError::Failed(failures)) }
    }

    /// Everything that has completed survives a cut afterwards; writes that are still buffered need not.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn flush(&mut self) -> Result<(), HostError> {
        let wanted = self.hub.wanted_flush();
        let mut wait = self.patience.wait();
        loop {
            if let Some(outcome) = self.hub.poll_flush(self.lane, wanted) {
                return outcome;
            }
            wait.drive(&mut self.driver)?;
            // Somebody else's lane may have the flush.
            (0..self.hub.lanes()).for_each(|n| self.hub.advance(n, &mut Free));
        }
    }

    /// Submits a command, once there is a slot for it.
    fn call(&mut self, command: Command<'_>) -> Result<CallId, HostError> {
        let mut wait = self.patience.wait();
        loop {
            match self.hub.call(self.lane, command) {
                Ok(id) => return Ok(id),
                Err(Refusal::Broken(error)) => return Err(error),
                Err(Refusal::Busy | Refusal::Changed) => {}
            }
            wait.drive(&mut self.driver)?;
            self.hub.advance(self.lane, &mut Free);
        }
    }

    /// Waits for an answer.
    fn answer<R>(&mut self, id: CallId, read: impl FnOnce(&Reply) -> R) -> Result<R, HostError> {
        let (mut read, mut wait) = (Some(read), self.patience.wait());
        loop {
            let taken = self.hub.poll_call(self.lane, id, |reply| read.take().map(|read| read(reply)));
            if let Some(answer) = taken {
                return answer.map(|answer| answer.expect("an answer is taken once"));
            }
            if let Err(error) = wait.drive(&mut self.driver) {
                self.hub.abandon(self.lane, id);
                return Err(error);
            }
        }
    }

    /// All sessions.
    pub fn hub(&self) -> &Arc<Hub<W>> {
        &self.hub
    }

    /// What lets the device make progress.
    pub fn driver_mut(&mut self) -> &mut T {
        &mut self.driver
    }
}

impl<W: Wire, T> Drop for Session<W, T> {
    /// What is buffered is sent; nobody waits for it.
    fn drop(&mut self) {
        self.hub.push_out(self.lane);
    }
}
