// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys and entries in the order of bytes.
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

use saker_engine_api::kv::KEY_BYTES_MAX;
use saker_value_log::RecordAddr;
use std::cmp::Ordering;

/// A key of 1 to 16 bytes. Compared as two words and a length, which is the order of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    words: [u64; 2],
    bytes: u8,
}

impl Key {
    /// A key; `None` if it is empty or too long.
    #[inline]
    pub fn new(key: &[u8]) -> Option<Self> {
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return None;
        }
        let mut padded = [0; KEY_BYTES_MAX];
        padded.get_mut(..key.len())?.copy_from_slice(key);
        Some(Self::from_padded(&padded, key.len() as u8))
    }

    fn from_padded(padded: &[u8; KEY_BYTES_MAX], bytes: u8) -> Self {
        let number = u128::from_be_bytes(*padded);
        Self { words: [(number >> 64) as u64, number as u64], bytes }
    }

    /// The key that the first `length` of these bytes are; `None` if it is empty or too long.
    #[inline]
    fn at_begin_of(bytes: &[u8], length: u8) -> Option<Self> {
        // What is behind the key is read and masked where there is enough: that is faster than a copy of so many bytes.
        let Some(longer) = bytes.first_chunk::<KEY_BYTES_MAX>() else {
            return Self::new(bytes.get(..usize::from(length))?);
        };
        let behind = KEY_BYTES_MAX.checked_sub(usize::from(length))?;
        // An empty key would need a shift by all bits: there is none.
        let mask = u128::MAX.checked_shl(8 * behind as u32)?;
        let number = u128::from_be_bytes(*longer) & mask;
        Some(Self { words: [(number >> 64) as u64, number as u64], bytes: length })
    }

    /// The bytes, padded with zeros.
    #[inline]
    pub fn padded(&self) -> [u8; KEY_BYTES_MAX] {
        let [high, low] = self.words;
        (u128::from(high) << 64 | u128::from(low)).to_be_bytes()
    }

    /// Its first eight bytes as a number: keys in order have them in order.
    #[inline]
    pub fn word(&self) -> u64 {
        let [word, _] = self.words;
        word
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.bytes)
    }

    /// Never: an empty key is none.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.padded().iter().take(self.len()).copied().collect()
    }

    /// A hash for filters.
    #[inline]
    pub fn hash(&self) -> u64 {
        let mix = |x: u64| {
            let x = (x ^ x >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
        };
        let [high, low] = self.words;
        let hash = mix(mix(high) ^ low ^ u64::from(self.bytes) << 56);
        hash ^ hash >> 32
    }
}

/// What the tree knows of one write of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The order of the write.
    pub version: u64,
    /// Where its record is in the value log; [`RecordAddr::NONE`] of a tombstone, [`RecordAddr::inside`] if its value is beside it.
    pub addr: RecordAddr,
    /// The log's page count when the record was written: tells whether its segment has been erased since. Of an entry whose value is
    /// beside it: where that is, for who has read the entry, as long as nothing changes.
    pub stamp: u64,
}

/// Bytes of a stamp on flash.
const STAMP_BYTES: usize = 5;
const VERSION_MASK: u64 = (1 << 56) - 1;

impl Entry {
    /// Bytes of an encoded entry beside its key.
    pub const FIXED_BYTES: usize = 8 + 8 + STAMP_BYTES;

    /// Whether the key was deleted.
    #[inline]
    pub fn is_tombstone(&self) -> bool {
        self.addr.is_none()
    }

    /// Whether its value is beside it.
    #[inline]
    pub fn is_inside(&self) -> bool {
        self.addr.is_inside()
    }

    /// By key, the newest version first.
    #[inline]
    pub fn order(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(other.version.cmp(&self.version))
    }

    /// Encodes the entry with a key field of `width` bytes: key, version and key length, place, stamp.
    pub fn encode(&self, width: usize, out: &mut Vec<u8>) {
        let padded = self.key.padded();
        out.extend_from_slice(padded.get(..width).unwrap_or(&padded));
        out.extend_from_slice(&(self.version & VERSION_MASK | (self.key.bytes as u64) << 56).to_le_bytes());
        self.encode_loc(out);
    }

