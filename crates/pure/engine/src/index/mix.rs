//! Keys become places by a seeded bijection: well spread, and the key can be had back.

/// A key's place in the order of the index: its mixed bytes and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A key of 1..=8 bytes.
    Short(u64, u8),
    /// A key of 9..=16 bytes.
    Long((u64, u64), u8),
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
    pub fn place(&self, key: &[u8]) -> Option<Place> {
        match key.len() {
            1..=8 => Some(Place::Short(self.mix(load(key)), key.len() as u8)),
            9..=16 => {
                let (head, tail) = key.split_at(8);
                Some(Place::Long(self.mix_pair(load(head), load(tail)), key.len() as u8))
            }
            _ => None,
        }
    }

    /// The key of a place: its bytes and their number.
    pub fn key(&self, place: Place) -> ([u8; 16], usize) {
        let mut out = [0; 16];
        match place {
            Place::Short(k, len) => {
                out[..8].copy_from_slice(&self.unmix(k).to_le_bytes());
                (out, usize::from(len))
            }
            Place::Long(k, len) => {
                let (a, b) = self.unmix_pair(k);
                out[..8].copy_from_slice(&a.to_le_bytes());
                out[8..].copy_from_slice(&b.to_le_bytes());
                (out, usize::from(len))
            }
        }
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
    fn mix_pair(&self, mut a: u64, mut b: u64) -> (u64, u64) {
        a ^= self.round(b, A);
        b ^= self.round(a, B);
        a ^= self.round(b, C);
        (a, b)
    }

    fn unmix_pair(&self, (mut a, mut b): (u64, u64)) -> (u64, u64) {
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
                let prefix = match mixer.place(key) {
                    Some(Place::Short(k, _) | Place::Long((k, _), _)) => k,
                    None => unreachable!(),
                };
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
