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

    /// A block that begins and ends at those bytes of its page.
    #[inline]
    pub fn spanning<M: SegmentStore>(log: &Log, m: &'m M, page: PageAddr, span: (u32, u32)) -> Self {
        part_of_span(log.geometry().page_bytes, span)
            .map_or(Self::NONE, |part| Self::numbered(log, m, page, part))
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

/// The part of a page that a block which begins and ends at those bytes has for its own: two blocks never begin in one part unless the first is
/// shorter than that. So a short one has none.
#[inline]
fn part_of_span(page_bytes: u32, (start, end): (u32, u32)) -> Option<u32> {
    let part_bytes = page_bytes.div_ceil(Checked::PARTS).max(1);
    (end.saturating_sub(start) >= part_bytes).then_some(start / part_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_blocks_of_a_page_share_a_part() {
        for page_bytes in [512, 4032, 16_384] {
            for bytes in [1, 7, 8, 63, 64, 65, 255, 256, 300, 512] {
                let spans = (0..page_bytes / bytes).map(|n| (n * bytes, (n + 1) * bytes));
                let parts: Vec<_> = spans.filter_map(|span| part_of_span(page_bytes, span)).collect();
                assert!(parts.is_sorted_by(|a, b| a < b), "{page_bytes} {bytes}: {parts:?}");
                assert!(parts.iter().all(|part| *part < Checked::PARTS), "{page_bytes} {bytes}: {parts:?}");
            }
        }
        assert_eq!(
            [(0, 4096), (256, 600), (300, 556), (300, 555)].map(|span| part_of_span(16_384, span)),
            [Some(0), Some(1), Some(1), None]
        );
    }
}
