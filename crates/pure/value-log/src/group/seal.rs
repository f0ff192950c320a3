// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Members of a group's record. They lie in the log as they came, so a pair is not copied again; only their lengths, far
//! narrower than their words, are joined by what a record needs to stand alone:
//!
//! | word | bits | field |
//! |---|---|---|
//! | key | 7:0 | key length |
//! | | 9:8 | role |
//! | | 31:10 | bits 21:0 of the member's sum, over its bytes as they came |
//! | value (roles 1, 3) | 20:0 | value length |
//! | | 21 | the value stays here although the namespace has shorter ones beside their keys |
//! | | 31:22 | bits 31:22 of the sum |
//!
//! Of a value that stays, the sum's bits are those of the sum and of 5A5A5A5Ah that differ, so that it vouches for bit 21 as well.
//!
//! The sum lets a member be read without the rest of its record, whose CRC32C recovery and collections check as well. It
//! takes one multiplication for eight bytes: a checksum of general use takes longer for a small pair than all else.
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

use crate::view::Records;
use saker_log::{Bytes, LogAddr};
use saker_segment_store::SegmentStore;

/// Bytes of a length.
pub const WORD_BYTES: u32 = 4;
const KEY_BITS: u32 = 8;
const ROLE_BITS: u32 = 2;
const SUM_SHIFT: u32 = KEY_BITS + ROLE_BITS;
const SUM_LOW_BITS: u32 = 32 - SUM_SHIFT;
const VALUE_BITS: u32 = 22;
/// Of a value's word: the value stays in the log.
const STAYS: u32 = 1 << (VALUE_BITS - 1);
const LENGTH_MASK: u32 = STAYS - 1;
const _: () = assert!(super::GROUP_BYTES_MAX <= LENGTH_MASK, "lengths leave the bit above free");
/// What the sum of a value that stays is mixed with.
const STAYS_SUM: u32 = 0x5A5A_5A5A;
const _: () = assert!(VALUE_BITS == SUM_LOW_BITS, "both words split the checksum at the same bit");

/// What recovery and collections make of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing: it was read, refused, or there was nothing to delete.
    Nothing = 0,
    /// A pair.
    Pair = 1,
    /// A tombstone.
    Tombstone = 2,
    /// Nothing, with a value.
    RefusedPair = 3,
}

impl Role {
    /// Whether recovery and collections make anything of it.
    #[inline]
    pub fn is_kept(self) -> bool {
        matches!(self, Self::Pair | Self::Tombstone)
    }

    #[inline]
    fn has_value(self) -> bool {
        matches!(self, Self::Pair | Self::RefusedPair)
    }
}

/// The words of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    /// What it is.
    pub role: Role,
    /// Key length in bytes.
    pub key_bytes: u8,
    /// Value length in bytes.
    pub value_bytes: u32,
    /// Whether the value stays in the log although the namespace has such values beside their keys.
    pub stays: bool,
    sum: u32,
}

/// Bytes of a key or value with its zeros.
#[inline]
pub const fn padded(bytes: u32) -> u32 {
    (bytes + 3) & !3
}

impl Seal {
    /// The seal of a member whose bytes, lengths included, are still as they came.
    #[inline]
    pub fn of(role: Role, key_bytes: u8, value_bytes: u32, came: &[u8]) -> Self {
        Self { role, key_bytes, value_bytes, stays: false, sum: Sum::default().bytes(came).value() }
    }

    /// The same of one whose value stays in the log, or does not.
    #[inline]
    #[must_use]
    pub fn staying(self, stays: bool) -> Self {
        Self { stays, sum: if stays == self.stays { self.sum } else { self.sum ^ STAYS_SUM }, ..self }
    }

    /// Writes the words over the lengths.
    #[inline]
    pub fn write(&self, member: &mut [u8]) {
        let low = self.sum & ((1 << SUM_LOW_BITS) - 1);
        let key = u32::from(self.key_bytes) | (self.role as u32) << KEY_BITS | low << SUM_SHIFT;
        put_word(member, 0, key);
        if self.role.has_value() {
            let length = self.value_bytes | if self.stays { STAYS } else { 0 };
            put_word(member, self.value_word_at(), length | self.sum >> VALUE_BITS << VALUE_BITS);
        }
    }

