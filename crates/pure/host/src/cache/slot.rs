// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys as the tables of caches take them: hashed without randomness, so that runs can be repeated.

use std::hash::{BuildHasherDefault, Hash, Hasher};

use saker_nvme::Key;

/// A key that knows its hash.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    key: Key,
    hash: u64,
}

impl Slot {
    #[inline]
    pub fn new(key: &Key) -> Self {
        const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;
        let number = u128::from_le_bytes(*key.padded());
        let halves = (number as u64 ^ key.len() as u64, (number >> 64) as u64 ^ SPREAD);
        // The two halves of a wide product: every bit of both sides reaches every bit of the hash.
        let product = u128::from(halves.0.wrapping_add(SPREAD)) * u128::from(halves.1);
        let folded = (product as u64 ^ (product >> 64) as u64).wrapping_mul(SPREAD);
        Self { key: *key, hash: folded ^ folded >> 32 }
    }

    /// Which part of the cache: bits that tables of usual sizes do not look at.
    #[inline]
    pub const fn part(&self) -> usize {
        (self.hash >> 40) as usize
    }
}

impl PartialEq for Slot {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Slot {}

impl Hash for Slot {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// Passes on the hash that a [`Slot`] has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Passed(u64);

impl Hasher for Passed {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| hash.rotate_left(8) ^ u64::from(*byte));
    }

    #[inline]
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

pub(super) type PassedHash = BuildHasherDefault<Passed>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn neighbours_of_all_lengths_spread_over_parts_and_table() {
        let mut hashes = BTreeSet::new();
        let (mut parts, mut low) = ([0u32; 16], [0u32; 64]);
        for n in 0..6400u64 {
            let bytes = n.to_be_bytes();
            let mut long = [7; 16];
            long[8..].copy_from_slice(&bytes);
            for key in [&bytes[..], &bytes[4..], &long] {
                let slot = Slot::new(&Key::new(key).expect("4 to 16 bytes"));
                hashes.insert(slot.hash);
                parts[slot.part() & 15] += 1;
                low[slot.hash as usize & 63] += 1;
            }
        }
        assert_eq!(hashes.len(), 3 * 6400);
        // Poisson with means 1200 and 300: six standard deviations.
        assert!(parts.iter().all(|n| n.abs_diff(1200) < 210), "{parts:?}");
        assert!(low.iter().all(|n| n.abs_diff(300) < 105), "{low:?}");
    }
}
