// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Syncs that go on beside the device.
//!
//! Where the cells are a file, a sync takes milliseconds. Such cells can have it made by a thread of their own ([`Cells::begin_sync`]), and commands go
//! on meanwhile. One sync is on its way at a time. It covers what was done before it began, so whoever asks meanwhile waits for the next one, which
//! begins when this one has ended. Flushes, syncs of engines and erases wait: copies last before their originals go. So do released slots of
//! the page buffer.
//!
//! What is in the page buffer counts as vouched for from the beginning of a sync on: a slot that is released before its end may be the only place
//! where what the sync covers is on the disk.

use super::Flash;
use super::jobs::JobKind;
use crate::nand::Cells;
use saker_segment_store::{CellError, Io, SegmentId, Tag};
use std::collections::VecDeque;

/// Which sync: they are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SyncNumber(u64);

#[derive(Clone, Copy, Debug)]
enum Waiting {
    Erase { owner: u16, tag: Tag, segment: SegmentId },
    Sync { owner: u16, tag: Tag },
}

/// What is on its way, and what waits for it.
#[derive(Clone, Debug, Default)]
pub(super) struct Syncs {
    /// There are such syncs.
    are_beside: bool,
    begun: u64,
    ended: u64,
    /// Released slots that waited when the last one began.
    cooling: usize,
    /// Another one is to begin when this one has ended; whether somebody relies on it.
    next: Option<bool>,
    /// In the order of the syncs that they wait for.
    waiting: VecDeque<(u64, Waiting)>,
    /// The first that failed. None later can succeed.
    failed: Option<(u64, CellError)>,
}

impl Syncs {
    /// Whether none is on its way.
    pub fn is_idle(&self) -> bool {
        self.begun == self.ended
    }

    /// A sync that nobody went on beside has freed all slots that waited.
    pub fn none_cools(&mut self) {
        self.cooling = 0;
    }

    /// Whether erases or syncs of an owner wait.
    pub fn has_any_of(&self, of: u16) -> bool {
        self.waiting.iter().any(|(_, waiting)| {
            let (Waiting::Erase { owner, .. } | Waiting::Sync { owner, .. }) = waiting;
            *owner == of
        })
    }

    fn result(&self, number: u64) -> Option<Result<(), CellError>> {
        match self.failed {
            Some((failed, error)) if number >= failed => Some(Err(error)),
            _ => (number <= self.ended).then_some(Ok(())),
        }
    }
}

impl Flash {
    /// Syncs go on beside commands from here on, if the cells have such syncs. Whoever runs the device looks for their ends
    /// ([`Flash::look_for_syncs`]) again and again, also while no operation is on its way.
    pub fn allow_syncs_beside(&mut self) {
        self.syncs.are_beside = self.media.allow_syncs_beside();
    }

    /// Whether they do.
    pub fn has_syncs_beside(&self) -> bool {
        self.syncs.are_beside
    }

    /// A sync of everything so far, page buffer included, beside what is done next.
    pub fn begin_sync(&mut self) -> SyncNumber {
        SyncNumber(self.want_sync(true))
    }

    /// What came of it, if it has ended.
    pub fn sync_result(&self, number: SyncNumber) -> Option<Result<(), CellError>> {
        self.syncs.result(number.0)
    }

    fn want_sync(&mut self, relied_on: bool) -> u64 {
        debug_assert!(self.syncs.are_beside);
        let relied_on = relied_on || self.syncs.next.unwrap_or(false);
        if self.syncs.begun != self.syncs.ended {
            self.syncs.next = Some(relied_on);
            return self.syncs.begun + 1;
        }
        self.syncs.next = None;
        if relied_on {
            self.page_buffer.mark();
            self.page_buffer.cover();
        }
        self.syncs.cooling = self.page_buffer.cooling();
        self.syncs.begun += 1;
        self.media.begin_sync();
        self.syncs.begun
    }

    /// Looks whether the sync on its way has ended; if so, what waited for it goes on, and true.
    #[inline]
    pub fn look_for_syncs(&mut self) -> bool {
        self.syncs.begun != self.syncs.ended && self.end_sync()
    }

    fn end_sync(&mut self) -> bool {
        let Some(result) = self.media.ended_sync() else { return false };
        self.syncs.ended = self.syncs.begun;
        match result {
            Ok(()) => {
                let cooling = std::mem::take(&mut self.syncs.cooling);
                self.page_buffer.cooled(cooling);
            }
            Err(error) => {
                self.syncs.failed.get_or_insert((self.syncs.ended, error));
            }
        }
        let ended = self.syncs.ended;
        while let Some((_, waiting)) = self.syncs.waiting.pop_front_if(|(number, _)| *number <= ended) {
            self.go_on_after(waiting, result);
        }
        // What was done just now is covered by the next one.
        if self.syncs.begun == ended
            && let Some(relied_on) = self.syncs.next
        {
            self.want_sync(relied_on);
        }
        let nothing_waits = self.syncs.next.is_none() && self.syncs.waiting.is_empty();
        debug_assert!(!self.syncs.is_idle() || nothing_waits, "what waits has a sync that will end");
        true
    }

    fn go_on_after(&mut self, waiting: Waiting, result: Result<(), CellError>) {
        match waiting {
            Waiting::Sync { owner, tag } => self.complete(owner, tag, Io::Sync, result),
            Waiting::Erase { owner, tag, segment } => {
                let job = JobKind::Erase { tag, segment, owner, is_synced: result.is_ok() };
                match result {
                    Ok(()) => self.finish_or_hold(job),
                    Err(error) => self.fail_or_hold(job, error),
                }
            }
        }
    }

    /// The time of an erase is over. It happens when what was done before lasts.
    pub(super) fn finish_erase(&mut self, tag: Tag, segment: SegmentId, owner: u16) {
        let is_ordered = !self.media.erasing().contains(&owner);
        if self.syncs.are_beside && is_ordered && self.media.erase_needs_sync() {
            self.wait_for_sync(tag, Waiting::Erase { owner, tag, segment });
        } else {
            self.finish_or_hold(JobKind::Erase { tag, segment, owner, is_synced: false });
        }
    }

    /// A sync that an owner is told of.
    pub(super) fn sync_beside(&mut self, owner: u16) -> Tag {
        let tag = self.tag();
        self.wait_for_sync(tag, Waiting::Sync { owner, tag });
        tag
    }

    fn wait_for_sync(&mut self, tag: Tag, waiting: Waiting) {
        // Without times it is not outstanding yet.
        self.outstanding.insert(tag);
        let number = self.want_sync(true);
        self.syncs.waiting.push_back((number, waiting));
    }

    /// The same, which has ended when this returns.
    pub fn sync_now(&mut self, owner: u16) -> Tag {
        let tag = self.tag();
        let result = self.sync_and_cover();
        self.complete(owner, tag, Io::Sync, result);
        tag
    }

    /// Released slots should be free soon.
    pub(super) fn cool_soon(&mut self) {
        if !self.syncs.are_beside {
            // A failure is found by whoever relies on a sync.
            let _ = self.sync_media();
        } else if self.syncs.is_idle() {
            self.want_sync(false);
        }
    }
}
