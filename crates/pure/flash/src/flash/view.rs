// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flash as one owner sees it: a medium.

use super::Flash;
use super::jobs::JobKind;
use super::ordered::Program;
use crate::nand::timing::Work;
use crate::nand::{Cell, Cells};
use saker_segment_store::{
    CellError, Checked, Geometry, Order, Page, PageAddr, PageBuffer, PowerHistory, SegmentId, SegmentStore,
    SegmentView, SlotId, Tag,
};
use saker_sim::Class;

/// One owner's view of the flash.
#[derive(Debug)]
pub struct NamespaceSegments<'a> {
    pub(super) flash: &'a mut Flash,
    pub(super) owner: u16,
    /// None goes on beside the owner.
    pub(super) waits_for_syncs: bool,
}

impl NamespaceSegments<'_> {
    /// For an owner that goes on when a sync has ended and looks at no tag, as one that recovers.
    #[must_use]
    pub fn waiting_for_syncs(self) -> Self {
        Self { waits_for_syncs: true, ..self }
    }

    /// Everything up to this tag has completed.
    pub fn finished(&self) -> Tag {
        self.flash.finished()
    }
}

impl SegmentStore for NamespaceSegments<'_> {
    #[inline]
    fn geometry(&self) -> Geometry {
        self.flash.shape.geometry
    }

    #[inline]
    fn page_buffer(&self) -> &PageBuffer {
        &self.flash.page_buffer
    }

    #[inline]
    fn page_buffer_mut(&mut self) -> &mut PageBuffer {
        &mut self.flash.page_buffer
    }

    #[inline]
    fn page(&self, at: PageAddr) -> Page<'_> {
        if self.flash.model.is_some() && !self.flash.reads.is_here(at) {
            return Page::Absent;
        }
        match self.flash.media.cell(at) {
            Cell::Erased => Page::Erased,
            Cell::Torn => Page::Torn,
            Cell::Programmed { .. } if self.flash.is_unreadable(at) => Page::Failed,
            Cell::Programmed { data, oob } => Page::Resident { data, oob },
        }
    }

    #[inline]
    fn ahead(&self, at: PageAddr, offset: u32) -> Option<&[u8]> {
        match self.flash.media.cell(at) {
            Cell::Programmed { data, .. } => data.get(offset as usize..),
            Cell::Erased | Cell::Torn => None,
        }
    }

    #[inline]
    fn checked(&self, at: PageAddr) -> Option<&Checked> {
        if self.flash.model.is_some() { None } else { self.flash.media.checked(at) }
    }

    fn allocate(&mut self) -> Option<SegmentId> {
        self.flash.pool.lease(self.owner)
    }

    fn epoch(&self, segment: SegmentId) -> u32 {
        self.flash.media.epoch(segment)
    }

    #[inline]
    fn free_segments(&self) -> u32 {
        self.flash.pool.available(self.owner)
    }

    #[inline]
    fn quota_segments(&self) -> u32 {
        self.flash.pool.quota(self.owner)
    }

    fn program(&mut self, at: PageAddr, slot: SlotId, order: Order) -> Tag {
        let flash = &mut *self.flash;
        let (tag, owner) = (flash.tag(), self.owner);
        if !flash.count_operation() {
            return tag;
        }
        flash.check_order(at);
        if flash.model.is_some() {
            flash.submit_program(Program { tag, at, slot, owner }, order);
        } else {
            flash.finish(JobKind::Program { tag, at, slot, owner });
        }
        tag
    }

    fn erase(&mut self, segment: SegmentId) -> Tag {
        let flash = &mut *self.flash;
        let (tag, owner) = (flash.tag(), self.owner);
        if !flash.count_operation() {
            return tag;
        }
        if flash.model.is_some() {
            flash.start(
                JobKind::Erase { tag, segment, owner, is_synced: false },
                Work::Erase(segment),
                Class::Background,
            );
        } else {
            flash.finish(JobKind::Erase { tag, segment, owner, is_synced: false });
        }
        tag
    }

    fn sync(&mut self) -> Tag {
        if self.waits_for_syncs || !self.flash.has_syncs_beside() {
            return self.flash.sync_now(self.owner);
        }
        self.flash.sync_beside(self.owner)
    }

    fn last_tag(&self) -> Tag {
        Tag(self.flash.next_tag)
    }

    fn survey(&self) -> Vec<SegmentView> {
        let flash = &self.flash;
        let view = |id| SegmentView { id, written_pages: flash.media.written_pages(id) };
        flash.pool.of(self.owner).map(view).collect()
    }

    fn history(&self) -> PowerHistory {
        self.flash.media.history()
    }

    fn refusal(&self) -> Option<CellError> {
        self.flash.refusal()
    }
}