    /// Encodes version and key length, and the key alone, as long as it is.
    pub fn encode_place(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.version & VERSION_MASK | (self.key.bytes as u64) << 56).to_le_bytes());
        out.extend_from_slice(self.key.padded().get(..self.key.len()).unwrap_or_default());
    }

    /// Encodes where its record is, and the stamp.
    pub fn encode_loc(&self, out: &mut Vec<u8>) {
        let [s0, s1, s2, s3, s4, ..] = self.stamp.to_le_bytes();
        out.extend_from_slice(&self.addr.word().to_le_bytes());
        out.extend_from_slice(&[s0, s1, s2, s3, s4]);
    }

    /// Reads where a record is, and the stamp.
    #[inline]
    pub fn decode_loc(bytes: &[u8]) -> Option<(RecordAddr, u64)> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let [s0, s1, s2, s3, s4] = *bytes.get(8..)?.first_chunk::<STAMP_BYTES>()?;
        let addr = if word == 0 { RecordAddr::NONE } else { RecordAddr::from_word(word)? };
        Some((addr, u64::from_le_bytes([s0, s1, s2, s3, s4, 0, 0, 0])))
    }

    /// Reads what [`Self::encode_place`] wrote: the key and the version.
    #[inline]
    pub fn decode_key_of_own_length(bytes: &[u8]) -> Option<(Key, u64)> {
        let word = u64::from_le_bytes(*bytes.first_chunk()?);
        let key = Key::at_begin_of(bytes.get(8..)?, (word >> 56) as u8)?;
        Some((key, word & VERSION_MASK))
    }

    /// Reads an entry; `None` if these bytes are not one.
    #[inline]
    pub fn decode(bytes: &[u8], width: usize) -> Option<Self> {
        let (key, version) = Self::decode_place(bytes, width)?;
        let (addr, stamp) = Self::decode_loc(bytes.get(width + 8..)?)?;
        Some(Self { key, version, addr, stamp })
    }

    /// Reads the key and the version alone.
    #[inline]
    pub fn decode_place(bytes: &[u8], width: usize) -> Option<(Key, u64)> {
        let version = u64::from_le_bytes(*bytes.get(width..)?.first_chunk()?) & VERSION_MASK;
        Some((Self::decode_key(bytes, width)?, version))
    }

    #[inline]
    fn decode_key(bytes: &[u8], width: usize) -> Option<Key> {
        let length = *bytes.get(width + 7)?;
        if usize::from(length) > width { None } else { Key::at_begin_of(bytes, length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_bytes() {
        let keys: [&[u8]; 7] = [b"a", b"a\0", b"a\0\0", b"a\0b", b"ab", b"b", b"bbbbbbbbbbbbbbbb"];
        let made: Vec<_> = keys.iter().map(|k| Key::new(k).unwrap()).collect();
        assert!(made.is_sorted());
        assert_eq!(made.iter().map(Key::to_vec).collect::<Vec<_>>(), keys);
        assert_eq!((Key::new(b""), Key::new(&[0; 17])), (None, None));
    }

    /// Whatever is behind a key is no part of it, and it may be the last of its bytes.
    #[test]
    fn a_key_is_as_long_as_it_says() {
        let letters: Vec<u8> = (1..=40).collect();
        for bytes in 0..=letters.len() {
            for length in 0..=20 {
                let found = Key::at_begin_of(&letters[..bytes], length);
                let expected = letters[..bytes].get(..usize::from(length)).and_then(Key::new);
                assert_eq!(found, expected, "{length} of {bytes}");
            }
        }
    }

    #[test]
    fn golden_entry() {
        let entry = Entry {
            key: Key::new(b"abc").unwrap(),
            version: 0x0102,
            addr: RecordAddr::new(64, 32, 3),
            stamp: 0x0506,
        };
        let mut bytes = Vec::new();
        entry.encode(4, &mut bytes);
        assert_eq!(bytes[..12], [b'a', b'b', b'c', 0, 2, 1, 0, 0, 0, 0, 0, 3]);
        assert_eq!(bytes[12..20], RecordAddr::new(64, 32, 3).word().to_le_bytes());
        assert_eq!(bytes[20..], [6, 5, 0, 0, 0]);
        assert_eq!(Entry::decode(&bytes, 4), Some(entry));
        bytes[11] = 5;
        assert_eq!(Entry::decode(&bytes, 4), None, "a key longer than its field");
        assert_eq!(Entry::decode(&bytes[..10], 4), None);
    }
}
