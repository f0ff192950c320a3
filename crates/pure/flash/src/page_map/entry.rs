// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The out-of-band entry of a sector, 16 bytes, little-endian:
//! `lba 5 bytes | kind u8 | version 6 bytes | crc32c of the sector 4 bytes`.
//!
//! A translation page has its own number for a block ([`super::dftl`]).
//! A trim record is a sector whose data lists ranges: `count u32, 12 reserved, then (first u64, blocks u64)`.
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

use super::BlockError;
use saker_segment_store::PageHeader;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 16;

/// What a sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A logical block.
    Data = 1,
    /// A list of deallocated ranges.
    Trim = 2,
    /// A part of the map.
    Translation = 3,
}

/// What a page says of one of its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The logical block; 0 for a trim record; the number of a translation page.
    pub lba: u64,
    /// Block, trim record or translation page.
    pub kind: EntryKind,
    /// Order of writes of the namespace.
    pub version: u64,
    /// Checksum of the sector.
    pub crc: u32,
}

impl Entry {
    /// The entry's bytes.
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let [l0, l1, l2, l3, l4, ..] = self.lba.to_le_bytes();
        let [v0, v1, v2, v3, v4, v5, ..] = self.version.to_le_bytes();
        let [c0, c1, c2, c3] = self.crc.to_le_bytes();
        [l0, l1, l2, l3, l4, self.kind as u8, v0, v1, v2, v3, v4, v5, c0, c1, c2, c3]
    }

    /// The entry's bytes as two words: the first one has what makes it an entry.
    pub fn words(&self) -> [u64; 2] {
        let both = u128::from_le_bytes(self.encode());
        [both as u64, (both >> 64) as u64]
    }

    /// Reads an entry; `None` for sectors that were never filled.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let [l0, l1, l2, l3, l4, kind, v0, v1, v2, v3, v4, v5, crc @ ..] =
            *bytes.first_chunk::<ENTRY_BYTES>()?;
        let kind = match kind {
            1 => EntryKind::Data,
            2 => EntryKind::Trim,
            3 => EntryKind::Translation,
            _ => return None,
        };
        let lba = u64::from_le_bytes([l0, l1, l2, l3, l4, 0, 0, 0]);
        let version = u64::from_le_bytes([v0, v1, v2, v3, v4, v5, 0, 0]);
        Some(Self { lba, kind, version, crc: u32::from_le_bytes(crc) })
    }
}

/// The bytes and the entry of a sector of a page; `None` if it has none.
pub fn sector<'p>(data: &'p [u8], oob: &[u8], index: usize, block_bytes: usize) -> Option<(&'p [u8], Entry)> {
    let entry = Entry::decode(PageHeader::owner_oob(oob).get(index.checked_mul(ENTRY_BYTES)?..)?)?;
    let bytes = data.get(index.checked_mul(block_bytes)?..)?.get(..block_bytes)?;
    Some((bytes, entry))
}

/// Fills a sector with a copy.
pub fn fill_from(out: &mut [u8], from: &[u8]) -> Result<(), BlockError> {
    out.copy_from_slice(from);
    Ok(())
}

/// Writes a trim record's data.
pub fn encode_trim(ranges: &[(u64, u64)], out: &mut [u8]) -> Result<(), BlockError> {
    out.fill(0);
    let (head, rest) = out.split_first_chunk_mut::<16>().ok_or(BlockError::OutOfRange)?;
    *head = u128::from(ranges.len() as u32).to_le_bytes();
    let (places, _) = rest.as_chunks_mut::<16>();
    for (place, (first, blocks)) in places.iter_mut().zip(ranges) {
        *place = (u128::from(*first) | u128::from(*blocks) << 64).to_le_bytes();
    }
    Ok(())
}

/// Reads a trim record's data; ranges that do not fit are left out.
pub fn decode_trim(data: &[u8]) -> Vec<(u64, u64)> {
    let Some((head, rest)) = data.split_first_chunk::<16>() else { return Vec::new() };
    let count = u128::from_le_bytes(*head) as u32 as usize;
    let range = |place: &[u8; 16]| {
        let both = u128::from_le_bytes(*place);
        (both as u64, (both >> 64) as u64)
    };
    rest.as_chunks().0.iter().take(count).map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn golden_bytes() {
        let e =
            Entry { lba: 0x05_0403_0201, kind: EntryKind::Trim, version: 0x0b0a_0908_0706, crc: 0x0f0e_0d0c };
        assert_eq!(e.encode(), [1, 2, 3, 4, 5, 2, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(Entry::decode(&e.encode()), Some(e));
        assert_eq!(Entry::decode(&[0; 16]), None);
    }

    #[test]
    fn trim_records_come_back_and_bad_ones_do_not_panic() {
        let mut data = [0xff; 512];
        encode_trim(&[(1, 2), (7, 9)], &mut data).expect("fits");
        assert_eq!(decode_trim(&data), [(1, 2), (7, 9)]);
        assert_eq!(decode_trim(&[0xff; 48]).len(), 2);
    }
}
