// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a record is, in one word.

use crate::record::{HEADER_BYTES, record_bytes, whole_words};
use zerocopy::FromZeros;

/// A record of its own: position (40 bits, in units of 8 bytes: up to 8 TiB), record length (19 bits, in units of 8
/// bytes: up to 4 MiB) and key length less one (4 bits). Never zero: a record is longer than nothing.
///
/// A member of a group's record: bit 40 is set, and the length field holds the member's length in units of 4 bytes (18
/// bits: up to 1 MiB) and, on top, whether it begins 4 bytes after the position.
///
/// A pair whose value the engine keeps beside its key ([`RecordAddr::inside`]): no place at all. The position is one of the last eight, where
/// nothing can lie: its three low bits are the bytes that pad the record, so that the length of the value is known. Such words are
/// only in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, FromZeros)]
pub struct RecordAddr(u64);

const POSITION_BITS: u32 = 40;
const MEMBER: u64 = 1 << POSITION_BITS;
const LENGTH_SHIFT: u32 = POSITION_BITS + 1;
const LENGTH_BITS: u32 = 19;
/// The highest bit of a member's length field.
const HALF: u64 = 1 << (LENGTH_BITS - 1);
const KEY_SHIFT: u32 = LENGTH_SHIFT + LENGTH_BITS;
/// Positions, in units of 8 bytes, from here on mean that the value is beside its key.
const INSIDE: u64 = (1 << POSITION_BITS) - 8;
/// Largest medium that a place can address, in bytes.
pub const LOG_BYTES_MAX: u64 = 8 * INSIDE;
/// Longest record that a place can describe, in bytes.
pub const RECORD_BYTES_MAX: u32 = 8 * ((1 << LENGTH_BITS) - 1);
/// Longest member of a group that a place can describe, in bytes.
pub const MEMBER_BYTES_MAX: u32 = 4 * (HALF as u32 - 1);
/// What a member takes more once it has a record of its own: a header of 24 bytes for two lengths of 4.
const ALONE_BYTES: u32 = 16;

impl RecordAddr {
    /// No place: marks an empty slot.
    pub const NONE: Self = Self(0);

    /// Packs a byte position, a record length in bytes (both multiples of 8) and a key length (1..=16).
    #[inline]
    pub fn new(position: u64, record_bytes: u32, key_bytes: u8) -> Self {
        debug_assert!(position.is_multiple_of(8) && position < LOG_BYTES_MAX);
        debug_assert!(record_bytes.is_multiple_of(8) && record_bytes <= RECORD_BYTES_MAX && record_bytes > 0);
        debug_assert!((1..=16).contains(&key_bytes));
        let len = u64::from(record_bytes / 8) << LENGTH_SHIFT;
        Self((position / 8) | len | (u64::from(key_bytes - 1) << KEY_SHIFT))
    }

    /// Packs the byte position and the length of a member of a group (both multiples of 4), and its key length (1..=16).
    #[inline]
    pub fn member(position: u64, bytes: u32, key_bytes: u8) -> Self {
        debug_assert!(position.is_multiple_of(4) && position < LOG_BYTES_MAX);
        debug_assert!(bytes.is_multiple_of(4) && bytes <= MEMBER_BYTES_MAX && bytes > 0);
        debug_assert!((1..=16).contains(&key_bytes));
        let half = if position.is_multiple_of(8) { 0 } else { HALF };
        let len = (u64::from(bytes / 4) | half) << LENGTH_SHIFT;
        Self((position / 8) | MEMBER | len | (u64::from(key_bytes - 1) << KEY_SHIFT))
    }

    /// What a pair with these lengths in bytes has whose value is beside its key: it counts with what its record takes.
    #[inline]
    pub fn inside(key_bytes: u8, value_bytes: u32) -> Self {
        let (bytes, exact) = (record_bytes(u32::from(key_bytes), value_bytes), HEADER_BYTES + value_bytes);
        debug_assert!((1..=16).contains(&key_bytes) && bytes <= RECORD_BYTES_MAX);
        let pad = bytes - exact - u32::from(key_bytes);
        let len = u64::from(bytes / 8) << LENGTH_SHIFT;
        Self((INSIDE + u64::from(pad)) | len | (u64::from(key_bytes - 1) << KEY_SHIFT))
    }

    /// Whether the value is beside its key.
    #[inline]
    pub fn is_inside(self) -> bool {
        !self.is_member() && self.0 & (MEMBER - 1) >= INSIDE
    }

