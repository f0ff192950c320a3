//! From a long key to the device key of its envelope.

use saker_nvme::Key;
use xxhash_rust::xxh3::xxh3_128;

use super::KEY_BYTES_MAX;
use crate::error::HostError;

/// The first bytes of the device keys that hold envelopes.
pub const MARK: [u8; 2] = [0xFF, 0x4B];

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

/// Where a key's pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Under the key itself.
    Native(Key),
    /// In the envelope under this device key.
    Envelope(Key),
}

/// The route of `key`.
#[inline]
pub(super) fn route(key: &[u8], digest: &impl KeyDigest) -> Result<Route, HostError> {
    match Key::new(key) {
        Ok(native) if !is_marked(&native) => Ok(Route::Native(native)),
        _ if is_enveloped(key) => Ok(Route::Envelope(device_key(key, digest))),
        _ => Err(HostError::KeyLength(key.len())),
    }
}

/// Whether a device key holds an envelope.
#[inline]
pub(super) fn is_marked(key: &Key) -> bool {
    key.len() == Key::MAX_LEN && key.padded().starts_with(&MARK)
}

/// Whether the pair of `key` belongs into an envelope.
#[inline]
pub(super) fn is_enveloped(key: &[u8]) -> bool {
    match key.len() {
        Key::MAX_LEN => key.starts_with(&MARK),
        bytes => bytes > Key::MAX_LEN && bytes <= KEY_BYTES_MAX,
    }
}

/// The mark, then the digest's low 112 bits, the least significant byte first.
pub(super) fn device_key(key: &[u8], digest: &impl KeyDigest) -> Key {
    let mut bytes = [0; Key::MAX_LEN];
    let (mark, rest) = bytes.split_at_mut(MARK.len());
    mark.copy_from_slice(&MARK);
    let digest = digest.digest(key).to_le_bytes();
    rest.copy_from_slice(&digest[..Key::MAX_LEN - MARK.len()]);
    Key::from_padded(bytes, Key::MAX_LEN).expect("16 bytes are a key")
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
        assert_eq!(device_key(&[7; 17], &Counting).as_bytes(), golden);
    }

    #[test]
    fn routes_depend_on_length_and_mark() {
        let native = |key: &[u8]| Ok(Route::Native(Key::new(key).expect("short")));
        let envelope = |key: &[u8]| Ok(Route::Envelope(device_key(key, &Counting)));
        assert_eq!(route(b"k", &Counting), native(b"k"));
        assert_eq!(route(&[0xFF; 16], &Counting), native(&[0xFF; 16]));
        let marked = [0xFF, 0x4B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(route(&marked[..15], &Counting), native(&marked[..15]));
        assert_eq!(route(&marked[..16], &Counting), envelope(&marked[..16]));
        assert_eq!(route(&marked, &Counting), envelope(&marked));
        assert_eq!(route(&[1; 255], &Counting), envelope(&[1; 255]));
        assert_eq!(route(&[1; 256], &Counting), Err(HostError::KeyLength(256)));
        assert_eq!(route(&[], &Counting), Err(HostError::KeyLength(0)));
    }

    /// The algorithm is part of the stored format. Digests of XXH3 for the empty input and seed 0 are published with the
    /// xxHash specification.
    #[test]
    fn the_digest_is_xxh3_128_with_seed_0() {
        assert_eq!(Xxh3Digest.digest(b""), 0x99AA_06D3_0147_98D8_6001_C324_468D_497F);
    }
}
