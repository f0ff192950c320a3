// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device on the thread of its subsystem, and its clock.

use std::time::Instant as Clock;

use saker::{AnyDevice, EngineKind, Error, close_device};
use saker_device::controller::NamespaceFacts;
use saker_flash::FlashStats;
use saker_host::Driver;
use saker_nvme::group::TransactionId;
use saker_nvme::vendor_specific::Counter;
use saker_sim::{Duration, Instant};

/// A device that is advanced on this thread, against the clock if it keeps time.
#[derive(Debug)]
pub(crate) struct Clocked {
    pub(super) device: AnyDevice,
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

    /// Lets it work. True if it keeps no time and did anything.
    pub fn advance(&mut self) -> bool {
        let now = if self.device.is_timed() { self.now() } else { Instant::ZERO };
        self.device.advance(now)
    }

    /// Whether a thread computes for it now, which goes on when that is done.
    pub fn is_computing(&self) -> bool {
        self.device.is_computing()
    }

    /// When a device that keeps time has something to do; nothing for others.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.device.next_deadline()
    }
}

impl Driver for Clocked {
    fn drive(&mut self) {
        self.advance();
    }
}
