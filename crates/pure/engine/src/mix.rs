// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys become places by a seeded bijection: well spread, and the key can be had back.

use std::cmp::Ordering;
use std::num::NonZero;

/// A key's place in the order of the index: its mixed bytes and its length. Three whole words, so that it is copied by whole words: an
/// enum would have its parts written apart and read together, which a processor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexKey {
    head: u64,
    /// Of keys of 9..=16 bytes; 0 for shorter ones.
    tail: u64,
    key_bytes: NonZero<u64>,
}

/// Mixed bytes by class of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MixedKey {
    /// Of a key of 1..=8 bytes.
    Short(u64),
    /// Of a key of 9..=16 bytes.
    Long([u64; 2]),
}

impl IndexKey {
    /// Behind every key's.
    pub const LAST: Self = Self { head: u64::MAX, tail: u64::MAX, key_bytes: NonZero::new(17).unwrap() };

    /// The place of mixed bytes of a key of 1..=16 bytes.
    #[inline]
    pub fn new(mixed: MixedKey, key_bytes: u8) -> Self {
        let key_bytes = NonZero::new(u64::from(key_bytes)).expect("no key is empty");
        match mixed {
            MixedKey::Short(head) => Self { head, tail: 0, key_bytes },
            MixedKey::Long([head, tail]) => Self { head, tail, key_bytes },
        }
    }

    /// The mixed bytes.
    #[inline]
    pub fn mixed(self) -> MixedKey {
        if self.key_bytes.get() <= 8 {
            MixedKey::Short(self.head)
        } else {
            MixedKey::Long([self.head, self.tail])
        }
    }

    /// Length of the key.
    #[inline]
    pub fn key_bytes(self) -> u8 {
        self.key_bytes.get() as u8
    }

    /// The leading bits, which spread evenly.
    #[inline]
    pub fn head(self) -> u64 {
        self.head
    }
}

impl Ord for IndexKey {
    /// Short keys first, then by mixed bytes, then by length.
    fn cmp(&self, other: &Self) -> Ordering {
        let order = |p: &Self| (p.key_bytes.get() > 8, p.head, p.tail, p.key_bytes);
        order(self).cmp(&order(other))
    }
}

impl PartialOrd for IndexKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The bijection of one image.
#[derive(Clone, Copy, Debug)]
pub struct Mixer {
    seed: u64,
}

const A: u64 = 0x9fb2_1c65_1e98_df25;
const B: u64 = 0xd6e8_feb8_6659_fd93;
const C: u64 = 0xa076_1d64_78bd_642f;

/// The multiplicative inverse of an odd number modulo 2^64 (Newton's iteration doubles the correct bits).
const fn inverse(n: u64) -> u64 {
    let mut x = n;
    let mut round = 0;
    while round < 6 {
        x = x.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(x)));
        round += 1;
    }
    x
}

const A_INVERSE: u64 = inverse(A);
const B_INVERSE: u64 = inverse(B);
const _: () = assert!(A.wrapping_mul(A_INVERSE) == 1 && B.wrapping_mul(B_INVERSE) == 1);

impl Mixer {
    /// The bijection of that seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The place of a key; `None` if it is empty or longer than 16 bytes.
    #[inline]
    pub fn place(&self, key: &[u8]) -> Option<IndexKey> {
        match key.len() {
            1..=8 => Some(IndexKey::new(MixedKey::Short(self.mix(load(key))), key.len() as u8)),
            9..=16 => {
                let (head, tail) = key.split_at(8);
                let mixed = MixedKey::Long(self.mix_pair(load(head), load(tail)));
                Some(IndexKey::new(mixed, key.len() as u8))
            }
            _ => None,
        }
    }

    /// The key of a place: its bytes and their number.
    pub fn key(&self, place: IndexKey) -> ([u8; 16], usize) {
        let mut out = [0; 16];
        match place.mixed() {
            MixedKey::Short(k) => out[..8].copy_from_slice(&self.unmix(k).to_le_bytes()),
            MixedKey::Long(k) => {
                let (a, b) = self.unmix_pair(k);
                out[..8].copy_from_slice(&a.to_le_bytes());
                out[8..].copy_from_slice(&b.to_le_bytes());
            }
        }
        (out, usize::from(place.key_bytes()))
    }

    #[inline]
    fn mix(&self, mut x: u64) -> u64 {
        x ^= self.seed;
        x ^= x >> 32;
        x = x.wrapping_mul(A);
        x ^= x >> 29;
        x = x.wrapping_mul(B);
        x ^ (x >> 32)
    }

    fn unmix(&self, mut x: u64) -> u64 {
        x ^= x >> 32;
        x = x.wrapping_mul(B_INVERSE);
        x ^= (x >> 29) ^ (x >> 58);
        x = x.wrapping_mul(A_INVERSE);
        x ^= x >> 32;
        x ^ self.seed
    }

    /// A Feistel network of three rounds; the round function need not be invertible.
    #[inline]
    fn mix_pair(&self, mut a: u64, mut b: u64) -> [u64; 2] {
        a ^= self.round(b, A);
        b ^= self.round(a, B);
        a ^= self.round(b, C);
        [a, b]
    }

    fn unmix_pair(&self, [mut a, mut b]: [u64; 2]) -> (u64, u64) {
        a ^= self.round(b, C);
        b ^= self.round(a, B);
        a ^= self.round(b, A);
        (a, b)
    }

    #[inline]
    fn round(&self, x: u64, k: u64) -> u64 {
        let wide = u128::from(x ^ self.seed ^ C) * u128::from(k);
        (wide as u64) ^ ((wide >> 64) as u64)
    }
}

/// Up to 8 bytes, padded with zeros.
#[inline]
fn load(bytes: &[u8]) -> u64 {
    if let Ok(word) = bytes.try_into() {
        return u64::from_le_bytes(word);
    }
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;

    #[test]
    fn every_key_comes_back() {
        let mut rng = Seed(3).rng();
        for round in 0..20_000 {
            let mixer = Mixer::new(rng.next_u64());
            let mut key = [0; 16];
            let len = 1 + round % 16;
            rng.fill(&mut key[..len]);
            let place = mixer.place(&key[..len]).expect("1..=16 bytes");
            let (back, n) = mixer.key(place);
            assert_eq!((&back[..n], n), (&key[..len], len));
        }
    }

    #[test]
    fn the_prefix_spreads_sequential_keys() {
        let mixer = Mixer::new(1);
        let mut counts = [0u32; 64];
        for n in 0..64_000u64 {
            for key in [&n.to_be_bytes()[..], &[&n.to_le_bytes()[..], b"suffix"].concat()] {
                let prefix = mixer.place(key).expect("1..=16 bytes").head();
                counts[(prefix >> 58) as usize] += 1;
            }
        }
        assert!(counts.iter().all(|c| (1800..2200).contains(c)), "{counts:?}");
    }

    #[test]
    fn other_sizes_have_no_place() {
        assert_eq!(Mixer::new(0).place(b""), None);
        assert_eq!(Mixer::new(0).place(&[1; 17]), None);
    }
}
