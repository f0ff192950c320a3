// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The record of a pair in the log.
//!
//! | bytes | field |
//! |---|---|
//! | 0-3 | CRC32C of everything after it, padding excluded |
//! | 4-7 | value length |
//! | 8-14 | version: the order of writes of one store, 56 bits |
//! | 15 | kind: 1 pair, 2 tombstone, 3 group |
//! | 16 | key length (1-255; more than 16 reserved for native long keys); 0 of a group |
//! | 17 | format of the record: 1; 2 with zeros between key and value |
//! | 18-19 | namespace |
//! | 20 | group: bytes before the key length of each member, 0 or 4 |
//! | 21 | zeros between key and value, which let a value begin where DMA puts it: 0 to 7 |
//! | 22 | bit 0 of a pair: its value stays here although it is short |
//! | 23 | reserved (transactions, time to live) |
//! | 24- | key, zeros, value, zeros to a multiple of 8 |
//!
//! All little-endian. The value of a group is its payload: see [`crate::group`].
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
pub const HEADER_BYTES: u32 = 24;
const FORMAT: u8 = 1;
const FORMAT_PADDED: u8 = 2;
/// Most zeros between key and value.
const PAD_BYTES_MAX: u8 = 7;
const VERSION_MASK: u64 = (1 << 56) - 1;
/// Versions end here: nobody writes as often, and who counts on from one does not come to the end of numbers.
const VERSION_MAX: u64 = 1 << 55;
/// Values end here, far above all limits, so that lengths can be added up.
const VALUE_BYTES_MAX: u32 = 1 << 28;

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pair.
    Pair = 1,
    /// The pair was deleted.
    Tombstone = 2,
    /// Several of either.
    Group = 3,
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Checksum of the rest.
    pub crc: u32,
    /// Value length in bytes.
    pub value_bytes: u32,
    /// Order of writes.
    pub version: u64,
    /// Pair or tombstone.
    pub kind: Kind,
    /// Key length in bytes.
    pub key_bytes: u8,
    /// Namespace.
    pub owner: u16,
    /// Of a group: bytes before the key length of each member.
    pub lead_bytes: u8,
    /// Of a pair: zeros between key and value.
    pub pad_bytes: u8,
    /// Of a pair: its value stays in the log although it is so short that others' do not.
    pub stays: bool,
}

/// Length of a record in the log, padding included.
#[inline]
pub const fn record_bytes(key_bytes: u32, value_bytes: u32) -> u32 {
    whole_words(HEADER_BYTES + key_bytes + value_bytes)
}

/// Bytes with what fills their last word. What the library has for it looks for an overflow that no length here can have, and a store asks
/// several times.
#[inline]
pub const fn whole_words(bytes: u32) -> u32 {
    (bytes + 7) & !7
}

impl Header {
    /// Length in the log.
    #[inline]
    pub fn record_bytes(&self) -> u32 {
        record_bytes(u32::from(self.key_bytes) + u32::from(self.pad_bytes), self.value_bytes)
    }

    /// Where in the record the value begins.
    #[inline]
    pub fn value_at(&self) -> u32 {
        HEADER_BYTES + u32::from(self.key_bytes) + u32::from(self.pad_bytes)
    }

    /// The header's bytes, checksum as given.
    #[inline]
    pub fn encode(&self) -> [u8; HEADER_BYTES as usize] {
        // Whole words, as they are read again at once: parts would have to reach memory first.
        let format = if self.pad_bytes == 0 { FORMAT } else { FORMAT_PADDED };
        let words = [
            u64::from(self.crc) | (u64::from(self.value_bytes) << 32),
            (self.version & VERSION_MASK) | ((self.kind as u64) << 56),
            u64::from(u16::from_le_bytes([self.key_bytes, format]))
                | (u64::from(self.owner) << 16)
                | (u64::from(u16::from_le_bytes([self.lead_bytes, self.pad_bytes])) << 32)
                | (u64::from(self.stays) << 48),
        ];
        zerocopy::transmute!(words.map(u64::to_le_bytes))
    }

    /// Checksum and value length of a pair without padding that has a key of `key_bytes` bytes and this owner; `None` for
    /// anything else. It takes half the instructions of [`Header::decode`], whose answer would be the same.
    #[inline(always)]
    pub fn plain_pair(
        bytes: &[u8; HEADER_BYTES as usize],
        key_bytes: usize,
        owner: u16,
    ) -> Option<(u32, u32)> {
        let words: [[u8; 8]; 3] = zerocopy::transmute!(*bytes);
        let [first, word, third] = words.map(u64::from_le_bytes);
        debug_assert!(key_bytes > 0, "a pair has a key");
        let value_bytes = (first >> 32) as u32;
        // Two flags above are not compared: whether a value stays, and what is unused.
        let is_plain = third as u8 as usize == key_bytes
            && third << 16 >> 24 == u64::from(FORMAT) | u64::from(owner) << 8
            && word.wrapping_sub((Kind::Pair as u64) << 56) <= VERSION_MAX
            && value_bytes <= VALUE_BYTES_MAX;
        is_plain.then_some((first as u32, value_bytes))
    }

