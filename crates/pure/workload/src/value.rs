// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Value bytes that a reader can check: they follow from seed, key number and version.

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A 64-bit finisher: every input bit reaches every output bit (SplitMix64; Steele, Lea, Flood, 2014).
#[inline]
const fn finish(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[inline]
const fn word(base: u64, index: usize) -> u64 {
    finish(base.wrapping_add(GOLDEN.wrapping_mul(index as u64 + 1)))
}

/// Fills `out` with the word stream of `seed`, little-endian.
#[inline]
pub(crate) fn fill_words(seed: u64, out: &mut [u8]) {
    let mut chunks = out.chunks_exact_mut(8);
    let mut index = 0;
    for chunk in &mut chunks {
        chunk.copy_from_slice(&word(seed, index).to_le_bytes());
        index += 1;
    }
    let rest = chunks.into_remainder();
    rest.copy_from_slice(&word(seed, index).to_le_bytes()[..rest.len()]);
}

/// The first byte of `found` that differs from word `index`.
fn unequal(found: &[u8], base: u64, index: usize) -> Option<usize> {
    found.iter().zip(word(base, index).to_le_bytes()).position(|(&a, b)| a != b)
}

/// Makes and checks values. They do not compress, and no two versions of a key agree in more than a byte by chance.
#[derive(Clone, Copy, Debug)]
pub struct ValueSource {
    seed: u64,
}

impl ValueSource {
    /// The values that `seed` chooses.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    #[inline]
    const fn base(self, key: u64, version: u64) -> u64 {
        finish(finish(self.seed.wrapping_add(key.wrapping_mul(GOLDEN))).wrapping_add(version))
    }

    /// Fills `out` with version `version` of the value of key number `key`. A longer value begins with a shorter one.
    #[inline]
    pub fn fill(self, key: u64, version: u64, out: &mut [u8]) {
        fill_words(self.base(key, version), out);
    }

    /// The offset of the first byte that differs from that version of the value; nothing when all agree.
    #[inline]
    pub fn first_difference(self, key: u64, version: u64, value: &[u8]) -> Option<usize> {
        let base = self.base(key, version);
        let (words, rest) = value.as_chunks::<8>();
        let differs = |(i, found): (usize, &[u8; 8])| u64::from_le_bytes(*found) != word(base, i);
        if let Some(i) = words.iter().enumerate().position(differs) {
            return Some(8 * i + unequal(&words[i], base, i)?);
        }
        Some(8 * words.len() + unequal(rest, base, words.len())?)
    }

    /// Whether `value` is that version of the value of that key.
    pub fn verify(self, key: u64, version: u64, value: &[u8]) -> bool {
        self.first_difference(key, version, value).is_none()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_flipped_bit_is_found_where_it_is(seed: u64, key: u64, version: u64, len in 1usize..5000, at: usize, bit in 0u8..8) {
            let source = ValueSource::new(seed);
            let mut value = vec![0; len];
            source.fill(key, version, &mut value);
            prop_assert!(source.verify(key, version, &value));
            let at = at % len;
            value[at] ^= 1 << bit;
            prop_assert_eq!(source.first_difference(key, version, &value), Some(at));
        }

        #[test]
        fn other_keys_and_versions_have_other_values(seed: u64, key: u64, version: u64) {
            let source = ValueSource::new(seed);
            let mut value = [0; 16];
            source.fill(key, version, &mut value);
            prop_assert!(!source.verify(key, version ^ 1, &value));
            prop_assert!(!source.verify(key ^ 1, version, &value));
            prop_assert!(!ValueSource::new(seed ^ 1).verify(key, version, &value));
        }
    }

    /// SplitMix64 from seed 0: its first two published outputs.
    #[test]
    fn the_word_stream_is_splitmix64() {
        let mut out = [0; 12];
        fill_words(0, &mut out);
        assert_eq!(out[..8], 0xe220_a839_7b1d_cdaf_u64.to_le_bytes());
        assert_eq!(out[8..], 0x6e78_9e6a_a1b9_65f4_u64.to_le_bytes()[..4]);
    }

    #[test]
    fn bytes_are_spread_evenly() {
        let mut value = vec![0; 256 * 400];
        ValueSource::new(1).fill(2, 3, &mut value);
        let mut counts = [0u32; 256];
        value.iter().for_each(|&b| counts[usize::from(b)] += 1);
        let chi2: f64 = counts.iter().map(|&n| (f64::from(n) - 400.0).powi(2) / 400.0).sum();
        // 255 degrees of freedom: mean 255, standard deviation 22.6.
        assert!((155.0..355.0).contains(&chi2), "{chi2}");
    }
}
