// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The out-of-band header that makes a page self-describing: whose it is, where it should be, which
//! erase cycle it belongs to, and a checksum of its data. Recovery and `saker check` rely on it alone.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::arithmetic_side_effects,
        reason = "it reads bytes of images"
    )
)]

use crate::PageAddr;
use crate::crc::{self, Crc32c};
use crate::planted::{self, Fault};
use thiserror::Error;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a header.
pub const HEADER_BYTES: usize = 64;
const MAGIC: [u8; 4] = *b"SKPG";
const VERSION: u8 = 1;
/// Sequence numbers end here: nobody writes as many pages, and who counts on from one does not come to the end of numbers.
pub(crate) const SEQUENCE_MAX: u64 = 1 << 56;

/// Which of a store's append points a page belongs to. Streams have segments of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stream {
    /// New writes.
    User = 0,
    /// What garbage collection and rescue copy.
    Gc = 1,
    /// Checkpoints of the store's index.
    Checkpoint = 2,
    /// Sorted tables.
    Table = 3,
    /// Sections of a hash table that is on flash.
    Map = 4,
    /// What became invalid on other segments.
    Invalid = 5,
}

impl Stream {
    /// Number of streams.
    pub const COUNT: usize = 6;
    /// All streams.
    pub const ALL: [Self; Self::COUNT] =
        [Self::User, Self::Gc, Self::Checkpoint, Self::Table, Self::Map, Self::Invalid];

    /// Whether its pages hold records that collections move one by one.
    pub fn holds_records(self) -> bool {
        matches!(self, Self::User | Self::Gc)
    }

    /// What statistics call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Gc => "gc",
            Self::Checkpoint => "checkpoint",
            Self::Table => "table",
            Self::Map => "map",
            Self::Invalid => "invalid",
        }
    }

    /// The stream with that number.
    pub fn from_u8(n: u8) -> Option<Self> {
        Self::ALL.get(usize::from(n)).copied()
    }
}

/// What a page says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageHeader {
    /// The namespace (1-based) that owns the segment.
    pub owner: u16,
    /// The shard of the owner. Shards are a property of the format; 0 for now.
    pub shard: u16,
    /// The append point.
    pub stream: Stream,
    /// Erase cycle of the segment. A page of an older cycle does not count.
    pub epoch: u32,
    /// The order in which the owner opened its pages.
    pub sequence: u64,
    /// Where the page was written; a page found elsewhere was misdirected.
    pub addr: PageAddr,
    /// Data bytes in use from the start of the page.
    pub used_bytes: u32,
    /// Where the first record that starts in this page starts; the page size if none does.
    pub first_record: u32,
    /// CRC32C of the page's data and of the owner's out-of-band part.
    pub data_crc: u32,
}

/// Why a header is not one.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum HeaderError {
    /// Neither a header nor an erased page.
    #[error("the page header is damaged")]
    Damaged,
    /// A header of a later format.
    #[error("the page header has version {0}, this program knows 1")]
    Version(u8),
    /// The header of another page.
    #[error("the page was written for another address")]
    Misdirected,
}

#[derive(FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned, Clone, Copy)]
#[repr(C)]
struct Wire {
    magic: [u8; 4],
    version: u8,
    stream: u8,
    owner: U16,
    shard: U16,
    reserved: U16,
    epoch: U32,
    sequence: U64,
    addr: U64,
    used_bytes: U32,
    first_record: U32,
    data_crc: U32,
    reserved2: [u8; 16],
    header_crc: U32,
}

const _: () = assert!(size_of::<Wire>() == HEADER_BYTES);

impl Wire {
    /// The checksum of everything before it.
    fn crc(&self) -> u32 {
        let (covered, _) = self.as_bytes().split_at(std::mem::offset_of!(Self, header_crc));
        crc32c(covered)
    }
}

impl PageHeader {
    /// The owner's out-of-band bytes: those behind the header.
    #[inline]
    pub fn owner_oob(oob: &[u8]) -> &[u8] {
        oob.get(HEADER_BYTES..).unwrap_or_default()
    }

