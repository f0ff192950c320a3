// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What transactions are to do.

use saker_sim::Rng;

/// One step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Reads a list.
    Read(u64),
    /// Appends an element to a list.
    Append(u64, u64),
}

/// The steps of a transaction, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan(pub Vec<Step>);

/// Makes plans: few keys at a time, so that transactions meet, and new ones again and again, so that lists stay short.
#[derive(Debug)]
pub struct Plans {
    rng: Rng,
    /// The lists in use.
    keys: Vec<u64>,
    next_key: u64,
    next_element: u64,
}

/// Lists in use at the same time.
const KEYS: u64 = 5;
/// Steps of a transaction.
const STEPS_MAX: u64 = 5;
/// Of transactions, one in so many only reads.
const READS_ONLY_IN: u64 = 5;
/// A list goes out of use after about so many plans.
const PLANS_PER_KEY: u64 = 12;

impl Plans {
    /// Plans from a generator.
    pub fn new(rng: Rng) -> Self {
        Self { rng, keys: (0..KEYS).collect(), next_key: KEYS, next_element: 1 }
    }

    /// Every list that was ever in use.
    pub fn keys(&self) -> std::ops::Range<u64> {
        0..self.next_key
    }

    /// The next plan. Its elements were in no plan before.
    pub fn next_plan(&mut self) -> Plan {
        if self.rng.below(PLANS_PER_KEY) == 0 {
            let old = self.rng.below(KEYS) as usize;
            self.keys[old] = self.next_key;
            self.next_key += 1;
        }
        let is_reader = self.rng.below(READS_ONLY_IN) == 0;
        let steps = 1 + u64::from(is_reader) + self.rng.below(STEPS_MAX);
        Plan((0..steps).map(|_| self.step(is_reader)).collect())
    }

    fn step(&mut self, is_reader: bool) -> Step {
        let key = self.keys[self.rng.below(KEYS) as usize];
        if is_reader || self.rng.below(2) == 0 {
            return Step::Read(key);
        }
        self.next_element += 1;
        Step::Append(key, self.next_element)
    }
}
