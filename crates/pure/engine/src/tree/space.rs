// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room that nodes take, and that replacing them needs.

use super::TreeStore;
use super::reserve::SPARE_SEGMENTS;
use crate::ordered::key::Entry;
use crate::ordered::memtable;
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
        let replaced = nodes.min(self.most_merged() * self.page_bytes());
        let held = self.own.pins.nodes() * self.page_bytes();
        self.fill(
            SPARE_SEGMENTS + MANIFESTS * (FOR_COPIES.segments + self.whole_manifest_segments()),
            nodes + replaced.max(held),
            longest,
            m,
        )
    }

    /// Pages that merging two full buffers writes at most, if the tree is large.
    fn most_merged(&self) -> u64 {
        2 * self.pages_of(self.settings.write_buffer_size / memtable::ENTRY_BYTES)
    }

    /// Pages that merging so many updates writes at most, if the tree is large: each meets a leaf of its own, with all above it
    /// and a neighbour.
    fn pages_of(&self, updates: u64) -> u64 {
        2 * updates * u64::from(self.own.tree.height.max(1)) + 2
    }

    /// Segments that a merge of the buffers takes before it gives any back.
    pub(super) fn merge_segments(&self) -> u32 {
        let updates = self.buffered();
        let new = updates * ENTRY_BYTES * 2 / self.page_bytes() + 2;
        let first = self.own.imm.as_ref().map_or(self.own.mem_first, |imm| imm.first);
        let snapshots = self.own.pins.snapshots.iter();
        let rounds = 1 + snapshots.filter(|held| held.version + 1 >= first).count();
        let whole = rounds as u64 * (self.own.tree.pages + new);
        let pages = whole.min(self.pages_of(updates) + new);
        (pages * self.page_bytes()).div_ceil(self.log.geometry().segment_bytes()) as u32
    }
}
