//! The out-of-band entry of a sector, 16 bytes, little-endian:
//! `lba 5 bytes | kind u8 | version 6 bytes | crc32c of the sector 4 bytes`.
//!
//! A trim record is a sector whose data lists ranges: `count u32, 12 reserved, then (first u64, blocks u64)`.

use super::BlockError;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 16;

/// What a sector is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A logical block.
    Data = 1,
    /// A list of deallocated ranges.
    Trim = 2,
}

/// What a page says of one of its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The logical block; 0 for a trim record.
    pub lba: u64,
    /// Block or trim record.
    pub kind: EntryKind,
    /// Order of writes of the namespace.
    pub version: u64,
    /// Checksum of the sector.
    pub crc: u32,
}

impl Entry {
    /// The entry's bytes.
    pub fn encode(&self) -> [u8; ENTRY_BYTES] {
        let mut out = [0; ENTRY_BYTES];
        out[..5].copy_from_slice(&self.lba.to_le_bytes()[..5]);
        out[5] = self.kind as u8;
        out[6..12].copy_from_slice(&self.version.to_le_bytes()[..6]);
        out[12..].copy_from_slice(&self.crc.to_le_bytes());
        out
    }

    /// Reads an entry; `None` for sectors that were never filled.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..ENTRY_BYTES)?;
        let number = |b: &[u8]| b.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
        let kind = match bytes[5] {
            1 => EntryKind::Data,
            2 => EntryKind::Trim,
            _ => return None,
        };
        let crc = u32::from_le_bytes(bytes[12..].try_into().ok()?);
        Some(Self { lba: number(&bytes[..5]), kind, version: number(&bytes[6..12]), crc })
    }
}

/// Writes a trim record's data.
pub fn encode_trim(ranges: &[(u64, u64)], out: &mut [u8]) -> Result<(), BlockError> {
    out.fill(0);
    out[..4].copy_from_slice(&(ranges.len() as u32).to_le_bytes());
    for (n, (first, blocks)) in ranges.iter().enumerate() {
        out[16 + n * 16..24 + n * 16].copy_from_slice(&first.to_le_bytes());
        out[24 + n * 16..32 + n * 16].copy_from_slice(&blocks.to_le_bytes());
    }
    Ok(())
}

/// Reads a trim record's data; ranges that do not fit are left out.
pub fn decode_trim(data: &[u8]) -> Vec<(u64, u64)> {
    let word = |at: usize| data.get(at..at + 8).map(|b| u64::from_le_bytes(b.try_into().expect("8 bytes")));
    let count = data.get(..4).map_or(0, |b| u32::from_le_bytes(b.try_into().expect("4 bytes"))) as usize;
    (0..count.min(data.len() / 16)).filter_map(|n| Some((word(16 + n * 16)?, word(24 + n * 16)?))).collect()
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
