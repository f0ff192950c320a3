// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The epoch table: how often each segment was erased. An entry is eight bytes at an aligned place, so it is
//! replaced as a whole, and raising it erases the whole segment in one step.
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

use super::host;
use super::layout::{EPOCH_BYTES, EPOCHS_AT, Layout};
use saker_segment_store::header::crc32c;
use saker_segment_store::{Flip, SegmentId};
use std::fs::File;
use std::io;

const ENTRY: usize = EPOCH_BYTES as usize;

/// The epoch and a check over epoch and segment. No entry is all zero, so a lost table is seen too.
pub(super) fn encode(segment: SegmentId, epoch: u32) -> [u8; ENTRY] {
    (u64::from(epoch) | u64::from(check_of(segment, epoch)) << 32).to_le_bytes()
}

fn check_of(segment: SegmentId, epoch: u32) -> u32 {
    let both = u64::from(segment.0) << 32 | u64::from(epoch);
    crc32c(&both.to_le_bytes())
}

/// The epoch of an entry, unless it is damaged.
pub(super) fn decode(segment: SegmentId, entry: [u8; ENTRY]) -> Option<u32> {
    let epoch = (u64::from_le_bytes(entry) & u64::from(u32::MAX)) as u32;
    (encode(segment, epoch) == entry).then_some(epoch)
}

/// The epoch of a damaged entry, if one changed byte explains it.
pub(super) fn mend(segment: SegmentId, entry: [u8; ENTRY]) -> Option<u32> {
    let changed = |flip: Flip| {
        let mut other = entry;
        flip.apply(&mut other);
        other
    };
    let sound: Vec<u32> =
        Flip::all(0..ENTRY as u64).filter_map(|flip| decode(segment, changed(flip))).collect();
    if let [epoch] = sound[..] { Some(epoch) } else { None }
}

/// Reads one entry as it is.
pub(super) fn read(file: &File, layout: &Layout, segment: SegmentId) -> io::Result<[u8; ENTRY]> {
    let mut entry = [0; ENTRY];
    host::read_at(file, &mut entry, layout.epoch_of(segment))?;
    Ok(entry)
}

/// Writes the table of a new image.
pub(super) fn write_all(file: &File, layout: &Layout) -> io::Result<()> {
    let table: Vec<u8> = (0..layout.geometry.segments).flat_map(|n| encode(SegmentId(n), 0)).collect();
    host::write_at(file, &table, EPOCHS_AT)
}

/// Writes one entry.
pub(super) fn write(file: &File, layout: &Layout, segment: SegmentId, epoch: u32) -> io::Result<()> {
    host::write_at(file, &encode(segment, epoch), layout.epoch_of(segment))
}

/// Reads the table; damaged entries are `None`.
pub(super) fn read_all(file: &File, layout: &Layout) -> io::Result<Vec<Option<u32>>> {
    let mut table = vec![0; layout.geometry.segments as usize * ENTRY];
    host::read_at(file, &mut table, EPOCHS_AT)?;
    let (entries, _) = table.as_chunks::<ENTRY>();
    Ok(entries.iter().zip(0..).map(|(entry, n)| decode(SegmentId(n), *entry)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_an_entry_is_seen() {
        for (segment, epoch) in [(0, 0), (7, 1), (1 << 20, u32::MAX)] {
            let good = encode(SegmentId(segment), epoch);
            assert_eq!(decode(SegmentId(segment), good), Some(epoch));
            assert_eq!(decode(SegmentId(segment + 1), good), None, "an entry counts in its own place only");
            for bit in 0..64 {
                let bad = (u64::from_le_bytes(good) ^ 1 << bit).to_le_bytes();
                assert_eq!(decode(SegmentId(segment), bad), None, "bit {bit}");
            }
        }
        assert_eq!(decode(SegmentId(0), [0; 8]), None);
    }

    #[test]
    fn every_changed_byte_of_an_entry_is_put_right() {
        for (segment, epoch) in [(0, 0), (7, 1), (300, 0x1234_5678)] {
            let good = encode(SegmentId(segment), epoch);
            for (at, mask) in (0..8).flat_map(|at| [1, 0x80, 0xff].map(|mask| (at, mask))) {
                let mut bad = good;
                bad[at] ^= mask;
                assert_eq!(mend(SegmentId(segment), bad), Some(epoch), "byte {at} ^ {mask:#x}");
            }
        }
        assert_eq!(mend(SegmentId(3), [0; 8]), None);
    }

    #[test]
    fn golden_entry() {
        // CRC-32C of eight zero bytes is 8c28b28a.
        assert_eq!(encode(SegmentId(0), 0), [0, 0, 0, 0, 0x8a, 0xb2, 0x28, 0x8c]);
    }
}
