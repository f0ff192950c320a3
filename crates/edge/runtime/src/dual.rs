// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store over both interfaces of a device, against the clock.

use crate::any::AnyDriver;
use saker_hybrid::Served;
use saker_sim::Instant;

/// The store, and since when its time runs.
#[derive(Debug)]
pub struct Dual {
    served: Served<AnyDriver>,
    begun: std::time::Instant,
}

impl Dual {
    /// Its time begins now.
    pub fn new(served: Served<AnyDriver>) -> Self {
        Self { served, begun: std::time::Instant::now() }
    }

    /// The store goes on: whatever is due by the clock.
    pub fn advance(&mut self) {
        self.served.set_now(Instant::from_nanos(self.begun.elapsed().as_nanos() as u64));
        saker_host::Driver::drive(&mut self.served);
    }

    /// The store as hosts see it.
    pub fn served(&self) -> &Served<AnyDriver> {
        &self.served
    }

    /// What runs the device below; the store is gone.
    pub fn into_driver(self) -> AnyDriver {
        self.served.into_driver()
    }
}
