// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is on a block namespace when it is opened.
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

use super::erases::Erase;
use super::{BlockSegments, Request, Whose};
use saker_segment_store::header::page_crc;
use saker_segment_store::{Page, PageAddr, PageHeader, SegmentId, SegmentStore, SegmentView};

/// What a page is found to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Erased,
    /// A cut has left some of its blocks.
    Torn,
    /// Whole, or not to be read.
    Other,
}

impl BlockSegments {
    /// Looks at the pages of every segment to learn which hold data, and which a cut has torn: a page is several
    /// blocks, and only a block is written as a whole. `wait` lets the device make progress.
    ///
    /// All pages are looked at. They are programmed in order, but a cut can lose any of those that no Flush has covered, and what was
    /// overlooked would be there beside pages of the segment's next life.
    pub fn survey_device(&mut self, wait: &mut impl FnMut()) {
        if self.queue.is_volatile() {
            // The last run may have ended without power being cut. What is found is relied on from here on.
            let tag = self.tag();
            self.start(Request::Sync { tag });
            self.wait_until(wait, |m| m.finished() >= tag);
        }
        for n in 0..self.geometry.segments {
            self.survey_segment(SegmentId(n), wait);
        }
        self.flush_for_erases();
    }

    fn wait_until(&mut self, wait: &mut impl FnMut(), is_over: impl Fn(&Self) -> bool) {
        while !is_over(self) {
            self.queue.ring();
            wait();
            self.poll();
        }
    }

    fn survey_segment(&mut self, id: SegmentId, wait: &mut impl FnMut()) {
        let pages: Vec<_> = (0..self.geometry.segment_pages).map(|n| self.geometry.page(id, n)).collect();
        self.bring(&pages, Whose::Background);
        self.wait_until(wait, |m| m.all_here(&pages));
        let found: Vec<_> = pages.iter().map(|at| self.found_page(*at)).collect();
        self.release_pages(&pages);
        let torn = pages.iter().zip(&found).filter(|(_, found)| **found == Found::Torn);
        self.torn.extend(torn.map(|(at, _)| *at));
        let written_pages =
            found.iter().rposition(|found| *found != Found::Erased).map_or(0, |n| n + 1) as u32;
        self.note_written(id, written_pages);
        if written_pages == 0 {
            self.free.insert(id);
        } else if found.contains(&Found::Other) {
            self.found.push(SegmentView { id, written_pages });
        } else {
            // Nobody can tell whose it is, and nobody can need it.
            self.erase_for(Erase { tag: None, segment: id });
        }
    }

    fn found_page(&self, at: PageAddr) -> Found {
        match self.page(at) {
            Page::Erased => Found::Erased,
            Page::Resident { data, oob } if !is_whole(at, data, oob) => Found::Torn,
            Page::Resident { .. } | Page::Absent | Page::Torn | Page::Failed => Found::Other,
        }
    }
}

fn is_whole(at: PageAddr, data: &[u8], oob: &[u8]) -> bool {
    let header = PageHeader::decode(oob, at).ok().flatten();
    header.is_some_and(|h| h.data_crc == page_crc(data, PageHeader::owner_oob(oob)))
}
