// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One seed for a run, a tree of named seeds under it. Two parts of a run never share a stream, and
//! adding a part never shifts the numbers of another.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A node of the seed tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The child of this node with that name: XXH3-64 of the name, with the node as its seed.
    pub fn child(self, label: &str) -> Self {
        Self(xxh3_64_with_seed(label.as_bytes(), self.0))
    }

    /// The numbered child of this node.
    pub fn index(self, n: u64) -> Self {
        Self(xxh3_64_with_seed(&n.to_le_bytes(), self.0))
    }

    /// A generator started at this node.
    pub fn rng(self) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(self.0))
    }
}

/// A deterministic random generator: xoshiro256++ started through SplitMix64 (Blackman and Vigna, "Scrambled
/// linear pseudorandom number generators", 2021).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
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

    /// Whether an event of that chance happens.
    pub fn happens(&mut self, chance: Chance) -> bool {
        chance.one_in != 0 && self.below(chance.one_in) < chance.times
    }

    /// Fills `out` with random bytes.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

/// A probability as a ratio, `times` in `one_in`; never a float.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chance {
    /// How often ...
    pub times: u64,
    /// ... in that many tries. 0 means never.
    pub one_in: u64,
}

impl Chance {
    /// Never.
    pub const NEVER: Self = Self { times: 0, one_in: 0 };

    /// Once in `n` tries; never for 0.
    pub const fn one_in(n: u64) -> Self {
        Self { times: 1, one_in: n }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_differ_and_repeat() {
        let root = Seed(7);
        assert_ne!(root.child("a"), root.child("b"));
        assert_eq!(root.child("a").rng().next_u64(), root.child("a").rng().next_u64());
        assert_ne!(root.index(1), root.index(2));
    }

    #[test]
    fn children_are_the_hash_of_their_name() {
        // XXH3-64 of no bytes with seed 0, as the xxHash reference states it.
        assert_eq!(Seed(0).child(""), Seed(0x2d06_8005_38d3_94c2));
    }

    /// The state after seed 0 is SplitMix64's first four outputs; the first output is
    /// `rotl(s0 + s3, 23) + s0`, worked out by hand from the published outputs.
    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        let s0: u64 = 0xe220_a839_7b1d_cdaf;
        let s3: u64 = 0xf88b_b8a8_724c_81ec;
        let first = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        assert_eq!(Seed(0).rng().next_u64(), first);
    }

    #[test]
    fn bounds_hold_and_are_reached_evenly() {
        let mut rng = Seed(3).rng();
        let mut seen = [0u32; 5];
        (0..500).for_each(|_| seen[rng.below(5) as usize] += 1);
        assert!(seen.iter().all(|&n| n > 60), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        let units: Vec<f64> = (0..1000).map(|_| rng.unit()).collect();
        assert!(units.iter().all(|u| (0.0..1.0).contains(u)));
        assert!((units.iter().sum::<f64>() / 1000.0 - 0.5).abs() < 0.05);
    }

    #[test]
    fn chances() {
        let mut rng = Seed(2).rng();
        assert!((0..1000).all(|_| !rng.happens(Chance::NEVER)));
        let hits = (0..10_000).filter(|_| rng.happens(Chance::one_in(10))).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }
}
