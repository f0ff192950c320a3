//! One seed for a run, a tree of named seeds under it. Two parts of a run never share a stream, and
//! adding a part never shifts the numbers of another.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A node of the seed tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// The child of this node with that name.
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

/// A deterministic random generator (xoshiro256++).
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, by multiplication (bias below 2^-32 for the bounds used here). 0 for bound 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
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
    fn below_stays_below_and_reaches_the_ends() {
        let mut rng = Seed(1).rng();
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[rng.below(5) as usize] = true;
        }
        assert_eq!(seen, [true; 5]);
    }

    #[test]
    fn chances() {
        let mut rng = Seed(2).rng();
        assert!((0..1000).all(|_| !rng.happens(Chance::NEVER)));
        let hits = (0..10_000).filter(|_| rng.happens(Chance::one_in(10))).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }
}
