// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Bloom filters (Bloom, CACM 1970) with the two-hash scheme of Kirsch and Mitzenmacher (2006), all bits of a key in
//! one cache line.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use saker_sim::Meter;

/// Words of a line.
const LINE_WORDS: usize = 8;
const LINE_BITS: u64 = 64 * LINE_WORDS as u64;
/// Probes of an open filter: adding is as frequent as asking.
const OPEN_PROBES: u8 = 4;

/// A filter over the hashes of keys. Empty: everything may be in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    words: Vec<u64>,
    probes: u8,
}

impl Filter {
    /// A filter of `bits_per_key` bits for each hash; none if 0.
    pub fn new(hashes: &[u64], bits_per_key: u32) -> Self {
        if bits_per_key == 0 || hashes.is_empty() {
            return Self::default();
        }
        let lines = (hashes.len() as u64 * u64::from(bits_per_key)).div_ceil(LINE_BITS).max(1);
        // The number of probes with the fewest false answers is bits times ln 2.
        let probes = (bits_per_key * 69 / 100).clamp(1, 12) as u8;
        let mut filter = Self { words: vec![0; lines as usize * LINE_WORDS], probes };
        hashes.iter().for_each(|hash| filter.add(*hash));
        filter
    }

    /// An empty filter for about so many hashes, which are to be added.
    pub fn open(hashes: u64, bits_per_key: u32) -> Self {
        let lines = (hashes * u64::from(bits_per_key)).div_ceil(LINE_BITS).max(1);
        Self { words: vec![0; lines as usize * LINE_WORDS], probes: OPEN_PROBES }
    }

    /// Adds a hash to an open filter.
    #[inline]
    pub fn add(&mut self, hash: u64) {
        if !self.words.is_empty() {
            let line = self.line(hash);
            for bit in bits(hash, self.probes) {
                if let Some(word) = self.words.get_mut(line + (bit / 64) as usize) {
                    *word |= 1 << (bit % 64);
                }
            }
        }
    }

    #[inline]
    fn line(&self, hash: u64) -> usize {
        let lines = (self.words.len() / LINE_WORDS) as u64;
        ((u128::from(hash) * u128::from(lines)) >> 64) as usize * LINE_WORDS
    }

    /// What [`Filter::may_contain`] will look at. A line of it may lie in two of the processor's.
    #[inline]
    pub fn touch<W: Meter>(&self, hash: u64, w: &mut W) {
        if !self.words.is_empty() {
            let line = self.line(hash);
            for at in [line, line + LINE_WORDS - 1] {
                self.words.get(at).into_iter().for_each(|word| w.touch(word));
            }
        }
    }

    /// Whether a key with that hash may be among them.
    #[inline]
    pub fn may_contain(&self, hash: u64) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let line = self.words.get(self.line(hash)..).and_then(<[u64]>::first_chunk::<LINE_WORDS>);
        line.is_some_and(|line| bits(hash, self.probes).all(|bit| has_bit(line, bit)))
    }

    /// Its words.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Probes for each key.
    pub fn probes(&self) -> u8 {
        self.probes
    }

    /// A filter from its parts; `None` if they do not fit.
    pub fn from_parts(words: Vec<u64>, probes: u8) -> Option<Self> {
        let whole =
            words.len().is_multiple_of(LINE_WORDS) && (words.is_empty() || (1..=12).contains(&probes));
        whole.then_some(Self { words, probes })
    }
}

#[inline]
fn has_bit(line: &[u64; LINE_WORDS], bit: u64) -> bool {
    line.get((bit / 64) as usize).is_some_and(|word| word >> (bit % 64) & 1 == 1)
}

#[inline]
fn bits(hash: u64, probes: u8) -> impl Iterator<Item = u64> {
    let step = hash.rotate_left(21) | 1;
    (0..u64::from(probes)).map(move |n| (hash.wrapping_add(n.wrapping_mul(step)) >> 23) % LINE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered::key::Key;

    fn hashes(from: u64, n: u64) -> Vec<u64> {
        (from..from + n).map(|k| Key::new(&k.to_be_bytes()).unwrap().hash()).collect()
    }

    #[test]
    fn it_forgets_nothing_and_lies_seldom() {
        let filter = Filter::new(&hashes(0, 20_000), 10);
        assert!(hashes(0, 20_000).iter().all(|h| filter.may_contain(*h)));
        let lies = hashes(1 << 40, 20_000).iter().filter(|h| filter.may_contain(**h)).count();
        assert!(lies < 500, "{lies} of 20000: ten bits for a key should give about 1 %");
        assert!(lies > 20, "{lies}: a filter that never lies is not one");
    }

    #[test]
    fn without_bits_it_lets_everything_pass() {
        let filter = Filter::new(&hashes(0, 10), 0);
        assert!(filter.may_contain(12345) && filter.words().is_empty());
        assert_eq!(Filter::from_parts(vec![0; 7], 3), None);
        assert_eq!(Filter::from_parts(vec![0; 8], 0), None);
    }
}