    /// Writes the lengths over the words of a member that is sealed: it is as it came.
    #[inline]
    pub fn unseal(member: &mut [u8]) {
        let word = |member: &[u8], at: usize| {
            member.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_le_bytes)
        };
        let mut seal = Self::of_key_word(word(member, 0));
        seal.value_bytes = word(member, seal.value_word_at() as usize) & LENGTH_MASK;
        seal.plain(member);
    }

    /// What the first word says.
    #[inline]
    fn of_key_word(key: u32) -> Self {
        let role = match key >> KEY_BITS & ((1 << ROLE_BITS) - 1) {
            0 => Role::Nothing,
            1 => Role::Pair,
            2 => Role::Tombstone,
            _ => Role::RefusedPair,
        };
        Self { role, key_bytes: key as u8, value_bytes: 0, stays: false, sum: key >> SUM_SHIFT }
    }

    /// The same with what the second word says.
    #[inline]
    fn with_value_word(self, value: u32) -> Self {
        let sum = self.sum | value >> VALUE_BITS << VALUE_BITS;
        Self { value_bytes: value & LENGTH_MASK, stays: value & STAYS != 0, sum, ..self }
    }

    #[inline]
    fn value_word_at(&self) -> u32 {
        WORD_BYTES + padded(u32::from(self.key_bytes))
    }

    /// Where the value begins, from the beginning of the member.
    #[inline]
    pub fn value_at(&self) -> u32 {
        self.value_word_at() + WORD_BYTES
    }

    /// Length of the member.
    #[inline]
    pub fn bytes(&self) -> u32 {
        self.value_word_at() + if self.role.has_value() { WORD_BYTES + padded(self.value_bytes) } else { 0 }
    }

    /// The bits of a checksum that the words have room for.
    #[inline]
    fn holds(&self, sum: u32) -> bool {
        let mask = if self.role.has_value() { u32::MAX } else { (1 << SUM_LOW_BITS) - 1 };
        let mixed = if self.stays { STAYS_SUM } else { 0 };
        (sum ^ mixed ^ self.sum) & mask == 0
    }

    /// The lengths as they came.
    #[inline]
    fn plain(&self, member: &mut [u8]) {
        put_word(member, 0, u32::from(self.key_bytes));
        if self.role.has_value() {
            put_word(member, self.value_word_at(), self.value_bytes);
        }
    }
}

#[inline]
fn put_word(member: &mut [u8], at: u32, word: u32) {
    if let Some(to) = member.get_mut(at as usize..).and_then(<[u8]>::first_chunk_mut) {
        *to = word.to_le_bytes();
    }
}

/// Both words of a member with a key of up to 16 bytes lie in its first so many bytes.
const SHORT_HEAD_BYTES: usize = 32;

impl Seal {
    /// What the words of a member that lies in one piece say.
    #[inline]
    fn read(member: &[u8]) -> Option<Self> {
        let word = |at: u32| member.get(at as usize..)?.first_chunk().map(|word| u32::from_le_bytes(*word));
        let seal = Self::of_key_word(word(0)?);
        if !seal.role.has_value() {
            return Some(seal);
        }
        Some(seal.with_value_word(word(seal.value_word_at())?))
    }

    /// Whether a member with a short key is as it came.
    #[inline]
    fn holds_short(&self, member: &[u8]) -> bool {
        let Some((head, rest)) = member.split_at_checked(member.len().min(SHORT_HEAD_BYTES)) else {
            return false;
        };
        let mut plain = [0; SHORT_HEAD_BYTES];
        let Some(plain) = plain.get_mut(..head.len()) else { return false };
        plain.copy_from_slice(head);
        self.plain(plain);
        self.holds(Sum::default().bytes(plain).bytes(rest).value())
    }
}

