// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading pages of invalid mappings (see [`super::invalid`] for their layout).
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

use super::invalid::MAPPING_BYTES;
use saker_segment_store::SegmentId;

/// A page of mappings as read: of which superblock and epoch it speaks, and its mappings. `None` if it is not one.
pub fn read_page<'a>(
    page: &'a [u8],
    owner_oob: &[u8],
) -> Option<(SegmentId, u32, impl Iterator<Item = (u32, u32)> + use<'a>)> {
    let [segment, epoch, count] = owner_oob.as_chunks().0.first_chunk::<3>()?.map(u32::from_le_bytes);
    let (mappings, _) = page.as_chunks::<MAPPING_BYTES>();
    let split = |mapping: &[u8; MAPPING_BYTES]| {
        let mapping = u64::from_le_bytes(*mapping);
        (mapping as u32, (mapping >> 32) as u32)
    };
    Some((SegmentId(segment), epoch, mappings.get(..count as usize)?.iter().map(split)))
}
