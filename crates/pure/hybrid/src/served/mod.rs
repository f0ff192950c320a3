// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The store as a device of its own: a host connects to it as to any key-value SSD, and finds one namespace of pairs.
//!
//! It serves Store, Retrieve, Delete, Exist, List, Flush, iterators, groups and transactions. The vendor's transfer methods, keys by pointer
//! and transactions in parts it does not have, and says so: hosts fall back to plain commands. Whoever made it gives it a clock; nothing
//! goes on between turns.

mod admin;
mod background;
mod format;
mod groups;
mod io;
mod ranges;
mod results;
mod transactions;
mod wanted;

pub use format::finish_format;

use crate::main_tree::{Made, MainTree};
use crate::store::Hybrid;
use io::Flights;
use ranges::Ranges;
use results::Kept;
use saker_engine::write_gate::WriteControl;
use saker_host::front::{Asked, Front};
use saker_host::host_kv::{HostKv, Work};
use saker_host::{Connection, Driver, Port};
use saker_link::DmaSpace;
use saker_sim::Instant;
use std::sync::Arc;

/// Tells the time.
pub type Clock = Box<dyn Fn() -> Instant + Send>;

/// The store, the device below it, and what a host sees.
pub struct Served<T, M = HostKv> {
    /// Before the driver, which it may still need when it is dropped.
    store: Hybrid<M>,
    driver: T,
    made: Made,
    clock: Option<Clock>,
    front: Front,
    flights: Flights,
    ranges: Ranges,
    kept: Kept,
    /// What versions of pairs begin with: neither another opening's nor another Format's do.
    life: u64,
    /// Delete tells if there was nothing (EDNEK).
    delete_tells: bool,
}

impl<T, M> std::fmt::Debug for Served<T, M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("made", &self.made).finish_non_exhaustive()
    }
}

impl<T: Driver, M: MainTree> Served<T, M> {
    /// A store that is open, over the device that `driver` runs, in memory that the device shares with the host. `life`: a number that no
    /// other opening has, nor one of the few above it, and not 0.
    #[must_use]
    pub fn new(store: Hybrid<M>, driver: T, made: Made, space: Arc<DmaSpace>, life: u64) -> Self {
        let (front, flights, ranges) = (Front::new(space), Flights::default(), Ranges::default());
        let kept = Kept::default();
        Self { store, driver, made, clock: None, front, flights, ranges, kept, life, delete_tells: false }
    }

    /// What the host connects to.
    #[must_use]
    pub fn port(&self) -> Port {
        self.front.port()
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Hybrid<M> {
        &self.store
    }

    /// What runs the device below.
    pub fn driver(&self) -> &T {
        &self.driver
    }

    /// The same, to be used.
    pub fn driver_mut(&mut self) -> &mut T {
        &mut self.driver
    }

    /// What runs the device below; the store is gone.
    #[must_use]
    pub fn into_driver(self) -> T {
        self.driver
    }

    /// The namespace of blocks, where the main tree is.
    #[must_use]
    pub fn blocks(&self) -> u32 {
        self.made.blocks
    }

    /// What tells the time from here on.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Whether writes wait for the main tree, and when they did.
    #[must_use]
    pub fn write_control(&self) -> WriteControl {
        let now = self.store.now.unwrap_or(Instant::ZERO);
        WriteControl { condition: self.store.main().write_condition(), stalls: self.store.stalls(), now }
    }

    fn connection(&mut self) -> (&mut Connection, &mut T) {
        (self.store.device.connection_mut(), &mut self.driver)
    }

    /// The device below and the store go on.
    fn go_on(&mut self) {
        self.store.ring();
        self.driver.drive();
        let flights = &mut self.flights;
        self.store.advance(Work::Free, &mut |ticket, outcome| flights.ended(ticket, outcome));
        // Before the background work, which nobody needs who has an answer.
        self.finish_ended();
        self.background();
        self.store.ring();
    }

    /// Lets everything in flight come to its end.
    fn settle(&mut self) {
        while !self.flights.is_empty() {
            self.go_on();
        }
    }
}

impl<T: Driver, M: MainTree> Driver for Served<T, M> {
    fn drive(&mut self) {
        if let Some(clock) = &self.clock {
            self.store.set_now(clock());
        }
        match self.front.asked() {
            Asked::Nothing => {}
            Asked::On => self.front.turn_on(),
            Asked::ShutDown => self.front.shut_down(),
            Asked::Off => {
                self.settle();
                self.end_ranges(None);
                self.front.turn_off();
            }
        }
        self.fetch_all();
        self.go_on();
    }
}
