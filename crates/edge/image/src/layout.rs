// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the regions of an image lie, computed from its configuration alone.
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

use super::{ImageConfig, ImageError};
use saker_segment_store::{Geometry, PageAddr, PageBuffer, SegmentId};

/// Bytes of a header copy, and the alignment of regions.
pub(super) const BLOCK_BYTES: u64 = 4096;
/// Where the epoch table starts: behind both header copies.
pub(super) const EPOCHS_AT: u64 = 2 * BLOCK_BYTES;
/// Alignment of the data region.
const DATA_ALIGN: u64 = 1 << 20;
/// Bytes of an entry of the epoch table.
pub(super) const EPOCH_BYTES: u64 = 8;

/// Offsets and sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub geometry: Geometry,
    pub ring_at: u64,
    pub ring_bytes: u64,
    pub oob_at: u64,
    /// From page to page. A power of two, so that an out-of-band write of up to 4096 bytes lies in one page
    /// of the page cache and a killed process leaves it whole or not at all.
    pub oob_stride: u64,
    /// From segment to segment, whole blocks, so that a hole frees one segment.
    pub oob_segment: u64,
    pub data_at: u64,
    pub file_bytes: u64,
}

impl Layout {
    /// The layout of a valid configuration.
    pub fn of(config: &ImageConfig) -> Result<Self, ImageError> {
        config.validate()?;
        let geometry = config.geometry;
        let segments = u64::from(geometry.segments);
        let ring_at = (EPOCHS_AT + segments * EPOCH_BYTES).next_multiple_of(BLOCK_BYTES);
        let ring_bytes =
            PageBuffer::bytes_for(config.ring_slots, geometry.page_bytes, geometry.oob_bytes) as u64;
        let oob_at = (ring_at + ring_bytes).next_multiple_of(BLOCK_BYTES);
        let oob_stride = u64::from(geometry.oob_bytes).next_power_of_two();
        let oob_segment = (u64::from(geometry.segment_pages) * oob_stride).next_multiple_of(BLOCK_BYTES);
        // The limits of `validate` keep all of this below 2^53.
        let data_at = (oob_at + segments * oob_segment).next_multiple_of(DATA_ALIGN);
        let file_bytes = (data_at + segments * geometry.segment_bytes()).next_multiple_of(BLOCK_BYTES);
        Ok(Self { geometry, ring_at, ring_bytes, oob_at, oob_stride, oob_segment, data_at, file_bytes })
    }

    /// Where a segment's epoch is.
    pub fn epoch_of(&self, segment: SegmentId) -> u64 {
        EPOCHS_AT + u64::from(segment.0) * EPOCH_BYTES
    }

    /// Where a page's out-of-band bytes are.
    #[inline]
    pub fn oob_of(&self, at: PageAddr) -> u64 {
        let (segment, index) = (self.geometry.segment_of(at), self.geometry.index_of(at));
        self.oob_of_segment(segment) + u64::from(index) * self.oob_stride
    }

    /// Where a segment's out-of-band bytes start.
    #[inline]
    pub fn oob_of_segment(&self, segment: SegmentId) -> u64 {
        self.oob_at + u64::from(segment.0) * self.oob_segment
    }

    /// Where a page's data are.
    #[inline]
    pub fn data_of(&self, at: PageAddr) -> u64 {
        self.data_at + at.0 * u64::from(self.geometry.page_bytes)
    }

    /// The page whose out-of-band bytes lie in a slot of the out-of-band region; `None` for padding.
    pub fn page_of_slot(&self, slot: u64) -> Option<PageAddr> {
        let per_segment = self.oob_segment / self.oob_stride;
        let (segment, index) = (slot / per_segment, slot % per_segment);
        let inside =
            segment < u64::from(self.geometry.segments) && index < u64::from(self.geometry.segment_pages);
        inside.then(|| self.geometry.page(SegmentId(segment as u32), index as u32))
    }
}
