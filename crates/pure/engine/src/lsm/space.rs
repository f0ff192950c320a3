// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room that tables take, and that merging them needs.

use super::manifest::TABLE_BYTES;
use super::reserve::{FOR_DELETES, FOR_MERGES, SPARE_SEGMENTS};
use super::table::Layout;
use super::{LsmConfig, LsmStore, pairs, policy};
use crate::ordered::block;
use crate::ordered::inside::Inside;
use crate::ordered::key::Entry;
use crate::ordered::living::Living;
use crate::ordered::reserve::{FILL_PERCENT_MAX, MANIFESTS};
use crate::ordered::structure::Content;
use saker_log::reserve::FOR_COPIES;
use saker_segment_store::SegmentStore;

/// Bytes of an entry in a table, with its share of description and filter.
const ENTRY_BYTES: u64 = Entry::FIXED_BYTES as u64 + 16 + 4;
/// Most bytes of tables for which room is kept for merging them at once.
const MERGED_BYTES_MAX: u64 = 256 << 20;

/// Half of what a segment has unused on the average when the store is as full as may be.
pub(super) fn worth_collecting(segment_bytes: u64, lost: u64) -> u64 {
    (segment_bytes - lost) * (100 - FILL_PERCENT_MAX) / 200
}

/// Bytes of an entry without a value in a packed block.
const PACKED_ENTRY_BYTES: u64 = pairs::PLACED_BYTES_MAX as u64 - block::HEAD as u64;
/// Bytes of an entry's share of a filter; a record is at least so much longer than its pair in a block that it need not count twice.
const FILTER_BYTES: u64 = 2;
/// Bytes of a packed block's head, and of what the description has of it.
const BLOCK_SHARE: u64 = block::HEAD as u64 + 16 + 1 + 8 + 4;
/// Memtables of which room is kept for what passes through the log and through level 0.
const PASSING_TIMES: u64 = 4;

/// Sizes of all tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Tables.
    pub tables: u64,
    /// Their pages.
    pub pages: u64,
    /// Those of them in levels 0 and 1.
    pub upper_pages: u64,
    /// Their entries.
    pub entries: u64,
    /// Those of them whose values are beside them.
    pub inside: Inside,
    /// Tables of level 0 as triggers count them.
    pub level0: u64,
    /// Whether a level has more than it should.
    pub is_due: bool,
    /// Bytes that compactions owe.
    pub pending_bytes: u64,
}

/// Bytes of tables of so many entries: their last pages, and those of their descriptions, are half full on the average, and of those
/// with values up to an eighth of each page stays empty.
pub(super) fn expected_table_bytes(config: &LsmConfig, page_bytes: u64, entries: u64, inside: Inside) -> u64 {
    let bytes = match config.layout(page_bytes as u32) {
        Layout::Slots => entries * ENTRY_BYTES,
        Layout::Packed(block_bytes) => {
            let placed = entries.saturating_sub(inside.entries) * PACKED_ENTRY_BYTES;
            let packed = placed + inside.bytes;
            packed + packed * BLOCK_SHARE / u64::from(block_bytes) + entries * FILTER_BYTES
        }
    };
    let tables = 1 + bytes / (u64::from(config.target_file_pages) * page_bytes);
    // A table ends where the next pair does not fit.
    let rest = inside.bytes / inside.entries.max(1) / 2;
    (bytes * 5 / 4).max(bytes + tables * (page_bytes * 3 / 2 + rest))
}

impl LsmStore {
    /// Bytes of tables of so many entries.
    fn expected_table_bytes(&self, entries: u64, inside: Inside) -> u64 {
        expected_table_bytes(&self.config, self.page_bytes(), entries, inside)
    }

    /// Bytes of pages that tables need.
    pub(super) fn table_bytes(&self) -> u64 {
        self.own.sizes.pages * self.page_bytes()
    }

    /// The same as far as they count: what they hold beyond what lives goes when all is merged.
    fn counted_table_bytes(&self) -> u64 {
        let merged = self.reveal.living().map_or(u64::MAX, Living::structure_bytes);
        self.table_bytes().min(merged)
    }

    /// The tables have changed.
    pub(super) fn measure(&mut self) {
        self.own.sizes = self.measured();
        self.own.none_to_begin = false;
    }

    /// They have, by a flush or a compaction: what writes have to expect is found out anew.
    pub(super) fn measure_for_writes(&mut self) {
        self.measure();
        let load = self.own.load(self.is_full());
        self.own.controller.recalculate(&(&self.config).into(), load);
    }

    /// Sizes of the tables that there are.
    pub(super) fn measured(&self) -> Sizes {
        let levels = &self.own.levels;
        let (tables, pages) =
            levels.all().fold((0, 0), |(n, pages), (_, t)| (n + 1, pages + t.pages_total()));
        let level0 = policy::runs(&self.config, levels.level(0).iter());
        let due = policy::Due::of(&self.config, levels, (level0, self.page_bytes()));
        let inside = levels.all().fold(Inside::NONE, |all, (_, t)| all.and(t.inside));
        let (is_due, pending_bytes) = (due.any, due.pending_bytes);
        let (upper_pages, entries) = (levels.pages(0) + levels.pages(1), levels.entries());
        Sizes { tables, pages, upper_pages, entries, inside, level0, is_due, pending_bytes }
    }

