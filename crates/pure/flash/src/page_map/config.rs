// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of a block namespace, and how many blocks it can have.

use super::dftl::{ENTRY_MEMORY_BYTES, WORD_BYTES};
use super::reserve::{FILL_PERCENT_MAX, SPARE_SEGMENTS, map_segments};
use saker_segment_store::Geometry;

/// Settings of a block namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMapConfig {
    /// The namespace, 1-based.
    pub owner: u16,
    /// Bytes of a logical block.
    pub block_bytes: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Whether the power-safe page buffer survives a power cut.
    pub ring_lasts: bool,
    /// Bytes the log grows by between checkpoints.
    pub checkpoint_bytes: u64,
    /// Memory of the cached mapping table of a map on flash ([`super::dftl`]); 0: the whole map is in memory.
    pub map_cache_bytes: u64,
}

impl PageMapConfig {
    /// The largest namespace that `quota_segments` of a medium can carry with 7 % over-provisioning.
    pub fn new(
        owner: u16,
        geometry: &Geometry,
        quota_segments: u32,
        ring_lasts: bool,
        block_bytes: u32,
    ) -> Self {
        let raw = raw_bytes(geometry, quota_segments, ring_lasts);
        // Two checkpoints of 4 bytes a block, each in segments of its own.
        let checkpoints = 2 * (raw / u64::from(block_bytes) * 5).next_multiple_of(geometry.segment_bytes());
        let blocks = blocks_in(raw.saturating_sub(checkpoints), block_bytes);
        let checkpoint_bytes = (raw / 4).clamp(geometry.segment_bytes(), 1 << 30);
        Self { owner, block_bytes, blocks, ring_lasts, checkpoint_bytes, map_cache_bytes: 0 }
    }

    /// The same with the map on flash, and so much memory for its cached mapping table. 0: with the map in memory.
    #[must_use]
    pub fn with_map_cache(self, geometry: &Geometry, quota_segments: u32, map_cache_bytes: u64) -> Self {
        if map_cache_bytes == 0 {
            return self;
        }
        let raw = raw_bytes(geometry, quota_segments, self.ring_lasts);
        let pages = (raw / u64::from(self.block_bytes)).div_ceil(u64::from(self.block_bytes) / WORD_BYTES);
        let maps = u64::from(map_segments(geometry, self.block_bytes, pages)) * geometry.segment_bytes();
        // Two checkpoints of 12 bytes an entry and 8 a translation page. Chunks do not cross segments.
        let payload = map_cache_bytes / ENTRY_MEMORY_BYTES * 12 + pages * 8;
        let usable = geometry.segment_bytes() * 3 / 4 - 64;
        let checkpoints = 2 * (payload * 5 / 4 + 4096).div_ceil(usable) * geometry.segment_bytes();
        let blocks = blocks_in(raw.saturating_sub(maps + checkpoints), self.block_bytes);
        Self { blocks, map_cache_bytes, ..self }
    }

    /// The least memory of a cached mapping table: a write of a page and the copies of a collected one find room in half of it.
    pub const fn map_cache_bytes_min(geometry: &Geometry, block_bytes: u32) -> u64 {
        (geometry.page_bytes / block_bytes) as u64 * 4 * ENTRY_MEMORY_BYTES
    }
}

fn raw_bytes(geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> u64 {
    let segment = geometry.segment_bytes() - lost_in_segment(geometry, ring_lasts);
    u64::from(quota_segments.saturating_sub(SPARE_SEGMENTS)) * segment
}

fn blocks_in(bytes: u64, block_bytes: u32) -> u64 {
    bytes * FILL_PERCENT_MAX / 100 / u64::from(block_bytes)
}

/// Bytes of a segment that a collection can leave unused: where the page buffer can be lost, the rest of the pages that are
/// sealed before a segment is released.
pub(super) fn lost_in_segment(geometry: &Geometry, ring_lasts: bool) -> u64 {
    let sealed = if ring_lasts { 0 } else { 2 * u64::from(geometry.page_bytes) };
    sealed.min(geometry.segment_bytes() / 2)
}

/// The same of a segment of translation pages, whose stream is sealed alone.
pub(super) fn lost_of_map(geometry: &Geometry, ring_lasts: bool) -> u64 {
    lost_in_segment(geometry, ring_lasts) / 2
}
