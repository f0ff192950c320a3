// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much a write finds room for.

use super::PageMap;
use super::reserve::FOR_WRITES;
use saker_log::reserve::{ROOM_SLOTS, Reserve};
use saker_segment_store::{SegmentStore, Stall, Stream};

impl PageMap {
    /// Blocks that one call of [`write`](Self::write) can ever take: half of the slots that are not kept back, so that the
    /// other half can be programmed meanwhile, and at most half a segment.
    pub fn blocks_at_once<M: SegmentStore>(&self, m: &M) -> u32 {
        let pages = m.page_buffer().slots().saturating_sub(FOR_WRITES.slots + ROOM_SLOTS) / 2;
        let pages = u32::from(pages).min(self.log.geometry().segment_pages / 2);
        (pages * (self.log.geometry().page_bytes / self.config.block_bytes)).max(1)
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
}