/// The value of a pair that is a member and lies in one piece, and where in it the value begins. `None` if it is not the pair of that key,
/// or not as it came.
#[inline]
pub fn pair_here<'m>(member: &'m [u8], key: &[u8]) -> Option<(u32, &'m [u8])> {
    let seal = Seal::read(member)?;
    let is_this = seal.role == Role::Pair
        && seal.bytes() as usize == member.len()
        && usize::from(seal.key_bytes) == key.len()
        && (1..=16).contains(&key.len())
        && member.get(WORD_BYTES as usize..)?.get(..key.len())? == key;
    let value = member.get(seal.value_at() as usize..)?.get(..seal.value_bytes as usize)?;
    (is_this && seal.holds_short(member)).then_some((seal.value_at(), value))
}

/// Both words of a member lie in its first so many bytes.
const HEAD_BYTES: usize = 512;

impl Records<'_> {
    /// Reads the words of the member at `log_addr`, which ends before `bytes` bytes. `None` if there is none.
    pub fn seal_at<M: SegmentStore>(&self, log_addr: LogAddr, bytes: u32, m: &M) -> Option<Seal> {
        let word = |at: u32| {
            let mut word = [0; 4];
            let fits = at + WORD_BYTES <= bytes;
            (fits && Bytes::new(log_addr, bytes).copy_to(self.log, m, at, &mut word) == 4)
                .then_some(u32::from_le_bytes(word))
        };
        let mut seal = Seal::of_key_word(word(0)?);
        if seal.role.has_value() {
            seal = seal.with_value_word(word(seal.value_word_at())?);
        }
        (seal.key_bytes != 0 && seal.bytes() <= bytes).then_some(seal)
    }

    /// Whether the resident member at `log_addr` is as it came.
    pub fn is_intact<M: SegmentStore>(&self, log_addr: LogAddr, seal: &Seal, m: &M) -> bool {
        let bytes = seal.bytes();
        let range = Bytes::new(log_addr, bytes);
        let mut head = [0; HEAD_BYTES];
        let Some(head) = head.get_mut(..(bytes as usize).min(HEAD_BYTES)) else { return false };
        if range.copy_to(self.log, m, 0, head) < head.len() {
            return false;
        }
        seal.plain(head);
        let mut sum = Sum::default().bytes(head);
        let mut at = HEAD_BYTES as u32;
        let mut block = [0; HEAD_BYTES];
        while at < bytes {
            let Some(block) = block.get_mut(..((bytes - at) as usize).min(HEAD_BYTES)) else { return false };
            if range.copy_to(self.log, m, at, block) < block.len() {
                return false;
            }
            sum = sum.bytes(block);
            at += block.len() as u32;
        }
        seal.holds(sum.value())
    }
}

/// The sum of a member: each word of eight bytes goes into a state of 64 bits by a step that can be undone, so members
/// that differ in one word have different states.
#[derive(Clone, Copy, Debug)]
struct Sum(u64);

impl Default for Sum {
    fn default() -> Self {
        Self(0x243F_6A88_85A3_08D3)
    }
}

impl Sum {
    /// An odd number without a pattern.
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

    #[inline]
    fn word(self, word: u64) -> Self {
        let mixed = (self.0 ^ word).wrapping_mul(Self::FACTOR);
        Self(mixed ^ mixed >> 32)
    }

