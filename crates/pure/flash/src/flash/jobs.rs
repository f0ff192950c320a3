// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations on their way through the timing model, and what they do to the cells when they finish.

use super::Flash;
use crate::nand::Cells;
use crate::nand::timing::Work;
use saker_segment_store::{CellError, Completion, Io, PageAddr, SegmentId, SlotId, Tag};
use saker_sim::Class;

/// What finishes with an operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobKind {
    Read(PageAddr),
    Program {
        tag: Tag,
        at: PageAddr,
        slot: SlotId,
        owner: u16,
    },
    /// `is_synced`: all that was done before it is proof against a crash of the operating system.
    Erase {
        tag: Tag,
        segment: SegmentId,
        owner: u16,
        is_synced: bool,
    },
}

/// Operations on their way, by number. Numbers are used again.
#[derive(Clone, Debug, Default)]
pub(super) struct Jobs {
    running: Vec<Option<JobKind>>,
    free: Vec<u32>,
}

impl Jobs {
    fn add(&mut self, kind: JobKind) -> u32 {
        let job = self.free.pop().unwrap_or_else(|| {
            self.running.push(None);
            self.running.len() as u32 - 1
        });
        self.running[job as usize] = Some(kind);
        job
    }

    /// An operation is over.
    pub fn remove(&mut self, job: u32) -> JobKind {
        self.free.push(job);
        self.running[job as usize].take().expect("a running job")
    }

    /// All that are on their way.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &JobKind)> {
        self.running.iter().enumerate().filter_map(|(job, kind)| Some((job as u32, kind.as_ref()?)))
    }
}

impl Flash {
    pub(super) fn start(&mut self, kind: JobKind, work: Work, class: Class) {
        let extra = self.faults.spike();
        let job = self.jobs.add(kind);
        let model = self.model.as_mut().expect("jobs exist only with a model");
        model.submit(self.now, job, work, class, extra);
    }

    pub(super) fn finish(&mut self, kind: JobKind) {
        match kind {
            JobKind::Read(page) => {
                self.stats.pages_read += u64::from(self.nand);
                self.reads.arrive(page);
            }
            JobKind::Program { .. } => self.finish_or_hold(kind),
            JobKind::Erase { tag, segment, owner, .. } => self.finish_erase(tag, segment, owner),
        }
    }

    /// Programs a slot's content. Only an error of the cells themselves spends the page.
    pub(super) fn program_cells(&mut self, at: PageAddr, slot: SlotId) -> Result<(), CellError> {
        self.reads.outdate(at);
        if self.faults.program_fails() {
            self.spend_page(at);
            return Err(CellError::Program);
        }
        let result = self.media.program(at, self.page_buffer.data(slot), self.page_buffer.oob(slot));
        match result {
            Ok(()) => self.stats.pages_programmed += u64::from(self.nand),
            Err(error) if error.is_of_host() => {}
            Err(_) => self.spend_page(at),
        }
        result
    }

    /// The program of a page failed for good.
    pub(super) fn spend_page(&mut self, at: PageAddr) {
        self.stats.pages_programmed += u64::from(self.nand);
        self.media.tear(at);
        self.stats.failures += 1;
    }

    pub(super) fn erase_cells(
        &mut self,
        segment: SegmentId,
        owner: u16,
        is_synced: bool,
    ) -> Result<(), CellError> {
        let (luns, geometry) = (self.shape.luns as usize, self.shape.geometry);
        (0..geometry.segment_pages).for_each(|index| self.reads.outdate(geometry.page(segment, index)));
        self.programmed[segment.0 as usize * luns..][..luns].fill(0);
        let result = if self.faults.erase_fails() {
            Err(CellError::Erase)
        } else if is_synced || self.media.erasing().contains(&owner) {
            self.media.erase_unordered(segment)
        } else {
            self.erase_after_sync(segment)
        };
        if !result.is_err_and(CellError::is_of_host) {
            self.stats.segments_erased += u64::from(self.nand);
            self.stats.failures += u64::from(result.is_err());
        }
        self.or_scrapped(segment, owner, result)
    }

    fn erase_after_sync(&mut self, segment: SegmentId) -> Result<(), CellError> {
        if self.media.erase_needs_sync() {
            self.sync_and_cover()?;
        }
        self.media.erase(segment)
    }

    #[inline]
    pub(super) fn complete(&mut self, owner: u16, tag: Tag, io: Io, result: Result<(), CellError>) {
        self.outstanding.remove(&tag);
        self.completions.push_back((owner, Completion { tag, io, result }));
        if self.ordered.ended(owner, tag) {
            self.begin_waiting();
        }
        if self.page_buffer.free_slots() < usize::from(self.page_buffer.slots()) / 4
            && self.page_buffer.cooling() > 0
        {
            self.cool_soon();
        }
    }

    pub(super) fn sync_media(&mut self) -> Result<(), CellError> {
        let cooling = self.page_buffer.cooling();
        self.media.sync()?;
        self.page_buffer.cooled(cooling);
        self.syncs.none_cools();
        Ok(())
    }

    /// A sync that somebody relies on, for what is in the page buffer too.
    pub(super) fn sync_and_cover(&mut self) -> Result<(), CellError> {
        self.page_buffer.mark();
        self.sync_media()?;
        self.page_buffer.cover();
        Ok(())
    }

    /// Syncs if released slots wait for that. Returns whether slots are free now that were not.
    pub fn cool(&mut self) -> bool {
        self.page_buffer.cooling() > 0 && self.sync_media().is_ok()
    }
}
