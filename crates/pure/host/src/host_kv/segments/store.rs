// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same blocks as engines see them.

use super::erases::Erase;
use super::{BlockSegments, OOB_BYTES, Request, bytes_of};
use saker_segment_store::{
    Geometry, Order, Page, PageAddr, PageBuffer, PowerHistory, SegmentId, SegmentStore, SegmentView, SlotId,
    Tag,
};
use std::ops::Range;

impl SegmentStore for BlockSegments {
    fn geometry(&self) -> Geometry {
        self.geometry
    }

    fn page_buffer(&self) -> &PageBuffer {
        &self.page_buffer
    }

    fn page_buffer_mut(&mut self) -> &mut PageBuffer {
        &mut self.page_buffer
    }

    fn page(&self, at: PageAddr) -> Page<'_> {
        self.seen(at, self.pages.all())
    }

    fn part(&self, at: PageAddr, bytes: Range<u32>) -> Page<'_> {
        self.seen(at, self.pages.parts_of(bytes.start, bytes.end))
    }

    fn allocate(&mut self) -> Option<SegmentId> {
        self.free.pop_first()
    }

    fn epoch(&self, _: SegmentId) -> u32 {
        // Deallocated blocks read as zeros, also after a cut: no page of an earlier cycle can be seen.
        0
    }

    fn free_segments(&self) -> u32 {
        self.free.len() as u32
    }

    fn quota_segments(&self) -> u32 {
        self.geometry.segments
    }

    /// Whatever the order: nothing that needs one comes from a store at the host.
    fn program(&mut self, at: PageAddr, slot: SlotId, _: Order) -> Tag {
        let tag = self.tag();
        if let Some(written) = self.written.get_mut(self.geometry.segment_of(at).0 as usize) {
            *written = (*written).max(self.geometry.index_of(at) + 1);
        }
        let (page_buffer, pages) = (&self.page_buffer, &mut self.pages);
        pages.renew(at..=at, || bytes_of(page_buffer, slot));
        self.cache.forget(at..=at);
        self.programmed.insert(at, slot);
        self.start(Request::Program { tag, at, slot });
        tag
    }

    fn erase(&mut self, segment: SegmentId) -> Tag {
        let tag = self.tag();
        let g = self.geometry;
        let pages = g.page(segment, 0)..=g.page(segment, g.segment_pages - 1);
        self.cache.forget(pages.clone());
        self.pages.renew(pages, || vec![0; (g.page_bytes + OOB_BYTES) as usize]);
        self.erase_for(Erase { tag: Some(tag), segment });
        self.flush_for_erases();
        tag
    }

    fn sync(&mut self) -> Tag {
        let tag = self.tag();
        self.start(Request::Sync { tag });
        tag
    }

    fn last_tag(&self) -> Tag {
        Tag(self.next_tag)
    }

    fn survey(&self) -> Vec<SegmentView> {
        self.found.clone()
    }

    fn history(&self) -> PowerHistory {
        PowerHistory::Cut { ring_kept: false }
    }
}
