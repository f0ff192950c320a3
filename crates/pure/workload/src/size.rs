// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How large values are, and how long lists.

use crate::bijection::Permutation;
use crate::error::WorkloadError;
use saker_sim::{Rng, Seed};

/// One size and its share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The size.
    pub size: u32,
    /// Its weight among all shares.
    pub weight: u32,
}

/// A distribution of sizes: value bytes, or list entries.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Always the same.
    Fixed(u32),
    /// Every size from the first to the second, both included, alike.
    Uniform(u32, u32),
    /// One of the list, each place in it alike.
    OneOf(Vec<u32>),
    /// Exact shares in a shuffled order: over a plan whose every operation draws, each size comes as often as its
    /// weight says, up to rounding. (Counts of pages in experiments then need no tolerance for the draw.)
    Shares(Vec<Share>),
    /// Generalised Pareto as in RocksDB's mixgraph (Cao et al., FAST'20): sigma ((1 - u)^-k - 1) / k, rounded up
    /// and kept in 1..=max. Mixgraph's values: k 0.2615, sigma 25.45.
    Pareto {
        /// Shape, above 0.
        k: f64,
        /// Scale, above 0.
        sigma: f64,
        /// Largest size.
        max: u32,
    },
}

impl Sizes {
    /// Starts drawing sizes for `draws` draws. `what` names the sizes in errors.
    ///
    /// # Errors
    /// Nothing to draw from, ends the wrong way round, or a Pareto parameter that is not above 0.
    pub fn picker(&self, what: &'static str, seed: u64, draws: u64) -> Result<SizePicker, WorkloadError> {
        let refuse = |reason| Err(WorkloadError::Sizes { what, reason });
        match self {
            Self::Uniform(min, max) if min > max => return refuse("the smallest size is above the largest"),
            Self::OneOf(sizes) if sizes.is_empty() => return refuse("the list of sizes is empty"),
            Self::Shares(shares) if shares.iter().all(|s| s.weight == 0) => {
                return refuse("no share has a weight");
            }
            Self::Pareto { k, sigma, max } if !(*k > 0.0 && *sigma > 0.0 && *max > 0) => {
                return refuse("k, sigma and the largest size must be above 0");
            }
            _ => {}
        }
        Ok(self.start(Seed(seed).child("sizes").0, draws.max(1)))
    }

    fn start(&self, seed: u64, draws: u64) -> SizePicker {
        match self {
            Self::Fixed(size) => SizePicker::Fixed(*size),
            Self::Uniform(min, max) => SizePicker::Uniform(*min, u64::from(max - min) + 1),
            Self::OneOf(sizes) => SizePicker::OneOf(sizes.clone()),
            Self::Shares(shares) => SizePicker::Shares {
                next: 0,
                order: Permutation::new(seed, draws),
                ends: ends(shares, draws),
            },
            Self::Pareto { k, sigma, max } => SizePicker::Pareto { k: *k, sigma: *sigma, max: *max },
        }
    }
}

/// Sizes with the number of draws at which each ends: cumulative shares of `draws`, rounded to nearest.
fn ends(shares: &[Share], draws: u64) -> Vec<(u64, u32)> {
    let total: u128 = shares.iter().map(|s| u128::from(s.weight)).sum();
    let mut sum = 0u128;
    let end = |share: &Share| {
        sum += u128::from(share.weight);
        (((sum * u128::from(draws) * 2 + total) / (total * 2)) as u64, share.size)
    };
    shares.iter().map(end).collect()
}

/// A running choice of sizes.
#[derive(Clone, Debug)]
pub enum SizePicker {
    /// Always this.
    Fixed(u32),
    /// From the first, as many sizes as the second.
    Uniform(u32, u64),
    /// One of these.
    OneOf(Vec<u32>),
    /// Exact shares.
    Shares {
        /// Draws so far, from 0 again after the last.
        next: u64,
        /// The order of the draws.
        order: Permutation,
        /// Size and the draw at which it ends.
        ends: Vec<(u64, u32)>,
    },
    /// Generalised Pareto.
    Pareto {
        /// Shape.
        k: f64,
        /// Scale.
        sigma: f64,
        /// Largest size.
        max: u32,
    },
}

