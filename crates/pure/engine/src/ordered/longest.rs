// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The longest record that a collection may have to copy: what a segment can lose at its end follows from it, and the
//! capacity from that.
//!
//! Entries are not counted by their length: a bound is kept, which what is written raises. When something as long was
//! replaced or deleted, or the store was opened, the bound may be too high. It is found out before a pair is refused,
//! once all is merged: the pairs are walked over, as a scan does, until one is met that is as long as the bound. What
//! only a snapshot sees is not copied and does not count. Manifests tell the bound as it was at their cut, so that what
//! is missing of the log behind it cannot matter.
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

use super::Store;
use super::background::Piece;
use super::inside::Inside;
use super::key::{Entry, Key};
use super::structure::{Content, Structure, Visited};
use saker_engine_api::Background;
use saker_log::Segment;
use saker_segment_store::{SegmentId, SegmentStore, Step, ready};
use saker_sim::Meter;
use saker_value_log::record::record_bytes;
use std::ops::Bound;

/// Entries that a piece of the walk looks at.
const QUANTUM_ENTRIES: u32 = 256;
/// A record that is a smaller part of a segment costs too little to be looked for.
const SMALL_PART: u64 = 128;

/// No record is taken for shorter.
fn floor() -> u32 {
    record_bytes(16, 256)
}

/// What is known of the longest record.
#[derive(Clone, Copy, Debug)]
pub struct Longest {
    /// No record that collections copy has more bytes.
    bytes: u32,
    /// The same at the cut of the running manifest.
    at_cut: u32,
    /// Something as long is not needed any more.
    may_fall: bool,
    walk: Option<Walk>,
}

/// Looking at all pairs.
#[derive(Clone, Copy, Debug)]
struct Walk {
    from: Bound<Key>,
    /// The longest so far, those included that were written meanwhile.
    found: u32,
}

impl Default for Longest {
    fn default() -> Self {
        Self { bytes: floor(), at_cut: floor(), may_fall: false, walk: None }
    }
}

impl Longest {
    /// Bytes of it at most.
    pub fn bytes(&self) -> u32 {
        self.bytes
    }

    /// The same for what was written before the cut of the running manifest.
    pub fn at_cut(&self) -> u32 {
        self.at_cut
    }

    /// A manifest begins.
    pub(super) fn cut(&mut self) {
        self.at_cut = self.bytes;
    }

    /// There is a record of that length, or may be one.
    pub fn know(&mut self, bytes: u32) {
        self.bytes = self.bytes.max(bytes);
        if let Some(walk) = &mut self.walk {
            walk.found = walk.found.max(bytes);
        }
    }

    /// It is only a bound: a store that was opened does not know whether such a record is still there.
    pub(super) fn is_told(&mut self) {
        self.may_fall = true;
    }

    /// A record of that length was replaced or deleted.
    #[inline]
    pub fn forget(&mut self, bytes: u32) {
        self.may_fall |= bytes >= self.bytes;
    }

    /// Whether pairs are being looked at.
    pub(super) fn is_walking(&self) -> bool {
        self.walk.is_some()
    }

    fn begin_walk(&mut self) {
        self.may_fall = false;
        self.walk = Some(Walk { from: Bound::Unbounded, found: floor() });
    }
}

impl<S: Structure> Store<S> {
    /// An entry leads to a record that collections may copy.
    pub(super) fn know_record(&mut self, id: SegmentId, e: &Entry) {
        self.longest.know(e.addr.record_bytes());
        self.log.note_length(id, e.addr.record_bytes());
    }

    /// An entry is no longer the newest of its key.
    #[inline]
    pub(crate) fn forget_record(&mut self, e: &Entry) {
        if !e.is_tombstone() {
            self.longest.forget(e.addr.record_bytes());
        }
    }

    /// Bytes that the copies of a segment's records can leave unused.
    pub(crate) fn lost_by(&self, segment: &Segment) -> u64 {
        self.lost_in_segment(segment.longest.max(floor()).min(self.longest.bytes))
    }

    /// Begins to look for the longest record, if a shorter one would let more in. All is merged.
    pub(super) fn look_for_longest<M: SegmentStore>(&mut self, m: &M) -> bool {
        let begins = self.may_look_for_longest(0, m);
        if begins {
            self.longest.begin_walk();
        }
        begins
    }

    /// Whether a shorter one would let so many bytes in, and there may be none as long.
    pub(super) fn may_look_for_longest<M: SegmentStore>(&self, bytes: u64, m: &M) -> bool {
        let is_long = u64::from(self.longest.bytes) > self.log.geometry().segment_bytes() / SMALL_PART;
        let may_help = || {
            let content = Content { longest: floor(), ..self.content_with(1, Inside::NONE, 0) };
            S::capacity_for(self, &content, m) > self.content_bytes() + bytes
        };
        self.longest.may_fall && is_long && may_help()
    }

    /// A piece of the walk over all pairs.
    pub(super) fn walk_step<M: SegmentStore, W: Meter>(&mut self, m: &M, w: &mut W) -> Piece {
        let Some(Walk { from, mut found }) = self.longest.walk else {
            return Step::Done(Ok(Background::Idle));
        };
        let (bound, mut left, mut last) = (self.longest.bytes, QUANTUM_ENTRIES, None);
        let visit = |e: &Entry, _: &[u8]| {
            found = found.max(e.addr.record_bytes());
            (left, last) = (left - 1, Some(e.key));
            left > 0 && found < bound
        };
        let (stopped, _) = ready!(S::visit(self, Visited::keys_from(from), None, visit, m, w));
        self.longest.walk = match (stopped, last) {
            (Ok(true), Some(key)) if found < bound => Some(Walk { from: Bound::Excluded(key), found }),
            // What cannot be read is found out by who reads it; the bound stays.
            (Err(_), _) => None,
            _ => {
                self.longest.bytes = found;
                None
            }
        };
        Step::Done(Ok(Background::Worked))
    }
}
