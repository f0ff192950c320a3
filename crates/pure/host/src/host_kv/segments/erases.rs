// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Erases on a device whose write cache a power cut takes.
//!
//! A deallocation must not outlive what made it right: the copies of what was needed there, or the checkpoint that does not need it. So
//! a Flush goes before it. Nor may a cut undo it once the segment is in use again, since pages of its earlier life would lie among new
//! ones. So a Flush follows, and the segment is free after that. One Flush serves all that wait for either.

use saker_segment_store::{SegmentId, Tag};

/// A segment that is erased, and for whom: without a tag it is the medium itself that asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Erase {
    pub tag: Option<Tag>,
    pub segment: SegmentId,
}

/// What a Flush was sent for.
#[derive(Debug, Default)]
pub(super) struct Covered {
    /// To be deallocated when it has ended.
    pub written: Vec<Erase>,
    /// Free when it has ended.
    pub deallocated: Vec<Erase>,
}

/// Erases that wait for a Flush.
#[derive(Debug, Default)]
pub(super) struct Erases {
    waiting: Covered,
    on_way: Option<Covered>,
}

impl Erases {
    /// A segment is to be deallocated.
    pub fn ask(&mut self, erase: Erase) {
        self.waiting.written.push(erase);
    }

    /// A segment has been deallocated.
    pub fn deallocated(&mut self, erase: Erase) {
        self.waiting.deallocated.push(erase);
    }

    /// Whether a Flush is to be sent now. It is for all that wait so far; who comes later waits for the next.
    pub fn wants_flush(&mut self) -> bool {
        let waits = !self.waiting.written.is_empty() || !self.waiting.deallocated.is_empty();
        let wants = waits && self.on_way.is_none();
        if wants {
            self.on_way = Some(std::mem::take(&mut self.waiting));
        }
        wants
    }

    /// The Flush has ended.
    pub fn flushed(&mut self) -> Covered {
        self.on_way.take().unwrap_or_default()
    }
}
