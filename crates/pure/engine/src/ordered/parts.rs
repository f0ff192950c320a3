// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks whose checksum is looked at once while their page is in memory.

use saker_log::{Log, checked_of};
use saker_segment_store::{Checked, PageAddr, SegmentStore};

/// The part of a page that a block is.
#[derive(Clone, Copy, Debug)]
pub struct CheckedPart<'m> {
    page: Option<&'m Checked>,
    part: u32,
}

impl<'m> CheckedPart<'m> {
    /// A part without a note: its block is checked at each look.
    pub const NONE: Self = Self { page: None, part: 0 };

    /// The block of that number in its page.
    #[inline]
    pub fn numbered<M: SegmentStore>(log: &Log, m: &'m M, page: PageAddr, part: u32) -> Self {
        Self { page: checked_of(log, m, page), part }
    }

    /// A block that begins and ends at those bytes of its page. Two long ones never begin in one part of a page, as a part is shorter; a
    /// short one has no note.
    #[inline]
    pub fn spanning<M: SegmentStore>(log: &Log, m: &'m M, page: PageAddr, (start, end): (u32, u32)) -> Self {
        let part_bytes = log.geometry().page_bytes.div_ceil(Checked::PARTS).max(1);
        if end.saturating_sub(start) < part_bytes {
            return Self::NONE;
        }
        Self::numbered(log, m, page, start / part_bytes)
    }

    /// Whether the block was checked.
    #[inline]
    pub fn is_checked(&self) -> bool {
        self.page.is_some_and(|page| page.has(self.part))
    }

    /// It was checked and is right.
    #[inline]
    pub fn note(&self) {
        self.page.into_iter().for_each(|page| page.note(self.part));
    }
}