    /// Reads a header; `None` if these bytes are not one.
    #[inline]
    pub fn decode(bytes: &[u8; HEADER_BYTES as usize]) -> Option<Self> {
        let [first, word, third]: [[u8; 8]; 3] = zerocopy::transmute!(*bytes);
        let (first, word) = (u64::from_le_bytes(first), u64::from_le_bytes(word));
        let [key_bytes, said_format, owner @ .., lead_bytes, pad_bytes, flags, _] = third;
        let kind = match word >> 56 {
            1 => Kind::Pair,
            2 => Kind::Tombstone,
            3 => Kind::Group,
            _ => return None,
        };
        let is_group = kind == Kind::Group;
        let whole = is_group == (key_bytes == 0) && (lead_bytes == 0 || is_group && lead_bytes == 4);
        let format = match pad_bytes {
            0 => FORMAT,
            1..=PAD_BYTES_MAX if kind == Kind::Pair => FORMAT_PADDED,
            _ => return None,
        };
        let (value_bytes, version) = ((first >> 32) as u32, word & VERSION_MASK);
        let counts = value_bytes <= VALUE_BYTES_MAX && version <= VERSION_MAX;
        (whole && counts && said_format == format).then_some(Self {
            crc: first as u32,
            value_bytes,
            version,
            kind,
            key_bytes,
            owner: u16::from_le_bytes(owner),
            lead_bytes,
            pad_bytes,
            stays: flags & 1 != 0 && kind == Kind::Pair,
        })
    }
}

/// The checksum of a record whose bytes (from byte 4 on, without padding) lie in one piece.
#[inline]
pub fn record_crc(after_crc: &[u8]) -> u32 {
    crc32c(after_crc)
}

/// Writes the header of a record, without padding, that is whole but for it, with the checksum of both.
// Always inlined: as a call it took 27 instructions more.
#[inline(always)]
pub fn seal(header: Header, record: &mut [u8]) {
    // The checksum is taken from the first byte on: most records are whole words, and bytes beside words cost as much as all words.
    let header = Header { crc: u32::from_le_bytes(NEUTRAL), ..header };
    if let Some(head) = record.first_chunk_mut() {
        *head = header.encode();
    }
    let crc = crc32c(record);
    if let Some(head) = record.first_chunk_mut() {
        *head = crc.to_le_bytes();
    }
}

