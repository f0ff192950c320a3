// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From key numbers to key bytes, and back.

use crate::bijection::Bijection;
use crate::error::WorkloadError;
use crate::value::fill_words;
use saker_sim::Seed;

/// How a key's number shows in its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// Scattered over all byte strings, as hashed identifiers are.
    #[default]
    Hashed,
    /// In the byte order of the numbers (big-endian), for sequential fills.
    Ordered,
}

/// Smallest and largest key, in bytes.
pub const KEY_BYTES: core::ops::RangeInclusive<usize> = 4..=255;
/// Bytes that tell keys apart; the rest of a longer key follows from them.
const HEAD_BYTES: usize = 8;

/// Distinct keys of one size, one for each number.
///
/// The first `min(size, 8)` bytes are a bijection of the number, so no two numbers share a key. Further bytes are a
/// hash of the number: they add no distinction but cannot be guessed from the front.
#[derive(Clone, Debug)]
pub struct KeySpace {
    key_bytes: usize,
    form: KeyForm,
    bijection: Bijection,
    tail_seed: u64,
}

impl KeySpace {
    /// The keys of `key_bytes` bytes that `seed` chooses.
    ///
    /// # Errors
    /// A size outside 4..=255.
    pub fn new(seed: u64, key_bytes: usize, form: KeyForm) -> Result<Self, WorkloadError> {
        if !KEY_BYTES.contains(&key_bytes) {
            return Err(WorkloadError::KeyBytes { key_bytes });
        }
        let bijection = Bijection::new(Seed(seed).child("key head").0, 8 * key_bytes.min(HEAD_BYTES) as u32);
        Ok(Self { key_bytes, form, bijection, tail_seed: Seed(seed).child("key tail").0 })
    }

    /// Bytes of each key.
    pub const fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// How many numbers have a key, from 0 up (2^64 - 1 for keys of 8 bytes and more).
    pub const fn capacity(&self) -> u64 {
        if self.key_bytes >= HEAD_BYTES { u64::MAX } else { 1 << (8 * self.key_bytes) }
    }

    /// Writes the key of `number` (below [`KeySpace::capacity`]) into `out`, which has the size of a key.
    #[inline]
    pub fn fill(&self, number: u64, out: &mut [u8]) {
        assert_eq!(out.len(), self.key_bytes);
        assert!(number < self.capacity());
        let image = match self.form {
            KeyForm::Hashed => self.bijection.forward(number),
            KeyForm::Ordered => number,
        };
        let head = self.key_bytes.min(HEAD_BYTES);
        let (front, tail) = out.split_at_mut(head);
        front.copy_from_slice(&image.to_be_bytes()[HEAD_BYTES - head..]);
        fill_words(self.tail_seed ^ number, tail);
    }

    /// The key of `number` as a vector.
    pub fn key(&self, number: u64) -> Vec<u8> {
        let mut out = vec![0; self.key_bytes];
        self.fill(number, &mut out);
        out
    }

    /// The number whose key is `key`; nothing when it is no key of this space.
    pub fn number(&self, key: &[u8]) -> Option<u64> {
        if key.len() != self.key_bytes {
            return None;
        }
        let head = self.key_bytes.min(HEAD_BYTES);
        let image = key[..head].iter().fold(0, |n, &byte| n << 8 | u64::from(byte));
        let number = match self.form {
            KeyForm::Hashed => self.bijection.backward(image),
            KeyForm::Ordered => image,
        };
        (number < self.capacity() && self.key(number) == key).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const FORMS: [KeyForm; 2] = [KeyForm::Hashed, KeyForm::Ordered];

    proptest! {
        #[test]
        fn keys_lead_back_to_their_numbers(seed: u64, size in KEY_BYTES, number: u64, form in 0usize..2, at: usize) {
            let space = KeySpace::new(seed, size, FORMS[form]).unwrap();
            let number = number % space.capacity();
            let mut key = space.key(number);
            prop_assert_eq!(space.number(&key), Some(number));
            key[at % size] ^= 1;
            prop_assert_ne!(space.number(&key), Some(number));
            prop_assert_eq!(space.number(&key[1..]), None);
        }
    }

    #[test]
    fn neighbours_have_distinct_keys_of_every_size() {
        for size in [4, 5, 7, 8, 9, 16, 255] {
            let space = KeySpace::new(9, size, KeyForm::Hashed).unwrap();
            let keys: BTreeSet<_> = (0..5000).map(|n| space.key(n)).collect();
            assert_eq!(keys.len(), 5000, "{size}");
        }
    }

    #[test]
    fn ordered_keys_sort_as_their_numbers() {
        let space = KeySpace::new(9, 12, KeyForm::Ordered).unwrap();
        assert!((1..1000).all(|n| space.key(n * 300 - 1) < space.key(n * 300)));
        assert_eq!(KeySpace::new(9, 4, KeyForm::Ordered).unwrap().key(0x0102_0304), [1, 2, 3, 4]);
    }

    #[test]
    fn hashed_keys_spread_over_their_first_byte() {
        let space = KeySpace::new(4, 4, KeyForm::Hashed).unwrap();
        let mut counts = [0u32; 256];
        (0..25_600).for_each(|n| counts[usize::from(space.key(n)[0])] += 1);
        // Poisson with mean 100: six standard deviations.
        assert!(counts.iter().all(|n| (40..=160).contains(n)), "{counts:?}");
    }

    #[test]
    fn sizes_outside_the_range_are_refused() {
        for key_bytes in [0, 3, 256] {
            let error = KeySpace::new(0, key_bytes, KeyForm::Hashed).unwrap_err();
            assert_eq!(error, WorkloadError::KeyBytes { key_bytes });
        }
        assert_eq!(KeySpace::new(0, 4, KeyForm::Hashed).unwrap().capacity(), 1 << 32);
    }
}