    /// Kept back: the spare segments, two manifests, and tables with room to merge them. What has its value beside its key is in the
    /// tables, so what is kept back for it is less that much.
    pub(super) fn capacity_for<M: SegmentStore>(&self, content: &Content, m: &M) -> u64 {
        let Content { entries, inside, .. } = *content;
        let expected = self.expected_table_bytes(entries, inside);
        if self.settings.is_auto() {
            return self.capacity_either_way(content, expected, m);
        }
        let tables = expected.max(self.counted_table_bytes());
        self.capacity_with((tables, tables), inside, content, m)
    }

    /// The same where each pair may have its value beside its key or in the value log, and the next time elsewhere. What a pair takes is the
    /// dearer of both, and what is kept for merges and for what passes is that of a store of values in tables. Tables may have more than is
    /// expected of what is in them; they have that whatever is there.
    fn capacity_either_way<M: SegmentStore>(&self, content: &Content, inside: u64, m: &M) -> u64 {
        let apart = self.expected_table_bytes(content.entries, Inside::NONE);
        let expected_now = self.expected_table_bytes(self.entries_at_most(), self.inside());
        let more = self.counted_table_bytes().saturating_sub(expected_now);
        let most = inside.max(apart) + more;
        let all_inside = self.capacity_with((inside + more, most), content.inside, content, m);
        let all_apart = self.capacity_with((apart + more, most), Inside::NONE, content, m);
        all_inside.min(all_apart)
    }

    /// The same with tables of so many bytes, of which room for merges is kept as if they were `most` bytes. Values of entries `inside` are in
    /// them.
    fn capacity_with<M: SegmentStore>(
        &self,
        (tables, most): (u64, u64),
        inside: Inside,
        content: &Content,
        m: &M,
    ) -> u64 {
        let longest = content.longest;
        let manifests = MANIFESTS * (FOR_COPIES.segments + self.expected_manifest_segments(most));
        let passing = self.passing_bytes().min(PASSING_TIMES * content.inside.bytes);
        let (segments, kept) =
            (SPARE_SEGMENTS + manifests, tables + self.merged_bytes(most, longest) + passing);
        let apart = self.fill(segments, kept, longest, m);
        let usable =
            u64::from(m.quota_segments().saturating_sub(segments)) * self.log.geometry().segment_bytes();
        (apart + inside.bytes).saturating_sub(kept.saturating_sub(usable))
    }

    /// Segments of a manifest of so many bytes of tables. Those with values are so many that a few more or less, as it comes, would change
    /// what may be stored, so they are counted as they are expected.
    fn expected_manifest_segments(&self, tables: u64) -> u32 {
        if !self.settings.has_inside() {
            return self.whole_manifest_segments();
        }
        let pages = tables / self.page_bytes();
        let bytes = (1 + pages / u64::from(self.config.target_file_pages)) * TABLE_BYTES + 8 * pages;
        saker_log::checkpoint::segments_for(&self.log, bytes)
    }

    /// Bytes that writes of values beside their keys take for a while: their records until a manifest is complete, and tables that have
    /// not been merged with what they replace; of two memtables each.
    fn passing_bytes(&self) -> u64 {
        if self.settings.has_inside() { PASSING_TIMES * self.settings.write_buffer_size } else { 0 }
    }

    /// Bytes that are written, of tables of so many, before merges give any back; `longest`: bytes of the longest record.
    fn merged_bytes(&self, tables: u64, longest: u32) -> u64 {
        let at_once = policy::merged_bytes_max(&self.config, (self.page_bytes(), longest));
        let threads = u64::from(self.config.compaction_threads.max(1));
        tables.min(at_once.map_or(MERGED_BYTES_MAX, |bytes| bytes.saturating_mul(threads)))
    }

    /// Bytes in tables for the records of a segment that is full of live ones, but no more than half of what a segment has
    /// unused on the average when the store is as full as may be: there is always one that a collection gains so much of.
    pub(super) fn entered_anew(&self, lost: u64) -> u64 {
        let segment_bytes = self.log.geometry().segment_bytes();
        let (entries, records) = (self.entries_at_most(), self.apart_bytes().max(1));
        let entered = u128::from(entries * ENTRY_BYTES) * u128::from(segment_bytes) / u128::from(records);
        (entered as u64).min(worth_collecting(segment_bytes, lost))
    }

    /// Segments that a merge of tables takes before it gives any back.
    fn merge_segments(&self) -> u32 {
        let merged = if self.settings.has_inside() {
            // What is flushed takes room before it is merged.
            let flushed = self.flush_bytes(self.buffered(), self.buffered_inside());
            flushed + self.merged_bytes(self.table_bytes() + flushed, self.longest.bytes())
        } else {
            (self.table_bytes() + self.mem.bytes() / 2).min(MERGED_BYTES_MAX)
        };
        let merged = merged + self.beyond_usual_bytes();
        merged.div_ceil(self.log.geometry().segment_bytes()) as u32
    }

    /// Bytes of the tables that flushing so many entries makes.
    pub(super) fn flush_bytes(&self, entries: u64, inside: Inside) -> u64 {
        if entries == 0 { 0 } else { self.expected_table_bytes(entries, inside) }
    }

    /// Segments that flushing what memtables hold takes.
    pub(super) fn flush_segments(&self) -> u32 {
        self.flush_bytes(self.buffered(), self.buffered_inside())
            .div_ceil(self.log.geometry().segment_bytes()) as u32
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