    /// Writes the header into the first 64 bytes of `oob`.
    pub fn encode(&self, oob: &mut [u8]) {
        let mut wire = Wire {
            magic: MAGIC,
            version: VERSION,
            stream: self.stream as u8,
            owner: self.owner.into(),
            shard: self.shard.into(),
            reserved: 0.into(),
            epoch: self.epoch.into(),
            sequence: self.sequence.into(),
            addr: self.addr.0.into(),
            used_bytes: self.used_bytes.into(),
            first_record: self.first_record.into(),
            data_crc: self.data_crc.into(),
            reserved2: [0; 16],
            header_crc: 0.into(),
        };
        wire.header_crc = wire.crc().into();
        let written = wire.write_to_prefix(oob);
        debug_assert!(written.is_ok(), "the out-of-band area holds a header");
    }

    /// Reads a header that should be at `addr`. All zero bytes, an erased page, give `None`.
    pub fn decode(oob: &[u8], addr: PageAddr) -> Result<Option<Self>, HeaderError> {
        let (wire, _) = Wire::read_from_prefix(oob).map_err(|_| HeaderError::Damaged)?;
        if wire.as_bytes() == [0; HEADER_BYTES] {
            return Ok(None);
        }
        if wire.header_crc.get() != wire.crc() || wire.magic != MAGIC {
            return Err(HeaderError::Damaged);
        }
        if wire.version != VERSION {
            return Err(HeaderError::Version(wire.version));
        }
        if wire.addr.get() != addr.0 {
            return Err(HeaderError::Misdirected);
        }
        if wire.sequence.get() > SEQUENCE_MAX {
            return Err(HeaderError::Damaged);
        }
        Ok(Some(Self {
            owner: wire.owner.get(),
            shard: wire.shard.get(),
            stream: Stream::from_u8(wire.stream).ok_or(HeaderError::Damaged)?,
            epoch: wire.epoch.get(),
            sequence: wire.sequence.get(),
            addr,
            used_bytes: wire.used_bytes.get(),
            first_record: wire.first_record.get(),
            data_crc: wire.data_crc.get(),
        }))
    }
}

/// CRC-32C (Castagnoli), as NVMe uses it.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    if planted::is(Fault::TornPagesPass) {
        return 0;
    }
    crc::checksum(bytes)
}

/// The checksum of a page: its data, then the owner's out-of-band part.
pub fn page_crc(data: &[u8], owner_oob: &[u8]) -> u32 {
    if planted::is(Fault::TornPagesPass) {
        return 0;
    }
    let mut sum = Crc32c::new();
    sum.update(data);
    sum.update(owner_oob);
    sum.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> PageHeader {
        PageHeader {
            owner: 0x0201,
            shard: 0,
            stream: Stream::Gc,
            epoch: 7,
            sequence: 0x0017_0605_0403_0201,
            addr: PageAddr(99),
            used_bytes: 4000,
            first_record: 48,
            data_crc: 0xaabb_ccdd,
        }
    }

    #[test]
    fn crc32c_check_value() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    #[test]
    fn golden_bytes() {
        let mut oob = [0xff; HEADER_BYTES];
        header().encode(&mut oob);
        assert_eq!(&oob[..4], b"SKPG");
        assert_eq!(oob[4..12], [1, 1, 1, 2, 0, 0, 0, 0]);
        assert_eq!(oob[12..24], [7, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0x17, 0]);
        assert_eq!(oob[24..32], [99, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(oob[32..44], [0xa0, 0x0f, 0, 0, 48, 0, 0, 0, 0xdd, 0xcc, 0xbb, 0xaa]);
        assert_eq!(oob[44..60], [0; 16]);
    }

    #[test]
    fn every_flipped_bit_is_seen() {
        let mut oob = [0; HEADER_BYTES];
        header().encode(&mut oob);
        assert_eq!(PageHeader::decode(&oob, PageAddr(99)), Ok(Some(header())));
        for bit in 0..HEADER_BYTES * 8 {
            let mut bad = oob;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(PageHeader::decode(&bad, PageAddr(99)).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn erased_and_misdirected_pages() {
        assert_eq!(PageHeader::decode(&[0; HEADER_BYTES], PageAddr(1)), Ok(None));
        let mut oob = [0; HEADER_BYTES];
        header().encode(&mut oob);
        assert_eq!(PageHeader::decode(&oob, PageAddr(98)), Err(HeaderError::Misdirected));
        assert_eq!(PageHeader::decode(&oob[..10], PageAddr(99)), Err(HeaderError::Damaged));
    }
}
