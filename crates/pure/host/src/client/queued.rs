// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes that are not waited for, up to the depth of the queue.

use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;

use super::KvClient;
use super::in_flight::InFlight;
use super::queued_gets::QueuedGets;
use crate::driver::Driver;
use crate::error::HostError;
use crate::kv_queue::{Done, Ticket};

/// What was queued: writes in flight, and reads whose answers nobody has taken.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) gets: QueuedGets,
    writes: InFlight,
    in_flight: usize,
    unannounced: u16,
    ring_every: u16,
    first_error: Option<(Key, HostError)>,
}

impl Queued {
    pub(super) fn new(slots: usize, ring_every: u16) -> Self {
        let ring_every = ring_every.max(1);
        let (gets, writes) = (QueuedGets::new(slots), InFlight::new(slots));
        Self { gets, writes, in_flight: 0, unannounced: 0, ring_every, first_error: None }
    }

    /// Everything submitted has been announced.
    #[inline]
    pub(super) fn rung(&mut self) {
        self.unannounced = 0;
    }

    #[inline]
    fn submitted(&mut self, ticket: Ticket, key: &Key) {
        self.writes.insert(ticket, key);
        self.in_flight += 1;
    }

    /// Books a completion, unless it is of a call that has given up waiting.
    #[inline(always)]
    pub(super) fn completed(&mut self, done: &Done<'_>) {
        if self.gets.in_flight() > 0 && self.gets.completed(done) {
            return;
        }
        if !done.status.is_success() {
            self.failed(done);
        }
        self.in_flight -= usize::from(self.writes.remove(done.ticket));
    }

    #[cold]
    fn failed(&mut self, done: &Done<'_>) {
        if let Some(key) = self.writes.key(done.ticket) {
            self.first_error.get_or_insert((key, done.status.into()));
        }
    }
}

impl<T: Driver> KvClient<T> {
    /// Submits a write and returns; waits only if the queue is full or a write of the same key is in flight. Later
    /// calls of this client see the value. Errors of the device are kept for [`drain`](Self::drain).
    ///
    /// # Errors
    /// [`HostError`]: the write was not submitted.
    #[inline]
    pub fn put_queued(&mut self, key: &Key, value: &[u8]) -> Result<(), HostError> {
        self.settle(key)?;
        let ticket = self.submit_store(key, value, StoreOptions::NONE)?;
        self.queued.submitted(ticket, key);
        self.announce_in_time()
    }

    /// One more command is in the queue: a doorbell announces several.
    #[inline(always)]
    pub(super) fn announce_in_time(&mut self) -> Result<(), HostError> {
        self.queued.unannounced += 1;
        let unannounced = self.queued.unannounced;
        if unannounced >= self.queued.ring_every {
            self.announce();
            if self.queue.has_completed(u32::from(unannounced)) {
                self.reap()?;
            }
        }
        Ok(())
    }

    #[inline]
    pub(super) fn announce(&mut self) {
        self.queue.ring();
        self.queued.rung();
    }

    /// Waits for all queued writes, and until all queued reads have been answered.
    ///
    /// # Errors
    /// [`HostError::Queued`] with the key of the first write that failed since the last drain; others may have failed too.
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.settle_all()?;
        self.end_dropped();
        self.drained()
    }

    fn drained(&mut self) -> Result<(), HostError> {
        match self.queued.first_error.take() {
            None => Ok(()),
            Some((key, error)) => Err(HostError::Queued { key, error: Box::new(error) }),
        }
    }

    /// As [`drain`](Self::drain), while `goes_on` says so; it is told how many writes are in flight. What is then still in flight
    /// is left to itself.
    ///
    /// # Errors
    /// As [`drain`](Self::drain).
    pub fn drain_while(&mut self, goes_on: &mut dyn FnMut(usize) -> bool) -> Result<(), HostError> {
        self.queue.ring();
        self.queued.rung();
        while self.queued.in_flight > 0 && goes_on(self.queued.in_flight) {
            self.driver.drive();
            self.reap()?;
        }
        if self.queued.in_flight > 0 { Ok(()) } else { self.drained() }
    }

    /// Whether [`drain`](Self::drain) has anything to wait for, or to tell.
    pub fn is_drained(&self) -> bool {
        self.queued.in_flight == 0 && self.queued.first_error.is_none()
    }

    /// Queued writes in flight.
    pub fn queued(&self) -> usize {
        self.queued.in_flight
    }

    /// Waits until no queued write of `key` is in flight.
    #[inline]
    pub(super) fn settle(&mut self, key: &Key) -> Result<(), HostError> {
        if self.queued.in_flight > 0 && self.queued.writes.hold(key) {
            self.settle_slowly(key)
        } else {
            Ok(())
        }
    }

    #[cold]
    fn settle_slowly(&mut self, key: &Key) -> Result<(), HostError> {
        self.wait_until(|client| !client.queued.writes.hold(key))
    }

    /// Waits until nothing that was queued is in flight.
    pub(super) fn settle_all(&mut self) -> Result<(), HostError> {
        if self.queued.in_flight == 0 && self.queued.gets.in_flight() == 0 {
            Ok(())
        } else {
            self.wait_until(|client| client.queued.in_flight == 0 && client.queued.gets.in_flight() == 0)
        }
    }
}
