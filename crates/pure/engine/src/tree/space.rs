// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room that nodes take, and that replacing them needs.

use super::TreeStore;
use super::pack::Crowd;
use super::reserve::SPARE_SEGMENTS;
use crate::ordered::key::Entry;
use crate::ordered::reserve::MANIFESTS;
use saker_log::reserve::FOR_COPIES;
use saker_segment_store::SegmentStore;

/// Bytes of an entry in a leaf.
const ENTRY_BYTES: u64 = Entry::FIXED_BYTES as u64 + 16;

impl TreeStore {
    /// Kept back: the spare segments, two manifests, the tree and as much for what replaces it.
    pub(super) fn capacity_for<M: SegmentStore>(&self, entries: u64, longest: u32, m: &M) -> u64 {
        // Nodes that were split are half full; most are fuller.
        let nodes = (entries * ENTRY_BYTES * 3 / 2).max(self.own.tree.pages * self.page_bytes());
        let held = self.own.pins.nodes() * self.page_bytes();
        self.fill(
            SPARE_SEGMENTS + MANIFESTS * (FOR_COPIES.segments + self.whole_manifest_segments()),
            nodes + nodes.max(held),
            longest,
            m,
        )
    }

    /// Pages that merging so many updates writes at most, if the tree is large: each meets a leaf of its own, with all above it
    /// and a neighbour.
    fn pages_of(&self, updates: u64) -> u64 {
        2 * updates * u64::from(self.own.tree.height.max(1)) + 2
    }

    /// Segments that a merge of the buffers takes before it gives any back: those of the whole tree, and what a merge that goes on will
    /// still write. Where snapshots see parts of the buffers each has a root of its own. Where there was no room for the whole tree when the
    /// store was opened, as earlier versions left it, it is only what changes.
    pub(super) fn merge_segments(&self) -> u32 {
        if self.own.has_held() || self.own.crowd == Crowd::Is {
            return self
                .segments(self.pages_of_rounds().min(self.pages_of(self.buffered()) + self.new_pages()));
        }
        let goes_on = self.own.job.as_ref().map_or(0, |job| job.pages_left());
        self.segments_of_all() + self.segments(goes_on)
    }

    /// Pages that so many roots write as snapshots see parts of the buffers.
    fn pages_of_rounds(&self) -> u64 {
        let first = self.own.imm.as_ref().map_or(self.own.mem_first, |imm| imm.first);
        let rounds = self.own.pins.snapshots.iter().filter(|held| held.version + 1 >= first).count();
        (1 + rounds as u64) * self.pages_of_all()
    }

    /// Pages that what is in the buffers adds at most: only pairs that the tree has not make nodes split. What collections entered anew it has.
    fn new_pages(&self) -> u64 {
        let new = self.entries_at_most().saturating_sub(self.own.tree.entries);
        new * ENTRY_BYTES * 2 / self.page_bytes() + 2
    }

    /// Pages of the whole tree, with what is in the buffers.
    pub(super) fn pages_of_all(&self) -> u64 {
        self.own.tree.pages + self.new_pages()
    }

    /// Segments of the whole tree, with what is in the buffers.
    pub(super) fn segments_of_all(&self) -> u32 {
        self.segments(self.pages_of_all())
    }

    /// Pages that merging what is in the buffers writes at most.
    pub(super) fn pages_of_merge(&self) -> u64 {
        self.pages_of_all().min(self.pages_of(self.buffered()) + self.new_pages())
    }

    /// The same in segments.
    pub(super) fn segments_of_merge(&self) -> u32 {
        self.segments(self.pages_of_merge())
    }

    fn segments(&self, pages: u64) -> u32 {
        pages.div_ceil(self.log.geometry().segment_pages.into()) as u32
    }
}