    /// With more bytes: a multiple of eight unless they are the last, and then a multiple of four.
    #[inline]
    fn bytes(mut self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self = self.word(u64::from_le_bytes(*word));
        }
        if let Some(half) = rest.first_chunk::<4>() {
            // A half is not a word with zeros.
            self = self.word(u64::from(u32::from_le_bytes(*half)) | 1 << 32);
        }
        self
    }

    #[inline]
    fn value(self) -> u32 {
        let last = self.0.wrapping_mul(Self::FACTOR);
        (last >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_words() {
        // Key "abc", value "vw", as they come.
        let came = *b"\x03\0\0\0abc\0\x02\0\0\0vw\0\0";
        let sum = Sum::default().bytes(&came).value();
        let seal = Seal::of(Role::Pair, 3, 2, &came);
        let mut member = came;
        seal.write(&mut member);
        let key = 3 | 1 << 8 | (sum & 0x3F_FFFF) << 10;
        let value = 2 | (sum >> 22) << 22;
        assert_eq!(member[..4], key.to_le_bytes());
        assert_eq!(member[4..8], came[4..8]);
        assert_eq!(member[8..12], value.to_le_bytes());
        assert_eq!((seal.bytes(), seal.value_at()), (16, 12));
        let mut unsealed = member;
        Seal::unseal(&mut unsealed);
        assert_eq!(unsealed, came);
        seal.plain(&mut member);
        assert_eq!(member, came);
    }

    #[test]
    fn golden_words_of_a_value_that_stays() {
        let came = *b"\x03\0\0\0abc\0\x02\0\0\0vw\0\0";
        let sum = Sum::default().bytes(&came).value() ^ 0x5A5A_5A5A;
        let mut member = came;
        Seal::of(Role::Pair, 3, 2, &came).staying(true).write(&mut member);
        assert_eq!(member[..4], (3 | 1 << 8 | (sum & 0x3F_FFFF) << 10).to_le_bytes());
        assert_eq!(member[8..12], (2 | 1 << 21 | (sum >> 22) << 22).to_le_bytes());
        let seal = Seal::read(&member).expect("it is whole");
        assert!(seal.stays && seal.value_bytes == 2 && seal.holds_short(&member));
        assert_eq!(pair_here(&member, b"abc"), Some((12, &b"vw"[..])));
        assert_eq!(seal.staying(false), Seal::of(Role::Pair, 3, 2, &came));
        Seal::unseal(&mut member);
        assert_eq!(member, came);
    }

    #[test]
    fn a_tombstone_has_one_word() {
        let seal = Seal::of(Role::Tombstone, 5, 0, b"\x05\0\0\0abcde\0\0\0");
        let mut member = *b"\x05\0\0\0abcde\0\0\0";
        seal.write(&mut member);
        assert_eq!((member[0], member[1] & 3, seal.bytes()), (5, 2, 12));
        assert_eq!(member[4..], *b"abcde\0\0\0");
    }

    #[test]
    fn a_pair_in_one_piece_is_delivered_for_its_key_alone() {
        for (key, value) in
            [(&b"k"[..], &b""[..]), (b"key", b"v"), (b"a key of sixteen", b"value"), (b"eight by", &[7; 100])]
        {
            let padded_to =
                |bytes: &[u8]| [bytes, &vec![0; padded(bytes.len() as u32) as usize - bytes.len()]].concat();
            let word = |length: usize| (length as u32).to_le_bytes();
            let came =
                [&word(key.len())[..], &padded_to(key), &word(value.len()), &padded_to(value)].concat();
            let mut member = came.clone();
            let seal = Seal::of(Role::Pair, key.len() as u8, value.len() as u32, &came);
            seal.staying(key.len().is_multiple_of(2)).write(&mut member);
            let start = (came.len() - padded_to(value).len()) as u32;
            assert_eq!(pair_here(&member, key), Some((start, value)));
            assert_eq!(pair_here(&member, b"another key"), None);
            assert_eq!(pair_here(&came, key), None, "it is not sealed");
            assert!((0..member.len()).all(|end| pair_here(&member[..end], key).is_none()), "cut");
            for bit in 0..member.len() * 8 {
                let mut flipped = member.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(pair_here(&flipped, key), None, "bit {bit}");
            }
        }
    }

    /// Worked out by hand with another program, so that images stay readable.
    #[test]
    fn golden_sums() {
        assert_eq!(Sum::default().bytes(b"\x03\0\0\0abc\0").value(), 0x10A5_AD09);
        assert_eq!(Sum::default().bytes(b"\x03\0\0\0abc\0\0\0\0\0").value(), 0xC0CC_A02E);
    }

    #[test]
    fn any_flipped_bit_changes_the_sum() {
        let came: Vec<u8> = (0..44).collect();
        let sum = Sum::default().bytes(&came).value();
        for bit in 0..came.len() * 8 {
            let mut flipped = came.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(Sum::default().bytes(&flipped).value(), sum, "bit {bit}");
        }
    }
}
