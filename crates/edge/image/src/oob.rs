// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a page's out-of-band bytes in the file say about its cells.
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
use saker_segment_store::{HeaderError, PageAddr, PageHeader};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{Immutable, IntoBytes, Unaligned};

/// Bytes of a torn marker.
pub(super) const TORN_BYTES: usize = 32;
const TORN_MAGIC: [u8; 4] = *b"SKTN";

#[derive(IntoBytes, Immutable, Unaligned)]
#[repr(C)]
struct Marker {
    magic: [u8; 4],
    epoch: U32,
    page: U64,
    reserved: [u8; 12],
    crc: U32,
}

const _: () = assert!(size_of::<Marker>() == TORN_BYTES);

/// The reading of out-of-band bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Oob {
    /// Zero, or of an earlier erase cycle.
    Erased,
    /// Marked as torn in this cycle.
    Torn,
    /// A sound header of this cycle.
    Sound(PageHeader),
    /// A sound header or marker of a later cycle than the epoch table knows.
    Later(u32),
    /// Neither zero nor sound (`None`: something behind a header of zeros).
    Damaged(Option<HeaderError>),
}

/// Reads the out-of-band bytes of the page at `at`, whose segment is in erase cycle `epoch`.
pub(super) fn read(oob: &[u8], at: PageAddr, epoch: u32) -> Oob {
    if saker_segment_store::is_zero(oob) {
        return Oob::Erased;
    }
    if let Some(torn) = torn_epoch(oob, at) {
        return of_cycle(torn, epoch, Oob::Torn);
    }
    match PageHeader::decode(oob, at) {
        Ok(Some(header)) => of_cycle(header.epoch, epoch, Oob::Sound(header)),
        Ok(None) => Oob::Damaged(None),
        Err(error) => Oob::Damaged(Some(error)),
    }
}

fn of_cycle(found: u32, current: u32, now: Oob) -> Oob {
    match found.cmp(&current) {
        std::cmp::Ordering::Less => Oob::Erased,
        std::cmp::Ordering::Equal => now,
        std::cmp::Ordering::Greater => Oob::Later(found),
    }
}

/// The marker of a page that an interrupted program or erase left unreadable.
pub(super) fn torn_marker(at: PageAddr, epoch: u32) -> [u8; TORN_BYTES] {
    let mut marker = Marker {
        magic: TORN_MAGIC,
        epoch: epoch.into(),
        page: at.0.into(),
        reserved: [0; 12],
        crc: 0.into(),
    };
    let (covered, _) = marker.as_bytes().split_at(TORN_BYTES - 4);
    marker.crc = crc32c(covered).into();
    zerocopy::transmute!(marker)
}

fn torn_epoch(oob: &[u8], at: PageAddr) -> Option<u32> {
    let marker: &[u8; TORN_BYTES] = oob.first_chunk()?;
    let [_, _, _, _, e0, e1, e2, e3, ..] = *marker;
    let epoch = u32::from_le_bytes([e0, e1, e2, e3]);
    (*marker == torn_marker(at, epoch)).then_some(epoch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_segment_store::Stream;

    fn header(epoch: u32) -> PageHeader {
        let (owner, shard, stream, sequence, addr) = (1, 0, Stream::User, 5, PageAddr(3));
        PageHeader {
            owner,
            shard,
            stream,
            epoch,
            sequence,
            addr,
            used_bytes: 0,
            first_record: 0,
            data_crc: 0,
        }
    }

    #[test]
    fn headers_count_in_their_cycle() {
        let mut oob = [0; 64];
        assert_eq!(read(&oob, PageAddr(3), 2), Oob::Erased);
        header(2).encode(&mut oob);
        assert_eq!(read(&oob, PageAddr(3), 2), Oob::Sound(header(2)));
        assert_eq!(read(&oob, PageAddr(3), 3), Oob::Erased);
        assert_eq!(read(&oob, PageAddr(3), 1), Oob::Later(2));
        assert_eq!(read(&oob, PageAddr(4), 2), Oob::Damaged(Some(HeaderError::Misdirected)));
    }

    #[test]
    fn every_flipped_bit_of_a_torn_marker_is_damage() {
        let mut oob = [0; 64];
        oob[..TORN_BYTES].copy_from_slice(&torn_marker(PageAddr(3), 2));
        assert_eq!(read(&oob, PageAddr(3), 2), Oob::Torn);
        assert_eq!(read(&oob, PageAddr(3), 3), Oob::Erased);
        for bit in 0..TORN_BYTES * 8 {
            let mut bad = oob;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(read(&bad, PageAddr(3), 2), Oob::Damaged(_)), "bit {bit}");
        }
    }

    #[test]
    fn bytes_behind_an_empty_header_are_damage() {
        let mut oob = [0; 72];
        oob[70] = 1;
        assert_eq!(read(&oob, PageAddr(0), 0), Oob::Damaged(None));
    }
}
