// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A planned power cut: what is left of operations in flight.

use super::Flash;
use super::jobs::JobKind;
use crate::nand::{Cells, MemCells, PowerCut};
use saker_segment_store::planted::{self, Fault};
use saker_segment_store::{PageAddr, PageBuffer, SegmentId, SlotId};
use saker_sim::Seed;

impl Flash {
    /// What is left after power is cut now: each operation in flight is, independently, done, torn or undone;
    /// the page buffer is there only with a capacitor.
    ///
    /// # Panics
    /// When the cells are not in memory: power is cut there in earnest only.
    pub fn cut(&self, cut: PowerCut) -> (MemCells, PageBuffer) {
        let cells: Option<&MemCells> = self.media.get();
        let mut media = cells.expect("cells in memory, as planned cuts need them").clone();
        let mut page_buffer = self.page_buffer.clone();
        let mut rng = Seed(cut.seed).child("cut").rng();
        for (job, kind) in self.jobs.iter() {
            let started = self.model.as_ref().is_some_and(|m| m.has_started(job));
            let fate = rng.below(3);
            match *kind {
                JobKind::Program { at, slot, .. } if started && fate == 0 => {
                    let _ = media.program(at, page_buffer.data(slot), page_buffer.oob(slot));
                }
                JobKind::Program { at, slot, .. } if started && fate == 1 => {
                    tear(&mut media, at, &page_buffer, slot)
                }
                JobKind::Erase { segment, .. } if started && fate == 0 => {
                    let _ = media.erase(segment);
                }
                JobKind::Erase { segment, .. } if started && fate == 1 => {
                    tear_some(&mut media, segment, &mut rng)
                }
                _ => {}
            }
        }
        if !cut.ring_kept {
            page_buffer.lose();
        }
        (media, page_buffer)
    }
}

fn tear(media: &mut MemCells, at: PageAddr, page_buffer: &PageBuffer, slot: SlotId) {
    if planted::is(Fault::TornPagesPass) {
        let mut data = page_buffer.data(slot).to_vec();
        let middle = data.len() / 2;
        data[middle] ^= 1;
        let _ = media.program(at, &data, page_buffer.oob(slot));
        return;
    }
    media.tear(at);
}

/// An interrupted erase leaves each page as it was or unreadable.
fn tear_some(media: &mut MemCells, segment: SegmentId, rng: &mut saker_sim::Rng) {
    let geometry = media.shape().geometry;
    for index in 0..media.written_pages(segment) {
        if rng.below(2) == 0 {
            media.tear(geometry.page(segment, index));
        }
    }
}
