//! One seed for a run, a tree of named seeds under it: `child_seed(run, "keys")`, and so on down.
//!
//! Two parts of a run never share a stream, and adding a part never shifts the numbers of another.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The seed of the part named `label` under `parent`: XXH3-64 of the label's bytes, with the parent as its seed.
pub fn child_seed(parent: u64, label: &str) -> u64 {
    xxh3_64_with_seed(label.as_bytes(), parent)
}

/// A deterministic random generator: xoshiro256++ started through SplitMix64 (Blackman and Vigna, "Scrambled
/// linear pseudorandom number generators", 2021).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The generator at `seed`.
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, 0 for bound 0. By multiplication (Lemire, "Fast random integer generation in an
    /// interval", 2019) without its rejection: the bias is below `bound` / 2^64.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A number in [0, 1), a multiple of 2^-53.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_the_hash_of_their_label() {
        // XXH3-64 of no bytes with seed 0, as the xxHash reference states it.
        assert_eq!(child_seed(0, ""), 0x2d06_8005_38d3_94c2);
        assert_ne!(child_seed(1, "keys"), child_seed(2, "keys"));
        assert_ne!(child_seed(1, "keys"), child_seed(1, "sizes"));
    }

    /// The state after seed 0 is SplitMix64's first four outputs; the first output is
    /// `rotl(s0 + s3, 23) + s0`, worked out by hand from the published outputs.
    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let s0: u64 = 0xe220_a839_7b1d_cdaf;
        let s3: u64 = 0xf88b_b8a8_724c_81ec;
        let first = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        assert_eq!(Rng::new(0).next_u64(), first);
    }

    #[test]
    fn bounds_hold_and_are_reached() {
        let mut rng = Rng::new(3);
        let mut seen = [0u32; 5];
        (0..500).for_each(|_| seen[rng.below(5) as usize] += 1);
        assert!(seen.iter().all(|&n| n > 60), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        let units: Vec<f64> = (0..1000).map(|_| rng.unit()).collect();
        assert!(units.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((units.iter().sum::<f64>() / 1000.0 - 0.5).abs() < 0.05);
    }
}
