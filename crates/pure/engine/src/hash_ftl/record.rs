// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The record of a pair: a head, the key, the value, zeros to a whole grain. It starts at a grain and may cross pages.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | CRC-32C of everything after it, padding excluded |
//! | 4-10 | version: the order of writes of one store, 56 bits |
//! | 11 | bits 0-4 key length; bit 5 one of a group; bit 6 pair, bit 7 tombstone, both: the head of a group |
//! | 12-14 | value length |
//! | 15 | format of the record: 1 |
//!
//! All little-endian. With a key of 8 bytes, a value of 1000 takes two grains of 512, and one of 40 a grain of 64.
//!
//! Each grain has a word in the page's out-of-band area. That of a record's first grain says:
//!
//! | bits | field |
//! |---|---|
//! | 0-31 | hash index |
//! | 32-47 | grains of the record |
//! | 48-49 | kind: 1 pair, 2 tombstone, 3 head of a group (`hash_ftl/group/head.rs`), whose hash index is that of its first record |
//! | 50 | 1: there is a check |
//! | 51 | the check's highest bit |
//! | 52-55 | 0 |
//! | 56-62 | the check's other bits |
//! | 63 | 1: there is a check |
//!
//! The words of the other grains are zero. The check is the exclusive or of bytes 0 to 5 and the kind. A word of which one byte
//! was changed is not valid. While a page fills in the page buffer nothing else covers its words, and a wrong hash index
//! would hide a pair. Words of earlier programs have bits 0 to 49 only.
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

use saker_segment_store::header::crc32c;

/// Bytes before the key.
pub const HEAD_BYTES: u32 = 16;
const FORMAT: u8 = 1;
const VERSION_MASK: u64 = (1 << 56) - 1;
/// Versions end here: nobody writes as often, and who counts on from one does not come to the end of numbers.
pub const VERSION_MAX: u64 = 1 << 55;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pair.
    Pair = 1,
    /// The pair was deleted.
    Tombstone = 2,
    /// How far a group goes that begins here: neither of them.
    Group = 3,
}

/// A decoded head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Checksum of the rest.
    pub crc: u32,
    /// Order of writes.
    pub version: u64,
    /// Pair or tombstone.
    pub kind: Kind,
    /// Whether it counts only with the others of its group.
    pub in_group: bool,
    /// Key length in bytes.
    pub key_bytes: u8,
    /// Value length in bytes.
    pub value_bytes: u32,
}

impl Head {
    /// Length without padding.
    #[inline]
    pub fn bytes(&self) -> u32 {
        HEAD_BYTES + u32::from(self.key_bytes) + self.value_bytes
    }

    /// The key of a record that begins with this head; `None` if there are fewer bytes.
    #[inline]
    pub fn key_in<'r>(&self, record: &'r [u8]) -> Option<&'r [u8]> {
        record.get(HEAD_BYTES as usize..)?.get(..usize::from(self.key_bytes))
    }

    /// The head's bytes, checksum as given.
    #[inline]
    pub fn encode(&self) -> [u8; HEAD_BYTES as usize] {
        let word = (self.version & VERSION_MASK)
            | u64::from(self.key_bytes) << 56
            | u64::from(self.in_group) << (56 + 5)
            | (self.kind as u64) << (56 + 6);
        let last = self.value_bytes | u32::from(FORMAT) << 24;
        let words = [self.crc, word as u32, (word >> 32) as u32, last];
        zerocopy::transmute!(words.map(u32::to_le_bytes))
    }

    /// Reads a head; `None` if these bytes are not one.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD_BYTES as usize] = bytes.first_chunk()?;
        let words: [[u8; 4]; 4] = zerocopy::transmute!(*bytes);
        let [crc, low, high, last] = words.map(u32::from_le_bytes);
        let word = u64::from(low) | u64::from(high) << 32;
        let kind = match word >> 62 {
            1 => Kind::Pair,
            2 => Kind::Tombstone,
            3 => Kind::Group,
            _ => return None,
        };
        let key_bytes = (word >> 56) as u8 & 0x1f;
        let version = word & VERSION_MASK;
        let is_head = kind == Kind::Group;
        let sound = (1..=16).contains(&key_bytes)
            && version <= VERSION_MAX
            && (!is_head || key_bytes == 16 && last << 8 == 0);
        (sound && last >> 24 == u32::from(FORMAT)).then_some(Self {
            crc,
            version,
            kind,
            in_group: word >> (56 + 5) & 1 == 1,
            key_bytes,
            value_bytes: last & 0x00ff_ffff,
        })
    }
}

/// The checksum of a record whose bytes (from byte 4 on, without padding) lie in one piece.
#[inline]
pub fn record_crc(after_crc: &[u8]) -> u32 {
    crc32c(after_crc)
}

/// What a page's out-of-band area says of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its hash index.
    pub slot: u32,
    /// Its grains.
    pub grains: u16,
    /// Pair or tombstone.
    pub kind: Kind,
}

