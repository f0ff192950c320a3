// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Walks the out-of-band bytes of everything that is not a hole, without touching holes: a hundred gigabytes
//! with little in them are looked through in no time.
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

use super::host::{next_extent, read_at};
use super::layout::Layout;
use saker_segment_store::PageAddr;
use std::fs::File;
use std::io;

/// Bytes read at once, at least one slot.
const CHUNK_BYTES: u64 = 256 << 10;

/// Shows every page that may have been written, in order of address. Pages in holes are erased and not shown.
pub(super) fn written_oob(
    file: &File,
    layout: &Layout,
    see: &mut dyn FnMut(PageAddr, &[u8]),
) -> io::Result<()> {
    let end = layout.oob_at + u64::from(layout.geometry.segments) * layout.oob_segment;
    let mut at = layout.oob_at;
    while let Some((start, stop)) = next_extent(file, at, end)? {
        // Whole slots: an extent may begin or end inside one.
        let slot = |offset: u64| (offset - layout.oob_at) / layout.oob_stride;
        let first = slot(start);
        let last = slot(stop - 1);
        extent(file, layout, first..last + 1, see)?;
        at = layout.oob_at + (last + 1) * layout.oob_stride;
    }
    Ok(())
}

fn extent(
    file: &File,
    layout: &Layout,
    slots: std::ops::Range<u64>,
    see: &mut dyn FnMut(PageAddr, &[u8]),
) -> io::Result<()> {
    let stride = layout.oob_stride;
    let per_chunk = (CHUNK_BYTES / stride).max(1);
    let mut buffer = vec![0; (per_chunk.min(slots.end - slots.start) * stride) as usize];
    let mut slot = slots.start;
    while slot < slots.end {
        let count = per_chunk.min(slots.end - slot);
        let Some(bytes) = buffer.get_mut(..(count * stride) as usize) else { return Ok(()) };
        read_at(file, bytes, layout.oob_at + slot * stride)?;
        chunk(layout, slot, bytes, see);
        slot += count;
    }
    Ok(())
}

fn chunk(layout: &Layout, first: u64, bytes: &[u8], see: &mut dyn FnMut(PageAddr, &[u8])) {
    for (oob, slot) in bytes.chunks_exact(layout.oob_stride as usize).zip(first..) {
        if let Some(at) = layout.page_of_slot(slot) {
            see(at, oob.get(..layout.geometry.oob_bytes as usize).unwrap_or(oob));
        }
    }
}
