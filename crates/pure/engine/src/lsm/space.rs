//! Room that tables take, and that merging them needs.

use super::LsmStore;
use super::reserve::{FOR_DELETES, FOR_MERGES, SPARE_SEGMENTS};
use crate::ordered::key::Entry;
use crate::ordered::reserve::{FILL_PERCENT_MAX, MANIFESTS};
use saker_log::reserve::FOR_COPIES;
use saker_segment_store::SegmentStore;

/// Bytes of an entry in a table, with its share of description and filter.
const ENTRY_BYTES: u64 = Entry::FIXED_BYTES as u64 + 16 + 4;
/// Most bytes of tables for which room is kept for merging them at once.
const MERGED_BYTES_MAX: u64 = 256 << 20;

/// Sizes of all tables.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    /// Tables.
    pub tables: u64,
    /// Their pages.
    pub pages: u64,
    /// Their entries.
    pub entries: u64,
    /// Bytes that compactions owe.
    pub pending_bytes: u64,
}

impl LsmStore {
    /// Bytes of pages that tables need.
    fn table_bytes(&self) -> u64 {
        self.own.sizes.pages * self.page_bytes()
    }

    /// The tables have changed.
    pub(super) fn measure(&mut self) {
        let levels = &self.own.levels;
        let (tables, pages) =
            levels.all().fold((0, 0), |(n, pages), (_, t)| (n + 1, pages + t.pages_total()));
        let pending_bytes = super::policy::pending_bytes(&self.config, levels, self.page_bytes());
        self.own.sizes = Sizes { tables, pages, entries: levels.entries(), pending_bytes };
    }

    /// Bytes of tables of so many entries: their last pages, and those of their descriptions, are half full on the average.
    fn expected_table_bytes(&self, entries: u64) -> u64 {
        let (bytes, page_bytes) = (entries * ENTRY_BYTES, self.page_bytes());
        let tables = 1 + bytes / (u64::from(self.config.target_file_pages) * page_bytes);
        (bytes * 5 / 4).max(bytes + tables * page_bytes * 3 / 2)
    }

    /// Kept back: the spare segments, two manifests, and tables with room to merge them.
    pub(super) fn capacity_for<M: SegmentStore>(&self, entries: u64, longest: u32, m: &M) -> u64 {
        let tables = self.expected_table_bytes(entries).max(self.table_bytes());
        let merged = tables.min(MERGED_BYTES_MAX);
        let manifests = MANIFESTS * (FOR_COPIES.segments + self.whole_manifest_segments());
        self.fill(SPARE_SEGMENTS + manifests, tables + merged, longest, m)
    }

    /// Bytes in tables for the records of a segment that is full of live ones, but no more than half of what a segment has
    /// unused on the average when the store is as full as may be: there is always one that a collection gains so much of.
    pub(super) fn entered_anew(&self, lost: u64) -> u64 {
        let segment_bytes = self.log.geometry().segment_bytes();
        let (entries, records) = (self.entries_at_most(), self.value_log_bytes().max(1));
        let entered = u128::from(entries * ENTRY_BYTES) * u128::from(segment_bytes) / u128::from(records);
        let worth_collecting = (segment_bytes - lost) * (100 - FILL_PERCENT_MAX) / 200;
        (entered as u64).min(worth_collecting)
    }

    /// Segments that a merge of tables takes before it gives any back.
    fn merge_segments(&self) -> u32 {
        let merged = (self.table_bytes() + self.mem.bytes() / 2).min(MERGED_BYTES_MAX);
        merged.div_ceil(self.log.geometry().segment_bytes()) as u32
    }

    /// Bytes of the tables that flushing so many entries makes.
    pub(super) fn flush_bytes(&self, entries: u64) -> u64 {
        if entries == 0 { 0 } else { self.expected_table_bytes(entries) }
    }

    /// Segments that flushing what memtables hold takes.
    pub(super) fn flush_segments(&self) -> u32 {
        self.flush_bytes(self.buffered()).div_ceil(self.log.geometry().segment_bytes()) as u32
    }

    /// Free segments that compactions and collections leave.
    pub(super) fn kept_from_merges<M: SegmentStore>(&self, _: &M) -> u32 {
        FOR_MERGES.segments + self.manifest_left()
    }

    /// Free segments that deletes leave.
    pub(super) fn for_deletes<M: SegmentStore>(&self, _: &M) -> u32 {
        FOR_DELETES.segments + self.manifest_left() + self.merge_segments()
    }
}