/// Of a word: there is a check.
const CHECKED: u64 = 1 << 63 | 1 << 50;
/// Where the highest bit of the check is, and where the others begin.
const CHECK_AT: (u32, u32) = (51, 56);

impl Mark {
    /// The word's bytes.
    #[inline]
    pub fn encode(self) -> [u8; 8] {
        let word = u64::from(self.slot) | u64::from(self.grains) << 32 | (self.kind as u64) << 48;
        let check = u64::from(folded(word));
        (word | CHECKED | (check >> 7) << CHECK_AT.0 | (check & 0x7f) << CHECK_AT.1).to_le_bytes()
    }

    /// Reads a word; `None` where no record starts.
    #[inline]
    pub fn decode(bytes: [u8; 8]) -> Option<Self> {
        let word = u64::from_le_bytes(bytes);
        let kind = match word >> 48 & 3 {
            1 => Kind::Pair,
            2 => Kind::Tombstone,
            3 => Kind::Group,
            _ => return None,
        };
        let mark = Self { slot: word as u32, grains: (word >> 32) as u16, kind };
        let sound = if word & CHECKED == 0 { word >> 50 == 0 } else { mark.encode() == bytes };
        sound.then_some(mark)
    }
}

/// All bytes of a word by exclusive or.
#[inline]
fn folded(word: u64) -> u8 {
    let word = word ^ word >> 32;
    let word = word ^ word >> 16;
    (word ^ word >> 8) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let head = Head {
            crc: 0x0403_0201,
            version: 0x0077_6655_4433_2211,
            kind: Kind::Pair,
            in_group: false,
            key_bytes: 8,
            value_bytes: 0x0012_3456,
        };
        let bytes = head.encode();
        assert_eq!(bytes, [1, 2, 3, 4, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x48, 0x56, 0x34, 0x12, 1]);
        assert_eq!(Head::decode(&bytes), Some(head));
        assert_eq!(Head::decode(&[0; 16]), None);
        let tombstone = Head { kind: Kind::Tombstone, key_bytes: 16, value_bytes: 0, ..head };
        assert_eq!(tombstone.encode()[11], 0x90);
        assert_eq!(Head::decode(&tombstone.encode()), Some(tombstone));
        let of_group = Head { in_group: true, ..head };
        assert_eq!(of_group.encode()[11], 0x68);
        assert_eq!(Head::decode(&of_group.encode()), Some(of_group));
        let begins = Head { kind: Kind::Group, key_bytes: 16, value_bytes: 0, ..head };
        assert_eq!(begins.encode()[11], 0xd0);
        assert_eq!(Head::decode(&begins.encode()), Some(begins));
        assert_eq!(Head::decode(&Head { value_bytes: 1, ..begins }.encode()), None);
        for wrong in [(11, 0x40), (11, 0x51), (11, 0xc8), (15, 2)] {
            let mut bytes = head.encode();
            bytes[wrong.0] = wrong.1;
            assert_eq!(Head::decode(&bytes), None);
        }
    }

    #[test]
    fn marks_of_grains() {
        let mark = Mark { slot: 0x0a0b_0c0d, grains: 3, kind: Kind::Tombstone };
        assert_eq!(mark.encode(), [0x0d, 0x0c, 0x0b, 0x0a, 3, 0, 6, 0x81]);
        assert_eq!(
            Mark { slot: 0x82, grains: 1, kind: Kind::Pair }.encode(),
            [0x82, 0, 0, 0, 1, 0, 13, 0x82]
        );
        assert_eq!(Mark::decode(mark.encode()), Some(mark));
        assert_eq!(Mark::decode([0x0d, 0x0c, 0x0b, 0x0a, 3, 0, 2, 0]), Some(mark), "of earlier programs");
        assert_eq!(Mark::decode([0; 8]), None);
        assert_eq!(Mark::decode([1, 2, 3, 4, 5, 6, 0, 0]), None);
    }

    #[test]
    fn no_changed_byte_of_a_word_passes() {
        for (slot, grains) in [(0x0a0b_0c0d, 3), (0, 1), (5, 0), (6, 0)] {
            let good = Mark { slot, grains, kind: Kind::Pair };
            for (at, mask) in (0..8).flat_map(|at| (1..=u8::MAX).map(move |mask| (at, mask))) {
                let mut bytes = good.encode();
                bytes[at] ^= mask;
                let found = Mark::decode(bytes);
                assert!(found.is_none_or(|mark| mark == good), "{good:?}, byte {at} ^ {mask:#x}: {found:?}");
            }
        }
    }

    #[test]
    fn published_sizes_take_whole_grains() {
        let head = |value_bytes| Head {
            crc: 0,
            version: 0,
            kind: Kind::Pair,
            in_group: false,
            key_bytes: 8,
            value_bytes,
        };
        assert_eq!(head(1000).bytes(), 1024);
        assert_eq!(head(40).bytes(), 64);
    }
}
