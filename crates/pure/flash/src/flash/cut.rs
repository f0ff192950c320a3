//! A planned power cut: what is left of operations in flight.

use super::Flash;
use super::jobs::JobKind;
use crate::nand::{Media, MemMedia, PowerCut};
use saker_medium::planted::{self, Fault};
use saker_medium::{PageAddr, Ring, SegmentId, SlotId};
use saker_sim::Seed;

impl Flash {
    /// What is left after power is cut now: each operation in flight is, independently, done, torn or undone;
    /// the ring is there only with a capacitor.
    ///
    /// # Panics
    /// When the cells are not in memory: power is cut there in earnest only.
    pub fn cut(&self, cut: PowerCut) -> (MemMedia, Ring) {
        let cells: Option<&MemMedia> = self.media.get();
        let mut media = cells.expect("cells in memory, as planned cuts need them").clone();
        let mut ring = self.ring.clone();
        let mut rng = Seed(cut.seed).child("cut").rng();
        for (job, kind) in self.jobs.iter() {
            let started = self.model.as_ref().is_some_and(|m| m.has_started(job));
            let fate = rng.below(3);
            match *kind {
                JobKind::Program { at, slot, .. } if started && fate == 0 => {
                    let _ = media.program(at, ring.data(slot), ring.oob(slot));
                }
                JobKind::Program { at, slot, .. } if started && fate == 1 => {
                    tear(&mut media, at, &ring, slot)
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
            ring.lose();
        }
        (media, ring)
    }
}

fn tear(media: &mut MemMedia, at: PageAddr, ring: &Ring, slot: SlotId) {
    if planted::is(Fault::TornPagesPass) {
        let mut data = ring.data(slot).to_vec();
        let middle = data.len() / 2;
        data[middle] ^= 1;
        let _ = media.program(at, &data, ring.oob(slot));
        return;
    }
    media.tear(at);
}

/// An interrupted erase leaves each page as it was or unreadable.
fn tear_some(media: &mut MemMedia, segment: SegmentId, rng: &mut saker_sim::Rng) {
    let geometry = media.shape().geometry;
    for index in 0..media.written_pages(segment) {
        if rng.below(2) == 0 {
            media.tear(geometry.page(segment, index));
        }
    }
}