/// Four bytes that a CRC32C may begin with: its register is afterwards what it was before.
const NEUTRAL: [u8; 4] = {
    // A step shifts the register down and takes the polynomial, whose highest bit is set, when a one falls out: this is back 32 steps.
    const POLYNOMIAL: u32 = 0x82F6_3B78;
    let (mut register, mut step) = (u32::MAX, 0);
    while step < 32 {
        let fell_out = register >> 31;
        register = (register ^ (POLYNOMIAL * fell_out)) << 1 | fell_out;
        step += 1;
    }
    (register ^ u32::MAX).to_le_bytes()
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_the_checksum_of_what_is_behind_it() {
        for bytes in HEADER_BYTES as u8..100 {
            let mut record: Vec<u8> = (0..bytes).map(|n| n.wrapping_mul(37)).collect();
            let header = Header {
                crc: 0,
                value_bytes: u32::from(bytes),
                version: 77,
                kind: Kind::Pair,
                key_bytes: 5,
                owner: 3,
                lead_bytes: 0,
                pad_bytes: 0,
                stays: false,
            };
            seal(header, &mut record);
            let crc = record_crc(&record[4..]);
            assert_eq!(record[..24], Header { crc, ..header }.encode(), "{bytes} bytes");
        }
    }

    /// What [`Header::plain_pair`] should say, by [`Header::decode`].
    fn by_decode(bytes: &[u8; 24], key_bytes: usize, owner: u16) -> Option<(u32, u32)> {
        let h = Header::decode(bytes)?;
        let is_plain = h.kind == Kind::Pair
            && h.pad_bytes == 0
            && h.owner == owner
            && usize::from(h.key_bytes) == key_bytes;
        is_plain.then_some((h.crc, h.value_bytes))
    }

    #[test]
    fn a_plain_pair_is_what_decode_says() {
        for (value_bytes, version, key_bytes) in [
            (0, 0, 1),
            (VALUE_BYTES_MAX, VERSION_MAX, 16),
            (VALUE_BYTES_MAX - 1, VERSION_MAX - 1, 255),
            (52, 7, 16),
        ] {
            for (kind, stays, pad_bytes) in [
                (Kind::Pair, false, 0),
                (Kind::Pair, true, 0),
                (Kind::Pair, false, 3),
                (Kind::Tombstone, false, 0),
            ] {
                let (crc, owner, lead_bytes) = (0x1234_5678, 0x0301, 0);
                let header = Header {
                    crc,
                    value_bytes,
                    version,
                    kind,
                    key_bytes,
                    owner,
                    lead_bytes,
                    pad_bytes,
                    stays,
                };
                let bytes = header.encode();
                let key = usize::from(key_bytes);
                assert_eq!(
                    Header::plain_pair(&bytes, key, owner),
                    by_decode(&bytes, key, owner),
                    "{header:?}"
                );
                assert_eq!(
                    Header::plain_pair(&bytes, key, owner).is_some(),
                    kind == Kind::Pair && pad_bytes == 0
                );
                for bit in 0..24 * 8 {
                    let mut bytes = bytes;
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    for (key, owner) in [(key, owner), (key ^ 3, owner), (key, owner ^ 2), (key + 256, owner)]
                    {
                        let (quick, slow) =
                            (Header::plain_pair(&bytes, key, owner), by_decode(&bytes, key, owner));
                        assert_eq!(quick, slow, "{header:?}, bit {bit}, a key of {key} bytes, owner {owner}");
                    }
                }
            }
        }
    }

    #[test]
    fn golden_bytes() {
        let h = Header {
            crc: 0x0403_0201,
            value_bytes: 0x0001_0203,
            version: 0x0019_8877_6655_4433,
            kind: Kind::Pair,
            key_bytes: 16,
            owner: 0x0a0b,
            lead_bytes: 0,
            pad_bytes: 0,
            stays: false,
        };
        let bytes = h.encode();
        assert_eq!(
            bytes,
            [
                1, 2, 3, 4, 3, 2, 1, 0, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x19, 1, 16, 1, 0x0b, 0x0a, 0, 0,
                0, 0
            ]
        );
        assert_eq!(Header::decode(&bytes), Some(h));
        assert_eq!(h.record_bytes(), 24 + 16 + 0x0001_0203 + 5);
    }

    #[test]
    fn groups_have_no_key_and_say_their_lead() {
        let h = Header {
            crc: 0,
            value_bytes: 44,
            version: 7,
            kind: Kind::Group,
            key_bytes: 0,
            owner: 1,
            lead_bytes: 4,
            pad_bytes: 0,
            stays: false,
        };
        let bytes = h.encode();
        assert_eq!(bytes[4..], [44, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 3, 0, 1, 1, 0, 4, 0, 0, 0]);
        assert_eq!(Header::decode(&bytes), Some(h));
        for (at, wrong) in [(16, 1), (20, 1), (20, 8), (15, 1)] {
            let mut bytes = bytes;
            bytes[at] = wrong;
            assert_eq!(Header::decode(&bytes), None);
        }
    }

    #[test]
    fn a_value_may_begin_behind_zeros() {
        let h = Header {
            crc: 0,
            value_bytes: 16,
            version: 7,
            kind: Kind::Pair,
            key_bytes: 13,
            owner: 1,
            lead_bytes: 0,
            pad_bytes: 3,
            stays: false,
        };
        let bytes = h.encode();
        assert_eq!(bytes[16..], [13, 2, 1, 0, 0, 3, 0, 0]);
        assert_eq!(Header::decode(&bytes), Some(h));
        assert_eq!((h.value_at(), h.record_bytes()), (40, 56));
        for (at, wrong) in [(17, 1), (21, 0), (21, 8), (15, 2)] {
            let mut bytes = bytes;
            bytes[at] = wrong;
            assert_eq!(Header::decode(&bytes), None, "{at}");
        }
    }

    #[test]
    fn a_short_value_may_stay() {
        let h = Header {
            crc: 0,
            value_bytes: 16,
            version: 7,
            kind: Kind::Pair,
            key_bytes: 13,
            owner: 1,
            lead_bytes: 0,
            pad_bytes: 0,
            stays: true,
        };
        let bytes = h.encode();
        assert_eq!(bytes[16..], [13, 1, 1, 0, 0, 0, 1, 0]);
        assert_eq!(Header::decode(&bytes), Some(h));
    }

    #[test]
    fn zeros_are_no_header() {
        assert_eq!(Header::decode(&[0; 24]), None);
    }
}
