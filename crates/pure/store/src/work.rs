// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a lane's core did, and what that costs.

use saker_sim::Duration;

/// What was spent since it was last asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Metered CPU time.
    pub cpu: Duration,
    /// Commands submitted.
    pub commands: u64,
    /// Pages mapped for the device to read.
    pub pages: u64,
    /// Stores to the device's memory, of 64 bytes.
    pub mmio_stores: u64,
    /// Completions taken.
    pub completions: u64,
    /// A doorbell is to be rung when the core is through with it.
    pub rings: bool,
}

/// What a store charges a core for: its charging rule. Which completions are whose, and when they are charged, is said by its
/// [`Order`](crate::Order).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prices {
    /// Submitting a command.
    pub command: Duration,
    /// Mapping a page.
    pub page: Duration,
    /// A store to the device's memory.
    pub mmio_store: Duration,
    /// Finding and taking a completion.
    pub completion: Duration,
    /// Ringing a doorbell.
    pub doorbell: Duration,
}

impl Prices {
    /// How long a core is busy with it.
    #[inline]
    pub fn of(&self, work: &Work) -> Duration {
        let doorbell = if work.rings { self.doorbell } else { Duration::ZERO };
        work.cpu
            + self.command * work.commands
            + self.page * work.pages
            + self.mmio_store * work.mmio_stores
            + self.completion * work.completions
            + doorbell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_its_price_and_a_doorbell_is_rung_once() {
        let ns = Duration::from_nanos;
        let prices = Prices {
            command: ns(1),
            page: ns(10),
            mmio_store: ns(100),
            completion: ns(1000),
            doorbell: ns(10_000),
        };
        let work =
            Work { cpu: ns(100_000), commands: 2, pages: 3, mmio_stores: 4, completions: 5, rings: false };
        assert_eq!(prices.of(&work), ns(105_432));
        assert_eq!(prices.of(&Work { rings: true, ..work }), ns(115_432));
    }
}