    /// The length of a value beside its key, in bytes.
    #[inline]
    pub fn value_bytes_inside(self) -> u32 {
        let pad = (self.0 & (MEMBER - 1)).wrapping_sub(INSIDE) as u32;
        self.bytes().saturating_sub(HEADER_BYTES + u32::from(self.key_bytes()) + pad)
    }

    /// Whether it is a member of a group's record.
    #[inline]
    pub fn is_member(self) -> bool {
        self.0 & MEMBER != 0
    }

    #[inline]
    fn length(self) -> u64 {
        (self.0 >> LENGTH_SHIFT) & ((1 << LENGTH_BITS) - 1)
    }

    /// Byte position.
    #[inline]
    pub fn position(self) -> u64 {
        let position = (self.0 & (MEMBER - 1)) * 8;
        if self.is_member() && self.length() & HALF != 0 { position + 4 } else { position }
    }

    /// Bytes to read there.
    #[inline]
    pub fn bytes(self) -> u32 {
        if self.is_member() { (self.length() & (HALF - 1)) as u32 * 4 } else { self.length() as u32 * 8 }
    }

    /// Length of the pair's record in bytes; of a member, at least what it would be on its own. Capacity counts with it,
    /// so that a collection can always move members out of their groups.
    #[inline]
    pub fn record_bytes(self) -> u32 {
        let bytes = self.bytes();
        if self.is_member() { whole_words(bytes + ALONE_BYTES) } else { bytes }
    }

    /// Key length in bytes.
    #[inline]
    pub fn key_bytes(self) -> u8 {
        (self.0 >> KEY_SHIFT) as u8 + 1
    }

    /// Whether this is an empty slot.
    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The word, for checkpoints.
    #[inline]
    pub fn word(self) -> u64 {
        self.0
    }

    /// A word from a checkpoint; `None` for words that no record has.
    #[inline]
    pub fn from_word(word: u64) -> Option<Self> {
        (Self(word).bytes() != 0 && !Self(word).is_inside()).then_some(Self(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch() {
        for (position, bytes, key) in [(0, 24, 1), (LOG_BYTES_MAX - 8, RECORD_BYTES_MAX, 16), (8, 8, 16)] {
            let addr = RecordAddr::new(position, bytes, key);
            assert_eq!((addr.position(), addr.record_bytes(), addr.key_bytes()), (position, bytes, key));
            assert!(!addr.is_none());
        }
    }

    #[test]
    fn members_lie_between_records() {
        for (position, bytes, key) in [(4, 12, 1), (LOG_BYTES_MAX - 4, MEMBER_BYTES_MAX, 16), (8, 16, 8)] {
            let addr = RecordAddr::member(position, bytes, key);
            assert_eq!((addr.position(), addr.bytes(), addr.key_bytes()), (position, bytes, key));
            assert!(addr.is_member() && !addr.is_none() && RecordAddr::from_word(addr.word()) == Some(addr));
        }
        assert!(!RecordAddr::new(8, 32, 1).is_member());
    }

    #[test]
    fn a_value_beside_its_key_has_a_length_and_no_place() {
        for key in 1..=16 {
            for value in (0..100).chain([4095, RECORD_BYTES_MAX - 100]) {
                let addr = RecordAddr::inside(key, value);
                assert!(addr.is_inside() && !addr.is_member() && !addr.is_none());
                assert_eq!((addr.value_bytes_inside(), addr.key_bytes()), (value, key));
                assert_eq!(addr.record_bytes(), record_bytes(u32::from(key), value));
                assert_eq!(RecordAddr::from_word(addr.word()), None, "images have no such words");
            }
        }
        assert!(!RecordAddr::new(LOG_BYTES_MAX - 8, 8, 16).is_inside());
        assert!(!RecordAddr::member(LOG_BYTES_MAX - 4, MEMBER_BYTES_MAX, 16).is_inside());
        assert!(!RecordAddr::NONE.is_inside());
    }

    #[test]
    fn a_member_counts_at_least_what_it_takes_alone() {
        for key in 1..=16_u32 {
            for value in 0..100_u32 {
                let entry = 8 + key.next_multiple_of(4) + value.next_multiple_of(4);
                let alone = (24 + key + value).next_multiple_of(8);
                let counted = RecordAddr::member(4, entry, key as u8).record_bytes();
                assert!(alone <= counted && counted <= alone + 8, "{key} {value}: {counted}");
            }
        }
    }
}
