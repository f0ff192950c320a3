// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Seeded bijections: of the integers below a power of two, and of those below any number.
//!
//! A round adds a key, folds the upper half into the lower and multiplies by an odd number; each of the three
//! can be undone, so distinct inputs stay distinct. The recipe is the usual one of integer hash finishers.

use saker_sim::Seed;

const ROUNDS: usize = 3;
/// Odd multipliers: the golden ratio and the two of SplitMix64's finisher (Steele, Lea, Flood, 2014).
const ODD: [u64; ROUNDS] = [0x9e37_79b9_7f4a_7c15, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];
const ODD_INVERSE: [u64; ROUNDS] = [inverse(ODD[0]), inverse(ODD[1]), inverse(ODD[2])];

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the correct bits.
const fn inverse(odd: u64) -> u64 {
    assert!(odd % 2 == 1);
    let mut x = odd; // correct in 3 bits
    let mut bits = 3;
    while bits < 64 {
        x = x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x)));
        bits *= 2;
    }
    x
}

/// A seeded bijection of the integers below 2^`bits`.
#[derive(Clone, Copy, Debug)]
pub struct Bijection {
    mask: u64,
    fold: u32,
    keys: [u64; ROUNDS],
}

impl Bijection {
    /// The bijection of `bits` bits (1 to 64) that `seed` chooses.
    pub fn new(seed: u64, bits: u32) -> Self {
        assert!((1..=64).contains(&bits));
        let keys = ["bijection 0", "bijection 1", "bijection 2"].map(|label| Seed(seed).child(label).0);
        // Folding by at least half the width is its own inverse.
        Self { mask: u64::MAX >> (64 - bits), fold: bits.div_ceil(2), keys }
    }

    /// The image of `x`, which is below 2^bits.
    #[inline]
    pub fn forward(&self, x: u64) -> u64 {
        debug_assert!(x <= self.mask);
        let rounds = self.keys.iter().zip(ODD);
        let mixed = rounds.fold(x, |x, (key, odd)| {
            let x = x.wrapping_add(*key) & self.mask;
            self.folded(x).wrapping_mul(odd) & self.mask
        });
        self.folded(mixed)
    }

    /// The number whose image is `y`.
    #[inline]
    pub fn backward(&self, y: u64) -> u64 {
        debug_assert!(y <= self.mask);
        let rounds = self.keys.iter().zip(ODD_INVERSE).rev();
        rounds.fold(self.folded(y), |x, (key, inverse)| {
            let x = x.wrapping_mul(inverse) & self.mask;
            self.folded(x).wrapping_sub(*key) & self.mask
        })
    }

    #[inline]
    const fn folded(&self, x: u64) -> u64 {
        // 64 never occurs: the fold of 64 bits is 32.
        x ^ (x >> self.fold)
    }
}

/// A seeded permutation of the integers below `len`, in constant memory: the bijection of the next power of two,
/// applied until it lands inside ("cycle walking", Black and Rogaway, CT-RSA 2002), at most twice on average.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    len: u64,
    bijection: Bijection,
}

impl Permutation {
    /// The permutation of `len` numbers (at least 1) that `seed` chooses.
    pub fn new(seed: u64, len: u64) -> Self {
        assert!(len >= 1);
        let bits = (64 - (len - 1).leading_zeros()).max(1);
        Self { len, bijection: Bijection::new(seed, bits) }
    }

    /// How many numbers it permutes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether it permutes nothing: never.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The image of `x`, which is below `len`.
    #[inline]
    pub fn map(&self, x: u64) -> u64 {
        assert!(x < self.len);
        let mut y = self.bijection.forward(x);
        while y >= self.len {
            y = self.bijection.forward(y);
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn backward_undoes_forward(seed: u64, bits in 1u32..=64, x: u64) {
            let b = Bijection::new(seed, bits);
            let x = x & b.mask;
            let y = b.forward(x);
            prop_assert!(y <= b.mask);
            prop_assert_eq!(b.backward(y), x);
        }

        #[test]
        fn a_permutation_meets_every_number_once(seed: u64, len in 1u64..3000) {
            let p = Permutation::new(seed, len);
            let mut images: Vec<u64> = (0..len).map(|x| p.map(x)).collect();
            images.sort_unstable();
            prop_assert!(images.into_iter().eq(0..len));
        }
    }

    #[test]
    fn a_permutation_shuffles() {
        let p = Permutation::new(1, 10_000);
        let fixed = (0..10_000).filter(|&x| p.map(x) == x).count();
        let rising = (1..10_000).filter(|&x| p.map(x) > p.map(x - 1)).count();
        let near = (1..10_000).filter(|&x| p.map(x).abs_diff(p.map(x - 1)) < 100).count();
        // A random permutation has 1 fixed point, 5000 rises and 199 near neighbours on average.
        assert!(
            fixed <= 6 && rising.abs_diff(5000) < 200 && near.abs_diff(199) < 75,
            "{fixed} {rising} {near}"
        );
    }

    #[test]
    fn seeds_choose_different_permutations() {
        let (a, b) = (Permutation::new(1, 1000), Permutation::new(2, 1000));
        assert!((0..1000).filter(|&x| a.map(x) == b.map(x)).count() < 10);
    }
}
