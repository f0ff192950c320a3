// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A tree that is written anew as a whole lies close: the manifest behind it frees all segments that its nodes were in before.
//!
//! A merge that changes some leaves leaves holes where these were, and a hole frees no segment. Moving the nodes of one segment can take more
//! pages than it frees, since each node that moves changes all above it. So room for the whole tree is kept free
//! ([`super::TreeStore::merge_segments`]), and what takes part of that room changes the whole tree.

use super::TreeStore;
use super::merge::Job;
use super::reserve::FOR_NODES;
use saker_engine_api::{Background, Engine};
use saker_log::SegmentState;
use saker_segment_store::{SegmentId, SegmentStore, Stream};

/// Segments that the nodes of one take at most that is emptied, with all above them: at least half of it is not needed.
pub(super) const MOVED_SEGMENTS: u32 = 2;
/// Segments that are lost to nodes at least before the whole tree is written anew: the open one, and one more.
const LOST_SEGMENTS_MIN: u64 = 2;

/// Whether a store was opened with less room than the whole tree takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Crowd {
    /// Background work has not come to rest since it was opened.
    #[default]
    Unknown,
    /// It was: what changes must do, as long as there is no more.
    Is,
    /// It was not, or has room now: it keeps it.
    IsNot,
}

impl TreeStore {
    /// Whether there is room for the whole tree, and for so many segments besides, when what is being erased is free.
    pub(super) fn has_room_for_all<M: SegmentStore>(&self, besides: u32, m: &M) -> bool {
        let (all, left) = (self.segments_of_all(), FOR_NODES.segments + self.manifest_left());
        let (free, needed) = (m.free_segments(), all + left + besides);
        // All segments are looked at only where the free ones do not suffice.
        free > needed || free + self.erased() > needed
    }

    /// Segments that are being erased.
    fn erased(&self) -> u32 {
        let segments = (0..self.log.geometry().segments).map(|n| self.log.segment(SegmentId(n)));
        segments.filter(|s| s.state == SegmentState::Releasing).count() as u32
    }

    /// Nothing else goes on: whether a store that was opened has room for the whole tree. One that an earlier version filled, or that has lost
    /// segments, may never have it.
    fn look_for_crowd<M: SegmentStore>(&mut self, m: &M) {
        let is_crowded =
            || !self.has_room_for_all(0, m) && self.content_bytes() > Engine::capacity_bytes(self, m);
        self.own.crowd = match self.own.crowd {
            Crowd::Unknown | Crowd::Is if is_crowded() => Crowd::Is,
            _ => Crowd::IsNot,
        };
    }

    /// Whether a merge of what is in the buffers would take of the room for the whole tree. What snapshots hold stays where it is, so beside them
    /// nothing would be gained.
    pub(super) fn is_tight<M: SegmentStore>(&self, m: &M) -> bool {
        !self.own.has_held() && !self.has_room_for_all(self.segments_of_merge(), m)
    }

    /// Whether a merge that begins is to write every node anew.
    pub(super) fn must_write_all<M: SegmentStore>(&self, m: &M) -> bool {
        self.is_tight(m) && self.has_room_for_all(0, m)
    }

    /// Room is short and nothing else goes on: the whole tree is written anew, if its nodes have segments that they would not need.
    pub(super) fn pack_step<M: SegmentStore>(&mut self, m: &mut M) -> Background {
        let is_quiet = self.own.job.is_none() && self.own.imm.is_none();
        let waits = self.manifest.is_running() || self.manifest.wanted;
        if !is_quiet || waits || self.own.has_held() {
            return Background::Idle;
        }
        if self.own.crowd != Crowd::IsNot && self.log.releasing() == 0 {
            self.look_for_crowd(m);
        }
        if !self.is_pressed(m) {
            return Background::Idle;
        }
        if self.mem.is_empty() && self.manifest_helps() {
            self.manifest.wanted = true;
            return Background::Worked;
        }
        if self.lost_segments() < LOST_SEGMENTS_MIN || !self.has_room_for_all(0, m) {
            return Background::Idle;
        }
        if !self.mem.is_empty() {
            return self.begin_manifest(m);
        }
        let job = Job::moving(self.own.tree, self.log.next_sequence(), Vec::new());
        self.own.job = Some(job.of_all().resting());
        Background::Worked
    }

    /// Segments with nodes that nodes would not need if they lay one behind the other.
    fn lost_segments(&self) -> u64 {
        let segments = (0..self.log.geometry().segments).map(|n| self.log.segment(SegmentId(n)));
        let has_nodes = |state| matches!(state, SegmentState::Open | SegmentState::Closed);
        let held = segments.filter(|s| has_nodes(s.state) && s.stream() == Stream::Table).count() as u64;
        held.saturating_sub(self.own.tree.pages.div_ceil(self.log.geometry().segment_pages.into()))
    }
}
