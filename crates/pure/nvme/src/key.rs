// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of the Key Value command set (KV, section 2.1 and the "KV Key" figures).

use core::cmp::Ordering;
use core::fmt;

use zerocopy::little_endian::U32;

use crate::sqe::Sqe;

/// A key of 1 to 16 bytes, held inline.
///
/// Keys of different length are different keys, even where one extends the other with zeros (KV, section 2.1).
/// The order is that of the bytes, a shorter key before its extensions.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
// Copied as words: at an odd place in an enum, each copy would wait for the stores of the one before.
#[repr(C, align(8))]
pub struct Key {
    /// Zero past `len`: equality, hash and order rely on it.
    bytes: [u8; Key::MAX_LEN],
    len: u8,
}

/// A key length outside 1 to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a key has 1 to 16 bytes, not {0}")]
pub struct KeyLengthError(pub usize);

impl Key {
    /// The longest key that fits a submission queue entry, in bytes.
    pub const MAX_LEN: usize = 16;

    /// A key of these bytes; an error unless there are 1 to 16 of them.
    #[inline]
    pub fn new(key: &[u8]) -> Result<Self, KeyLengthError> {
        match padded(key) {
            Some(bytes) => Ok(Self { bytes, len: key.len() as u8 }),
            None => Err(KeyLengthError(key.len())),
        }
    }

    /// The first `len` of 16 bytes; an error unless `len` is 1 to 16. Cheaper than [`Key::new`]: it does not branch on
    /// the bytes copied.
    #[inline(always)]
    #[expect(clippy::indexing_slicing, reason = "the length was checked, and `get` is not const")]
    pub const fn from_padded(bytes: [u8; Self::MAX_LEN], len: usize) -> Result<Self, KeyLengthError> {
        if len == 0 || len > Self::MAX_LEN {
            return Err(KeyLengthError(len));
        }
        let kept = u128::from_le_bytes(bytes) & KEPT[len];
        Ok(Self { bytes: kept.to_le_bytes(), len: len as u8 })
    }

    /// The bytes of the key.
    #[inline]
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        // The length never exceeds the array; the fallback keeps this free of panics.
        self.bytes.get(..self.len as usize).unwrap_or(&self.bytes)
    }

    /// The key followed by zeros, as in a submission queue entry.
    #[inline]
    #[must_use]
    pub const fn padded(&self) -> &[u8; Self::MAX_LEN] {
        &self.bytes
    }

    /// Length in bytes, 1 to 16.
    #[inline]
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no key is empty")]
    pub const fn len(&self) -> usize {
        self.len as usize
    }
}

/// By length, the bits of a little-endian number that belong to the key.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const KEPT: [u128; Key::MAX_LEN + 1] = {
    let mut masks = [0; Key::MAX_LEN + 1];
    let mut len = 1;
    while len <= Key::MAX_LEN {
        masks[len] = u128::MAX >> (128 - 8 * len as u32);
        len += 1;
    }
    masks
};

/// 1 to 16 bytes, zeros behind them. Two overlapping loads instead of a call: keys come in by the million.
#[inline]
fn padded(key: &[u8]) -> Option<[u8; Key::MAX_LEN]> {
    if let Ok(whole) = key.try_into() {
        return Some(whole);
    }
    let number = match key.len() {
        9..=15 => u128::from(word(key.first_chunk()?)) | tail(word(key.last_chunk()?), key.len()),
        8 => u128::from(word(key.first_chunk()?)),
        4..=7 => u128::from(halves(key)?),
        1..=3 => key.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte)),
        _ => return None,
    };
    Some(number.to_le_bytes())
}

#[inline]
fn word(bytes: &[u8; 8]) -> u64 {
    u64::from_le_bytes(*bytes)
}

/// 4 to 7 bytes as a number, by two loads that overlap.
#[inline]
fn halves(bytes: &[u8]) -> Option<u64> {
    let (first, last) = (bytes.first_chunk()?, bytes.last_chunk()?);
    let [first, last] = [first, last].map(|half| u64::from(u32::from_le_bytes(*half)));
    Some(first | last << (8 * (bytes.len() - 4)))
}

/// The last 8 of `len` (9 to 15) bytes, in their place.
#[inline]
fn tail(last: u64, len: usize) -> u128 {
    u128::from(last) << (8 * (len - 8))
}

impl Ord for Key {
    /// Zero padding sorts below every byte, so comparing the padded keys and then the lengths is the order of slices.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let number = |key: &Self| u128::from_be_bytes(key.bytes);
        number(self).cmp(&number(other)).then(self.len.cmp(&other.len))
    }
}

impl PartialOrd for Key {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key(\"{}\")", self.as_bytes().escape_ascii())
    }
}

/// As text in quotes, with escapes for what is none: for messages.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.as_bytes().escape_ascii())
    }
}

impl AsRef<[u8]> for Key {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl TryFrom<&[u8]> for Key {
    type Error = KeyLengthError;

    #[inline]
    fn try_from(bytes: &[u8]) -> Result<Self, KeyLengthError> {
        Self::new(bytes)
    }
}

impl Sqe {
    /// The entry with the key in place: bytes 0-7 in CDW2-3, bytes 8-15 in CDW14-15, KL in CDW11 bits 7:0.
    #[inline]
    #[must_use]
    pub const fn with_key(mut self, key: &Key) -> Self {
        let number = u128::from_le_bytes(key.bytes);
        self.cdw2 = U32::new(number as u32);
        self.cdw3 = U32::new((number >> 32) as u32);
        self.cdw14 = U32::new((number >> 64) as u32);
        self.cdw15 = U32::new((number >> 96) as u32);
        self.cdw11 = U32::new(self.cdw11.get() & !0xFF | key.len as u32);
        self
    }

    /// The key of the entry; an error unless KL is 1 to 16. Bytes beyond KL are ignored.
    #[inline(always)]
    pub const fn key(&self) -> Result<Key, KeyLengthError> {
        self.key_of_length(self.kl())
    }

    #[inline(always)]
    pub(crate) const fn key_of_length(&self, kl: u32) -> Result<Key, KeyLengthError> {
        let low = self.cdw2.get() as u128 | (self.cdw3.get() as u128) << 32;
        let high = self.cdw14.get() as u128 | (self.cdw15.get() as u128) << 32;
        Key::from_padded((low | high << 64).to_le_bytes(), kl as usize)
    }
}
