// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The erasure of everything that owners have (Format NVM), which happens wholly or not at all.
//!
//! The media keep the owners' names before the first of their pages goes, and forget them when all are gone and that is
//! proof against whatever happens: until then, whoever powers the flash on finds the names and begins again, before anybody
//! reads. So the moment at which the names are kept is the moment of the erasure.

use super::Flash;
use super::jobs::JobKind;
use crate::nand::Cells;
use saker_segment_store::{CellError, SegmentId, SegmentStore, SlotId};
use saker_sim::Class;
use std::collections::BTreeSet;

impl Flash {
    /// Owners whose erasure has begun, perhaps in an earlier run, and has not ended.
    pub fn erasing(&self) -> &BTreeSet<u16> {
        self.media.erasing()
    }

    /// Whether nothing of an owner is on its way: no program, no erase, no completion that it has not been told of. What the
    /// host's file refused is not on its way.
    pub fn is_quiet_for(&self, owner: u16) -> bool {
        let is_running = |kind: &JobKind| match *kind {
            JobKind::Read(_) => false,
            JobKind::Program { owner: other, .. } | JobKind::Erase { owner: other, .. } => other == owner,
        };
        !self.completions.iter().any(|(other, _)| *other == owner)
            && !self.jobs.iter().any(|(_, kind)| is_running(kind))
            && !self.syncs.has_any_of(owner)
    }

    /// From here on the owners have nothing, whatever happens. Their slots are free, and erases of all that they hold are on
    /// their way; completions tell of them as of others. Only when nothing of them is on its way.
    ///
    /// # Errors
    /// Whether it has begun is not known: nobody may rely on what the owners have. Without power nothing has happened.
    pub fn begin_erasure(&mut self, owners: &[u16]) -> Result<(), CellError> {
        assert!(owners.iter().all(|owner| self.is_quiet_for(*owner)), "nothing of them is on its way");
        let all = self.erasing().iter().chain(owners).copied().collect();
        if self.erasing() != &all {
            if !self.count_operation() {
                return Err(CellError::Erase);
            }
            self.media.set_erasing(all)?;
        }
        owners.iter().try_for_each(|owner| self.erase_all_of(*owner))
    }

    fn erase_all_of(&mut self, owner: u16) -> Result<(), CellError> {
        self.drop_held(owner);
        for slot in (0..self.page_buffer.slots()).map(SlotId) {
            if self.page_buffer.view(slot).is_ok_and(|v| v.is_some_and(|v| v.owner == owner)) {
                self.page_buffer.release(slot);
            }
        }
        for segment in self.abandoned_by(owner) {
            self.media.scrap(segment)?;
        }
        let held: Vec<_> = self.pool.of(owner).collect();
        let mut view = self.view(owner, Class::Background);
        for segment in held {
            view.erase(segment);
        }
        Ok(())
    }

    /// Segments that left the pool because they could not be erased: what is in them would be found at the next power-on.
    fn abandoned_by(&self, owner: u16) -> Vec<SegmentId> {
        let is_its = |id: &SegmentId| {
            let written = self.media.written_pages(*id);
            self.pool.owner(*id) == 0 && written > 0 && self.header_owner(*id, written) == Some(owner)
        };
        (0..self.shape.geometry.segments).map(SegmentId).filter(is_its).collect()
    }

    /// A segment of an owner that is erased as a whole must not be found again, even if its cells cannot be erased.
    ///
    /// # Errors
    /// [`CellError::Erase`]: it cannot be used any more. Any other: what is in it may be found again.
    pub(super) fn or_scrapped(
        &mut self,
        segment: SegmentId,
        owner: u16,
        erased: Result<(), CellError>,
    ) -> Result<(), CellError> {
        if erased == Err(CellError::Erase) && self.media.erasing().contains(&owner) {
            self.media.scrap(segment)?;
        }
        erased
    }

    /// The erasure of these owners is over: everything of them is gone, for good.
    ///
    /// # Errors
    /// It counts as begun for whoever powers the flash on; nobody may rely on what the owners have until then.
    pub fn end_erasure(&mut self, owners: &[u16]) -> Result<(), CellError> {
        let others = self.erasing().iter().filter(|owner| !owners.contains(owner)).copied().collect();
        if !self.count_operation() {
            return Err(CellError::Erase);
        }
        self.sync_and_cover()?;
        self.media.set_erasing(others)
    }
}
