// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a long key to the device key of its envelope.

use xxhash_rust::xxh3::xxh3_128;

use crate::KEY_BYTES_MAX;

/// The first bytes of the device keys that hold envelopes.
pub const MARK: [u8; 2] = [0xFF, 0x4B];
/// Length of a device key that holds an envelope.
pub const DEVICE_KEY_BYTES: usize = 16;

/// Digest of a long key. Only its low 112 bits are used. Part of the stored format: the same one must be used for the
/// whole life of a namespace.
pub trait KeyDigest {
    /// The digest of `key`.
    fn digest(&self, key: &[u8]) -> u128;
}

/// xxh3-128 with seed 0: the digest of the stored format. Others are for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Xxh3Digest;

impl KeyDigest for Xxh3Digest {
    #[inline]
    fn digest(&self, key: &[u8]) -> u128 {
        xxh3_128(key)
    }
}

/// As many of its low bits: few of them make keys collide, for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NarrowDigest {
    /// Bits that are used, 0 to 128.
    pub bits: u32,
}

impl Default for NarrowDigest {
    /// All of them: the stored format.
    fn default() -> Self {
        Self { bits: u128::BITS }
    }
}

impl KeyDigest for NarrowDigest {
    #[inline]
    fn digest(&self, key: &[u8]) -> u128 {
        let above = 1u128.checked_shl(self.bits).map_or(u128::MAX, |bit| bit - 1);
        Xxh3Digest.digest(key) & above
    }
}

/// Whether a device key holds an envelope.
#[inline]
#[must_use]
pub fn is_marked(device_key: &[u8]) -> bool {
    device_key.len() == DEVICE_KEY_BYTES && device_key.starts_with(&MARK)
}

/// Whether the pair of `key` belongs into an envelope: it is long, or a device key that would be taken for an envelope's.
#[inline]
#[must_use]
pub fn is_enveloped(key: &[u8]) -> bool {
    is_marked(key) || key.len() > DEVICE_KEY_BYTES && key.len() <= KEY_BYTES_MAX
}

/// The mark, then the digest's low 112 bits, the least significant byte first.
#[must_use]
pub fn device_key(key: &[u8], digest: &impl KeyDigest) -> [u8; DEVICE_KEY_BYTES] {
    let mut bytes = [0; DEVICE_KEY_BYTES];
    let (mark, rest) = bytes.split_at_mut(MARK.len());
    mark.copy_from_slice(&MARK);
    let digest = digest.digest(key).to_le_bytes();
    rest.copy_from_slice(&digest[..DEVICE_KEY_BYTES - MARK.len()]);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Counting;

    impl KeyDigest for Counting {
        fn digest(&self, _key: &[u8]) -> u128 {
            0xFFFF_0E0D_0C0B_0A09_0807_0605_0403_0201
        }
    }

    #[test]
    fn a_device_key_is_the_mark_and_the_low_112_bits() {
        let golden = [0xFF, 0x4B, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
        assert_eq!(device_key(&[7; 17], &Counting), golden);
    }

    #[test]
    fn length_and_mark_decide_what_is_enveloped() {
        let marked = [0xFF, 0x4B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!([15, 16, 17].map(|n| is_enveloped(&marked[..n])), [false, true, true]);
        assert_eq!(
            [1, 16, 17, 255, 256].map(|n| is_enveloped(&vec![1; n])),
            [false, false, true, true, false]
        );
    }

    #[test]
    fn a_narrow_digest_is_the_low_bits() {
        let whole = Xxh3Digest.digest(b"any key");
        let narrow = |bits| NarrowDigest { bits }.digest(b"any key");
        assert_eq!([0, 8, 127, 128].map(narrow), [0, whole & 0xFF, whole & (u128::MAX >> 1), whole]);
        assert_eq!(NarrowDigest::default().digest(b"any key"), whole);
    }

    /// The algorithm is part of the stored format. Digests of XXH3 for the empty input and seed 0 are published with the
    /// xxHash specification.
    #[test]
    fn the_digest_is_xxh3_128_with_seed_0() {
        assert_eq!(Xxh3Digest.digest(b""), 0x99AA_06D3_0147_98D8_6001_C324_468D_497F);
    }
}