impl SizePicker {
    /// The next size.
    #[inline]
    pub fn pick(&mut self, rng: &mut Rng) -> u32 {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform(min, count) => *min + rng.below(*count) as u32,
            Self::OneOf(sizes) => sizes[rng.below(sizes.len() as u64) as usize],
            Self::Shares { next, order, ends } => {
                let place = order.map(*next);
                *next = if *next + 1 < order.len() { *next + 1 } else { 0 };
                ends[ends.partition_point(|(end, _)| *end <= place)].1
            }
            Self::Pareto { k, sigma, max } => pareto(*k, *sigma, *max, rng.unit()),
        }
    }
}

fn pareto(k: f64, sigma: f64, max: u32, unit: f64) -> u32 {
    let size = sigma * (libm::pow(1.0 - unit, -k) - 1.0) / k;
    // The cast saturates, so even an infinite draw ends at `max`.
    (libm::ceil(size) as u32).clamp(1, max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(sizes: &Sizes, draws: u64) -> Vec<u32> {
        let mut picker = sizes.picker("values", 1, draws).unwrap();
        let mut rng = Seed(2).rng();
        (0..draws).map(|_| picker.pick(&mut rng)).collect()
    }

    fn count(draws: &[u32], size: u32) -> usize {
        draws.iter().filter(|&&s| s == size).count()
    }

    #[test]
    fn shares_are_exact_and_shuffled() {
        let shares = vec![Share { size: 8, weight: 9 }, Share { size: 2048, weight: 1 }];
        let draws = draw(&Sizes::Shares(shares), 10_000);
        assert_eq!((count(&draws, 8), count(&draws, 2048)), (9000, 1000));
        let large_in_front = count(&draws[..1000], 2048);
        assert!((50..150).contains(&large_in_front), "{large_in_front}");
    }

    #[test]
    fn uneven_shares_are_off_by_at_most_one() {
        let shares = [1, 2, 3].map(|size| Share { size, weight: 1 });
        let draws = draw(&Sizes::Shares(shares.to_vec()), 100);
        for size in 1..=3 {
            assert!(count(&draws, size).abs_diff(33) <= 1);
        }
    }

    #[test]
    fn a_share_without_weight_never_comes() {
        let shares =
            vec![Share { size: 1, weight: 0 }, Share { size: 2, weight: 1 }, Share { size: 3, weight: 0 }];
        assert_eq!(count(&draw(&Sizes::Shares(shares), 500), 2), 500);
    }

    #[test]
    fn uniform_and_lists_reach_their_ends_and_no_further() {
        let draws = draw(&Sizes::Uniform(10, 12), 3000);
        assert_eq!((10..=12).map(|s| count(&draws, s)).sum::<usize>(), 3000);
        assert!((10..=12).all(|s| count(&draws, s) > 850));
        let draws = draw(&Sizes::OneOf(vec![5, 500]), 3000);
        assert!(count(&draws, 5).abs_diff(1500) < 150 && count(&draws, 500) == 3000 - count(&draws, 5));
        assert_eq!(draw(&Sizes::Uniform(0, u32::MAX), 50).len(), 50);
    }

    /// Mixgraph's published parameters give 69.1 % at or below 35 B and 4.1 % at or above 128 B (here rounded up,
    /// so below 128 means at most 127).
    #[test]
    fn pareto_has_mixgraphs_shares() {
        let draws = draw(&Sizes::Pareto { k: 0.2615, sigma: 25.45, max: 1024 }, 100_000);
        let small = draws.iter().filter(|&&s| s <= 35).count();
        let large = draws.iter().filter(|&&s| s > 128).count();
        assert!(small.abs_diff(69_100) < 600, "{small}");
        assert!(large.abs_diff(4_100) < 300, "{large}");
        assert!(draws.iter().all(|s| (1..=1024).contains(s)));
        assert_eq!(pareto(0.2615, 25.45, 1024, 1.0), 1024);
    }

    #[test]
    fn sizes_that_contain_nothing_are_refused() {
        let none = [
            Sizes::Uniform(2, 1),
            Sizes::OneOf(vec![]),
            Sizes::Shares(vec![]),
            Sizes::Shares(vec![Share { size: 1, weight: 0 }]),
            Sizes::Pareto { k: 0.0, sigma: 1.0, max: 1 },
            Sizes::Pareto { k: f64::NAN, sigma: 1.0, max: 1 },
        ];
        for sizes in none {
            assert!(sizes.picker("values", 0, 10).is_err(), "{sizes:?}");
        }
    }
}
