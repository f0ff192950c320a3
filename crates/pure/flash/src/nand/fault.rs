// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Faults that can be asked for. Pristine cells and faults are kept apart: a fault changes what an operation
//! answers or how long it takes; only a cut changes cells.

use saker_segment_store::PageAddr;
use saker_sim::{Chance, Duration, Rng, Seed};

/// What may go wrong, seeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultPlan {
    /// Seed of all decisions.
    pub seed: u64,
    /// A program fails; the page is spent.
    pub program: Chance,
    /// An erase fails; the segment is retired.
    pub erase: Chance,
    /// A page cannot be read, for as long as it is not erased.
    pub read: Chance,
    /// An operation takes `spike_ns` longer.
    pub spike: Chance,
    /// Length of a spike in nanoseconds.
    pub spike_ns: u64,
    /// Power is cut at this media operation (program or erase), counted from 1 since power-on; 0: never.
    pub cut_at: u64,
}

/// How power is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerCut {
    /// Decides what becomes of each operation in flight.
    pub seed: u64,
    /// Whether a capacitor keeps the power-safe page buffer.
    pub ring_kept: bool,
}

/// Decides faults as operations come.
#[derive(Clone, Debug)]
pub struct Faults {
    plan: FaultPlan,
    rng: Rng,
    operations: u64,
}

impl Faults {
    /// Faults of that plan.
    pub fn new(plan: FaultPlan) -> Self {
        Self { plan, rng: Seed(plan.seed).child("faults").rng(), operations: 0 }
    }

    /// Whether this program fails.
    pub fn program_fails(&mut self) -> bool {
        self.rng.happens(self.plan.program)
    }

    /// Whether this erase fails.
    pub fn erase_fails(&mut self) -> bool {
        self.rng.happens(self.plan.erase)
    }

    /// Whether any page may be unreadable.
    #[inline]
    pub fn reads_fail(&self) -> bool {
        self.plan.read.one_in != 0
    }

    /// Whether a page of that erase cycle is unreadable.
    #[inline]
    pub fn is_unreadable(&self, at: PageAddr, epoch: u32) -> bool {
        let chance = self.plan.read;
        chance.one_in != 0 && Seed(self.plan.seed).index(at.0).index(u64::from(epoch)).rng().happens(chance)
    }

    /// Extra time of this operation.
    pub fn spike(&mut self) -> Duration {
        if self.rng.happens(self.plan.spike) {
            Duration::from_nanos(self.plan.spike_ns)
        } else {
            Duration::ZERO
        }
    }

    /// Counts a media operation. True when it is the one at which power is cut.
    pub fn is_cut(&mut self) -> bool {
        self.operations += 1;
        self.operations == self.plan.cut_at
    }

    /// Media operations so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }
}
