// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs and erases that the host's file refused, because its file system is full or failed.
//!
//! That says nothing of a page: none is spent. A held program keeps its slot, so what it was to write stays readable
//! and power-safe; to its owner it is on its way. It is tried again when somebody waits for it, when an erase has given
//! space back, and now and then ([`Cells::is_worth_trying`]). Programs are held in order: later ones wait behind the
//! first.

use super::Flash;
use super::jobs::JobKind;
use crate::nand::Cells;
use saker_segment_store::{CellError, Io, SegmentId};
use std::collections::VecDeque;

/// Programs that may fail in a row before the others are not tried: one more than a page that is bad by itself.
const FAILED_MAX: u32 = 2;

/// Whose erases nobody waits for: no namespace has this number.
const NOBODY: u16 = 0;

/// What is held, in the order of its submission.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    jobs: VecDeque<JobKind>,
    /// The last refusal.
    why: Option<CellError>,
}

impl Held {
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    fn has_programs(&self) -> bool {
        self.jobs.iter().any(|job| matches!(job, JobKind::Program { .. }))
    }
}

/// What came of trying everything once.
#[derive(Default)]
struct Round {
    ended: bool,
    programmed: bool,
    erased: bool,
    is_full: bool,
    /// Programs that failed otherwise than for want of room.
    failed: u32,
}

impl Round {
    /// Whether this need not be tried: pages are programmed in order, and there is no room or the file fails.
    fn skips(&self, job: &JobKind) -> bool {
        matches!(job, JobKind::Program { .. }) && (self.is_full || self.failed == FAILED_MAX)
    }

    fn note(&mut self, job: &JobKind, result: Result<(), CellError>) {
        let is_program = matches!(job, JobKind::Program { .. });
        match result {
            Ok(()) if is_program => (self.ended, self.programmed) = (true, true),
            Ok(()) => (self.ended, self.erased) = (true, true),
            Err(CellError::HostFull) => self.is_full |= is_program,
            Err(_) => self.failed += u32::from(is_program),
        }
    }
}

impl Flash {
    /// Why operations are held, if any is.
    #[inline]
    pub fn refusal(&self) -> Option<CellError> {
        if self.held.jobs.is_empty() { None } else { self.held.why }
    }

    /// Whether operations wait for the host's file.
    #[inline]
    pub fn is_held(&self) -> bool {
        !self.held.jobs.is_empty()
    }

    /// Whether a sync failed: nothing is written any more.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.media.is_read_only()
    }

    /// Tries what is held, if enough time has passed since it was refused. True if something of it ended.
    pub fn resume_if_due(&mut self) -> bool {
        self.is_held() && self.media.is_worth_trying() && self.resume()
    }

    /// Tries what is held, now. True if something of it ended.
    pub fn resume(&mut self) -> bool {
        let mut any = false;
        while self.powered && self.is_held() {
            let round = self.try_held();
            any |= round.ended;
            // Erases made room for what was refused before them.
            if !(round.erased && round.is_full) {
                break;
            }
        }
        any
    }

    fn try_held(&mut self) -> Round {
        let (mut round, mut refused) = (Round::default(), VecDeque::new());
        for job in std::mem::take(&mut self.held.jobs) {
            if round.skips(&job) {
                refused.push_back((job, false));
                continue;
            }
            let result = self.attempt(job);
            round.note(&job, result);
            if let Err(error) = result {
                self.held.why = Some(error);
                refused.push_back((job, error == CellError::HostIo));
            }
        }
        for (job, failed) in refused {
            match job {
                // Another page could be programmed and this one could not: it is this page that is bad.
                JobKind::Program { tag, at, slot, owner } if failed && round.programmed => {
                    self.spend_page(at);
                    self.complete(owner, tag, Io::Program { at, slot }, Err(CellError::HostIo));
                    round.ended = true;
                }
                _ => self.held.jobs.push_back(job),
            }
        }
        round
    }

    /// Carries an operation out, or holds it.
    pub(super) fn finish_or_hold(&mut self, job: JobKind) {
        if matches!(job, JobKind::Program { .. }) && self.held.has_programs() {
            self.keep(job);
            self.resume_if_due();
            return;
        }
        match self.attempt(job) {
            Err(error) => self.fail_or_hold(job, error),
            Ok(()) if matches!(job, JobKind::Erase { .. }) && self.is_held() => {
                self.resume();
            }
            Ok(()) => {}
        }
    }

    /// Whoever erases an owner as a whole is told of the failure: the next power-on goes on with it.
    pub(super) fn fail_or_hold(&mut self, job: JobKind, error: CellError) {
        match job {
            JobKind::Erase { tag, segment, owner, .. } if self.media.erasing().contains(&owner) => {
                self.complete(owner, tag, Io::Erase(segment), Err(error));
            }
            _ => self.hold(job, error),
        }
    }

    /// Holds an operation that was refused.
    pub(super) fn hold(&mut self, job: JobKind, error: CellError) {
        self.held.why = Some(error);
        self.keep(job);
    }

    /// A segment that nobody has any more is erased when the host's file allows it.
    pub(super) fn erase_later(&mut self, segment: SegmentId, error: CellError) {
        let tag = self.tag();
        self.hold(JobKind::Erase { tag, segment, owner: NOBODY, is_synced: false }, error);
    }

    fn keep(&mut self, job: JobKind) {
        if let JobKind::Program { tag, .. } | JobKind::Erase { tag, .. } = job {
            self.outstanding.insert(tag);
        }
        self.held.jobs.push_back(job);
    }

    /// Carries an operation out; an error of the host says that it is still to be done.
    fn attempt(&mut self, job: JobKind) -> Result<(), CellError> {
        let (owner, tag, io, result) = match job {
            JobKind::Program { tag, at, slot, owner } => {
                (owner, tag, Io::Program { at, slot }, self.program_cells(at, slot))
            }
            JobKind::Erase { tag, segment, owner, is_synced } => {
                (owner, tag, Io::Erase(segment), self.erase_cells(segment, owner, is_synced))
            }
            JobKind::Read(_) => unreachable!("reads are not held"),
        };
        match result {
            Err(error) if error.is_of_host() => Err(error),
            result => {
                self.complete(owner, tag, io, result);
                Ok(())
            }
        }
    }

    /// What is held of an owner is not needed any more; its slots are given back elsewhere, its segments erased.
    pub(super) fn drop_held(&mut self, dropped: u16) {
        let outstanding = &mut self.outstanding;
        for tag in self.ordered.drop_all(dropped) {
            outstanding.remove(&tag);
        }
        self.held.jobs.retain(|job| match job {
            JobKind::Program { tag, owner, .. } | JobKind::Erase { tag, owner, .. } if *owner == dropped => {
                outstanding.remove(tag);
                false
            }
            _ => true,
        });
    }
}

#[cfg(test)]
mod tests;
