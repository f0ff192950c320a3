// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a log knows about one of its segments.

use saker_segment_store::{SlotId, Stream, Tag};

/// The life of a segment, seen from its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SegmentState {
    /// Not this owner's.
    #[default]
    Absent,
    /// A stream appends to it.
    Open,
    /// Full or closed.
    Closed,
    /// Nothing in it is needed; waits until its copies are safe, then for the erase.
    Releasing,
    /// It holds bytes that cannot be read: never collected, never erased. Its failed pages are repaired as others are.
    Damaged,
}

/// Repairs of a segment that may meet what cannot be read and begin again: a read that fails once may succeed the next time.
const REPAIR_TRIES: u8 = 3;

/// One segment of a log.
#[derive(Clone, Debug, Default)]
pub struct Segment {
    /// Where it is in its life.
    pub state: SegmentState,
    /// The stream it belongs to, as a number.
    pub stream: u8,
    /// A page of it failed: what that holds is to be copied before anything else is collected.
    pub evacuate: bool,
    /// The pages that failed. Their content is in the page buffer.
    pub(crate) failed_pages: Vec<u32>,
    /// Repairs of it that met what could not be read.
    broken_repairs: u8,
    /// The first program of it that failed; what that page held is not known to be elsewhere on the medium.
    pub(crate) failed: Option<Tag>,
    /// The next page to open.
    pub next_page: u32,
    /// Programs not finished.
    pub in_flight: u32,
    /// Bytes its owner still needs.
    pub live_bytes: u64,
    /// Live bytes that only the next checkpoint frees (tombstones), by age: since / before the running cut.
    pub until_checkpoint: [u64; 2],
    /// Bytes of the longest record in it that its owner told of and that a collection may have to copy.
    pub longest: u32,
    /// Slot + 1 of each page that is in the page buffer; empty when none is.
    slots: Vec<u16>,
}

impl Segment {
    /// The slot that holds a page of this segment.
    #[inline]
    pub fn slot(&self, index: u32) -> Option<SlotId> {
        self.slots.get(index as usize).and_then(|s| s.checked_sub(1)).map(SlotId)
    }

    /// Whether failed pages of it are to be copied.
    pub(crate) fn awaits_repair(&self) -> bool {
        self.evacuate && self.can_be_repaired()
    }

    /// Whether what is on failed pages of it may be needed.
    pub(crate) fn can_be_repaired(&self) -> bool {
        matches!(self.state, SegmentState::Open | SegmentState::Closed | SegmentState::Damaged)
    }

    /// A repair met what could not be read. Whether another one is to try again.
    pub(crate) fn tries_repair_again(&mut self) -> bool {
        self.broken_repairs = self.broken_repairs.saturating_add(1);
        self.broken_repairs < REPAIR_TRIES
    }

    /// Whether collections are to copy failed pages of it: those of tables are written anew, of checkpoints given up.
    pub(crate) fn is_repaired_by_collections(&self) -> bool {
        !matches!(self.stream(), Stream::Checkpoint | Stream::Table) && self.awaits_repair()
    }

    /// The pages of it whose program failed, and whose content is only in the page buffer.
    pub fn failed_pages(&self) -> &[u32] {
        &self.failed_pages
    }

    /// Whether a program of it failed and its content is only in the page buffer.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(crate) fn set_slot(&mut self, index: u32, slot: SlotId, pages: u32) {
        if self.slots.is_empty() {
            self.slots = vec![0; pages as usize];
        }
        self.slots[index as usize] = slot.0 + 1;
    }

    pub(crate) fn clear_slot(&mut self, index: u32) {
        if let Some(s) = self.slots.get_mut(index as usize) {
            *s = 0;
        }
        if self.state != SegmentState::Open && self.slots.iter().all(|s| *s == 0) {
            self.slots = Vec::new();
        }
    }

    /// Its slots, which are others' from now on.
    pub(crate) fn take_slots(&mut self) -> impl Iterator<Item = SlotId> + use<> {
        std::mem::take(&mut self.slots).into_iter().filter_map(|s| s.checked_sub(1)).map(SlotId)
    }

    /// The stream it belongs to.
    pub fn stream(&self) -> Stream {
        Stream::from_u8(self.stream).expect("set from a Stream")
    }
}
