// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which key comes next.

mod skewed;
mod zipf;

use crate::bijection::Permutation;
use crate::error::WorkloadError;
use saker_sim::{Rng, Seed};

pub use skewed::Skewed;
pub use zipf::{Zipf, zeta};

/// How keys are chosen from the population `0..keys`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Every key alike.
    Uniform,
    /// Key `k` with a chance in proportion to 1 / (k + 1)^theta: small numbers are hot.
    Zipfian {
        /// The exponent, above 0 and below 1. YCSB uses 0.99.
        theta: f64,
    },
    /// Zipfian with the hot keys scattered by a permutation. (YCSB scatters by a hash, which lets hot keys share a
    /// place; here every rank has a key of its own.)
    Scrambled {
        /// The exponent, above 0 and below 1.
        theta: f64,
    },
    /// Zipfian from the newest key backwards, as in YCSB's workload D. Follows inserts.
    Latest {
        /// The exponent, above 0 and below 1.
        theta: f64,
    },
    /// Zipfian with any exponent, the hot keys scattered by a permutation.
    Skewed {
        /// The exponent, 0 (all alike) or more.
        alpha: f64,
    },
    /// 0, 1, 2, ... and again from 0.
    Sequential,
    /// Every key once in a random order, then again in the same order.
    Shuffled,
}

/// A running choice of keys.
#[derive(Clone, Debug)]
pub struct Picker {
    keys: u64,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Uniform,
    Zipfian(Zipf),
    Scrambled(Zipf, Permutation),
    Latest(Zipf),
    Skewed(Skewed, Permutation),
    Sequential(u64),
    Shuffled(u64, Permutation),
}

impl Distribution {
    /// Starts choosing among `keys` keys (at least 1). `seed` chooses permutations; draws come from the generator
    /// given to [`Picker::pick`].
    ///
    /// # Errors
    /// An exponent outside (0, 1), or below 0 where it may be above 1.
    pub fn picker(self, seed: u64, keys: u64) -> Result<Picker, WorkloadError> {
        assert!(keys >= 1);
        let permutation = || Permutation::new(Seed(seed).child("permutation").0, keys);
        let state = match self {
            Self::Uniform => State::Uniform,
            Self::Zipfian { theta } => State::Zipfian(Zipf::new(keys, theta)?),
            Self::Scrambled { theta } => State::Scrambled(Zipf::new(keys, theta)?, permutation()),
            Self::Latest { theta } => State::Latest(Zipf::new(keys, theta)?),
            Self::Skewed { alpha } if !(alpha >= 0.0 && alpha.is_finite()) => {
                return Err(WorkloadError::Alpha { alpha: alpha.to_string() });
            }
            Self::Skewed { alpha } => State::Skewed(Skewed::new(keys, alpha), permutation()),
            Self::Sequential => State::Sequential(0),
            Self::Shuffled => State::Shuffled(0, permutation()),
        };
        Ok(Picker { keys, state })
    }
}

impl Picker {
    /// The next key number.
    #[inline]
    pub fn pick(&mut self, rng: &mut Rng) -> u64 {
        match &mut self.state {
            State::Uniform => rng.below(self.keys),
            State::Zipfian(zipf) => zipf.rank(rng),
            State::Scrambled(zipf, permutation) => permutation.map(zipf.rank(rng)),
            State::Latest(zipf) => self.keys - 1 - zipf.rank(rng),
            State::Skewed(skewed, permutation) => permutation.map(skewed.rank(rng)),
            State::Sequential(next) => advance(next, self.keys),
            State::Shuffled(next, permutation) => permutation.map(advance(next, permutation.len())),
        }
    }

    /// Adds a key to the population and returns its number. `Uniform`, `Latest` and `Sequential` reach it from
    /// now on; the others keep to the keys they began with.
    pub fn insert(&mut self) -> u64 {
        if let State::Latest(zipf) = &mut self.state {
            zipf.grow();
        }
        self.keys += 1;
        self.keys - 1
    }
}

#[inline]
fn advance(next: &mut u64, keys: u64) -> u64 {
    let current = *next;
    *next = if current + 1 < keys { current + 1 } else { 0 };
    current
}

#[cfg(test)]
mod tests;
