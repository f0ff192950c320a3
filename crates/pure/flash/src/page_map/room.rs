// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much a write finds room for.

use super::PageMap;
use super::reserve::{FOR_COLLECTIONS, FOR_REPAIRS, FOR_WRITES};
use saker_log::reserve::{ROOM_SLOTS, Reserve};
use saker_segment_store::{SegmentStore, Stall, Stream};

impl PageMap {
    /// Blocks that one call of [`write`](Self::write) can ever take: half of the slots that are not kept back, so that the
    /// other half can be programmed meanwhile, and at most half a segment.
    pub fn blocks_at_once<M: SegmentStore>(&self, m: &M) -> u32 {
        let pages = m.page_buffer().slots().saturating_sub(FOR_WRITES.slots + ROOM_SLOTS) / 2;
        let pages = u32::from(pages).min(self.log.geometry().segment_pages / 2);
        let blocks = pages * (self.log.geometry().page_bytes / self.config.block_bytes);
        // Half of the cached mapping table, so that the other half can be made clean meanwhile.
        let entries = self.dftl.as_ref().map_or(u32::MAX, |d| d.table.most() as u32 / 2);
        blocks.min(entries).max(1)
    }

    /// Room for that many sectors, wherever in its page the stream stands.
    pub(super) fn room<M: SegmentStore>(
        &self,
        m: &M,
        stream: Stream,
        blocks: u32,
        reserve: Reserve,
    ) -> Result<(), Stall> {
        let per_segment = self.log.geometry().segment_bytes() / u64::from(self.config.block_bytes);
        let segments = u32::try_from(u64::from(blocks) / per_segment).unwrap_or(u32::MAX);
        let bytes = blocks.saturating_mul(self.config.block_bytes);
        let slots = reserve.slots + (bytes / self.log.geometry().page_bytes) as u16;
        let one = self.config.block_bytes;
        if segments == 0 {
            // All in this segment, or one more segment.
            self.log.room(m, stream, bytes.max(one), reserve)
        } else {
            self.log.room(m, stream, one, Reserve { slots, segments: reserve.segments + segments + 1 })
        }
    }

    /// Room for sectors that a collection or a repair copies.
    pub(super) fn room_for<M: SegmentStore>(&self, blocks: u32, m: &M) -> Result<(), Stall> {
        let repair = self.gc.filter(|gc| gc.is_repair());
        let is_map = repair.is_some_and(|gc| self.log.segment(gc.segment()).stream() == Stream::Map);
        let reserve = if repair.is_some() { FOR_REPAIRS } else { FOR_COLLECTIONS };
        let left = if is_map { 0 } else { self.map_segments_left() };
        let reserve = reserve.with_segments(self.log.kept_for_repairs(repair.is_some()) + left);
        let stream = if is_map { Stream::Map } else { Stream::Gc };
        self.log.room(m, stream, blocks * self.config.block_bytes, reserve)
    }

    /// The same for the sectors of a page, and for their entries.
    pub(super) fn room_for_copies<M: SegmentStore>(&self, blocks: u32, m: &M) -> Result<(), Stall> {
        if !self.has_entries(blocks as usize) {
            return Err(Stall::Debt);
        }
        self.room_for(blocks, m)
    }
}
