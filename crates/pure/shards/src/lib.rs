// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One device out of several: a dispatcher that serves a host's queues and hands each command to the shard of its key.
//!
//! Shards are devices of their own with one namespace each, on threads of their own or not, in the same host memory: what a
//! plain command moves, shard and host move directly. A namespace is split by a hash of the key. Groups are split and their
//! results put together again; Flush goes to all; List goes through the shards one behind the other, which is a total order
//! over all possible keys, as each shard's own is.
#![forbid(unsafe_code)]

mod admin;
mod counters;
mod dispatch;
mod flight;
mod groups;
mod kept;
mod list;
mod part;
mod shard;
mod stalls;
mod transactions;

pub use shard::Shard;

use flight::Flights;
use kept::Kept;
use saker_host::front::{Asked, Front};
use saker_host::{Driver, Port};
use saker_link::DmaSpace;
use std::sync::Arc;
use transactions::Whose;

/// A device of several shards. [`Driver::drive`] does all the dispatcher's work, and that of shards without threads.
#[derive(Debug)]
pub struct Sharded<T> {
    front: Front,
    shards: Vec<Shard<T>>,
    flights: Flights,
    kept: Kept,
    whose: Whose,
    /// Longest payload of a group that all shards take, in bytes.
    group_bytes_max: u32,
}

/// The shard of a key, out of `count`.
#[must_use]
pub fn shard_of(key: &[u8], count: usize) -> usize {
    let mut digest = saker_sim::Digest::default();
    digest.bytes(key);
    (digest.value() % count.max(1) as u64) as usize
}

impl<T: Driver> Sharded<T> {
    /// Over these shards, which share `space` with the host.
    ///
    /// # Panics
    /// If there are no shards.
    #[must_use]
    pub fn new(shards: Vec<Shard<T>>, space: Arc<DmaSpace>) -> Self {
        let group_bytes_max = shards.iter().map(Shard::group_bytes_max).min().expect("a device has a shard");
        let (front, flights) = (Front::new(space), Flights::default());
        let (kept, whose) = (Kept::default(), Whose::default());
        Self { front, shards, flights, kept, whose, group_bytes_max }
    }

    /// What the host connects to.
    #[must_use]
    pub fn port(&self) -> Port {
        self.front.port()
    }

    /// What runs the shards.
    #[must_use]
    pub fn into_turns(self) -> Vec<T> {
        self.shards.into_iter().map(Shard::into_driver).collect()
    }

    /// What runs the shards.
    pub fn turns_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.shards.iter_mut().map(|shard| &mut shard.driver)
    }

    /// Lets everything in flight come to its end: a queue goes, and its identifiers may come again.
    fn settle(&mut self) {
        while !self.flights.is_empty() {
            self.advance_shards();
        }
    }
}

impl<T: Driver> Driver for Sharded<T> {
    fn drive(&mut self) {
        match self.front.asked() {
            Asked::Nothing => {}
            Asked::On => self.front.turn_on(),
            Asked::ShutDown => self.front.shut_down(),
            Asked::Off => {
                self.settle();
                self.front.turn_off();
            }
        }
        self.fetch_all();
        self.advance_shards();
    }
}
