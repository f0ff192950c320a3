// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Operations that wait.

use super::full::Full;
use super::scan::Scanning;
use super::turns::Turn;
use super::{HostKv, Op, Ticket};
use saker_engine::WriteCondition;
use saker_segment_store::{CellError, Completion, Io, PageAddr, Tag};

/// An operation that waits.
pub(super) struct Parked {
    pub ticket: Ticket,
    pub op: Op,
    pub pages: Vec<PageAddr>,
    /// The last try asked for them.
    pub asked: bool,
    /// A Flush: the tag that must have finished, and then that of its sync.
    pub after: Option<Tag>,
    pub synced: Option<Tag>,
    /// Why the device could not flush.
    pub failed: Option<CellError>,
    /// How far a scan is.
    pub scanning: Option<Box<Scanning>>,
    pub turn: Turn,
    /// A write that found no room.
    pub full: Full,
    /// The period without writes in which it was counted last.
    pub counted: u32,
    /// The condition in which it was refused last, if writes were stopped.
    pub stopped: WriteCondition,
    /// It is given back when writes are stopped.
    pub escapes: bool,
    /// It is to be given back.
    pub was_stopped: bool,
}

impl Parked {
    /// One that was not tried yet.
    pub fn new(ticket: Ticket, op: Op) -> Self {
        let (after, synced, failed) = (None, None, None);
        Self {
            ticket,
            op,
            pages: Vec::new(),
            asked: false,
            after,
            synced,
            failed,
            scanning: None,
            turn: Turn::None,
            full: Full::default(),
            counted: 0,
            stopped: WriteCondition::Normal,
            escapes: false,
            was_stopped: false,
        }
    }
}

impl HostKv {
    /// Whoever waits for a Flush that has failed is told.
    pub(super) fn note_failed_sync(&mut self, done: &Completion) {
        let (Io::Sync, Err(why)) = (done.io, done.result) else { return };
        let waiting = self.parked.iter_mut().filter(|parked| parked.synced == Some(done.tag));
        waiting.for_each(|parked| parked.failed = Some(why));
    }
}
