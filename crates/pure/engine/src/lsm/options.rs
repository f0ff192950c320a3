// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the tree. Names and meaning follow RocksDB's options where it has them.

use super::settings::BYTES;
use super::table::Layout;
use crate::ordered::{Settings, block};
use saker_segment_store::Geometry;
use saker_value_log::packing::{PRICED_BYTES, Packing};

/// Full tables that a compaction should have at most unless told otherwise.
const COMPACTED_TABLES: u64 = 25;

/// Settings of an LSM store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LsmConfig {
    /// The namespace it serves, 1-based; marks its segments.
    pub owner: u16,
    /// Whether the power-safe page buffer survives a power cut (a capacitor).
    pub ring_lasts: bool,
    /// Largest value in bytes.
    pub value_bytes_max: u32,
    /// A manifest is due when the log has grown by this many bytes.
    pub checkpoint_bytes_min: u64,
    /// Modelled bytes of a memtable that make it full.
    pub write_buffer_size: u64,
    /// Memtables at most, the one that is written included: at least 2.
    pub max_write_buffer_number: u32,
    /// Compactions that go on at once, each with a core of its own (RocksDB: max_background_compactions).
    pub compaction_threads: u32,
    /// Bytes that compactions read at once of each of their tables; 0: the pages of a block.
    pub compaction_readahead_size: u64,
    /// Tables in level 0 that start a compaction.
    pub level0_file_num_compaction_trigger: u32,
    /// Tables in level 0 from which on writes are slowed down.
    pub level0_slowdown_writes_trigger: u32,
    /// Tables in level 0 from which on writes stop.
    pub level0_stop_writes_trigger: u32,
    /// Bytes that compactions owe from which on writes are slowed down.
    pub soft_pending_compaction_bytes_limit: u64,
    /// Bytes that compactions owe from which on writes stop.
    pub hard_pending_compaction_bytes_limit: u64,
    /// The rate at which writes that are slowed down begin, in bytes of keys and values a second.
    pub delayed_write_rate: u64,
    /// Whether writes are slowed down before they stop.
    pub slowdown: bool,
    /// Values of at least so many bytes go to the value log, shorter ones stay beside their keys. 0: all go there; [`u32::MAX`]: none;
    /// [`AUTO`](super::AUTO): the store decides which ([`BY_TURNS`](super::BY_TURNS): by turns, for tests).
    pub min_blob_size: u32,
    /// What is kept here for the main tree of a hybrid, by its number among the words of the setting. This store does nothing with it.
    pub main_min_blob_size: u8,
    /// About how many bytes blocks of tables have; `None`: 4096, or a page if that is not a whole number of them.
    pub block_size: Option<u32>,
    /// Pages of a table.
    pub target_file_pages: u32,
    /// Bytes that a compaction should have at most; 0: 25 tables.
    pub max_compaction_bytes: u64,
    /// Bytes of level 1.
    pub max_bytes_for_level_base: u64,
    /// How many times larger each further level is.
    pub max_bytes_for_level_multiplier: u64,
    /// Bits of the Bloom filters for each key; 0: none.
    pub bloom_bits_per_key: u32,
    /// Levels, from level 0 on, whose tables stay in memory (PinK, ATC'20, section 3.2); usual without filters.
    pub pinned_levels: u32,
    /// Where values go in the value log; `None`: DMA reaches any byte.
    pub packing: Option<Packing>,
    /// For packing that saves time: bytes that a core copies while [`PRICED_BYTES`] are programmed, all dies at work.
    pub program_price: u32,
    /// What the store does with less of for now.
    pub limits: Limits,
}

/// Limits below what room is kept for, so that they may change while the store is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Modelled bytes that make a memtable full, if fewer than `write_buffer_size`.
    pub write_buffer: u64,
    /// Compactions that go on at once, if fewer than `compaction_threads`. What goes on beyond it ends as it began.
    pub compaction_threads: u32,
    /// Bytes of level 1, if fewer than `max_bytes_for_level_base`.
    pub level_base: u64,
}

impl Limits {
    /// None.
    pub const NONE: Self = Self { write_buffer: 1 << 32, compaction_threads: 64, level_base: BYTES };
}

impl LsmConfig {
    /// Modelled bytes that make a memtable full now.
    pub fn full_memtable_bytes(&self) -> u64 {
        self.write_buffer_size.min(self.limits.write_buffer)
    }

    /// Compactions that may go on at once now, at least one.
    pub fn threads(&self) -> usize {
        self.compaction_threads.min(self.limits.compaction_threads).max(1) as usize
    }

    /// Bytes that a compaction should have at most (facebook/rocksdb v11.8.1, `db/column_family.cc` lines 405 to 411).
    pub fn compaction_bytes_max(&self, page_bytes: u64) -> u64 {
        match self.max_compaction_bytes {
            0 => COMPACTED_TABLES * u64::from(self.target_file_pages) * page_bytes,
            asked => asked,
        }
    }

    /// Bytes of level 1 now.
    pub fn level_base_bytes(&self) -> u64 {
        self.max_bytes_for_level_base.min(self.limits.level_base)
    }
}

impl LsmConfig {
    /// Settings for a namespace on a medium of that shape. Triggers are RocksDB's defaults; sizes follow the medium's.
    pub fn new(owner: u16, geometry: &Geometry, quota_segments: u32, ring_lasts: bool) -> Self {
        let Settings { value_bytes_max, checkpoint_bytes_min, write_buffer_size, .. } =
            Settings::new(owner, geometry, quota_segments, ring_lasts);
        let segment = geometry.segment_bytes();
        let bytes = segment * u64::from(quota_segments);
        let table_bytes = (write_buffer_size / 2).min(segment / 2).max(u64::from(geometry.page_bytes));
        Self {
            owner,
            ring_lasts,
            value_bytes_max,
            checkpoint_bytes_min,
            write_buffer_size,
            max_write_buffer_number: 2,
            compaction_threads: 1,
            compaction_readahead_size: 0,
            level0_file_num_compaction_trigger: 4,
            level0_slowdown_writes_trigger: 20,
            level0_stop_writes_trigger: 36,
            soft_pending_compaction_bytes_limit: bytes / 2,
            hard_pending_compaction_bytes_limit: bytes,
            delayed_write_rate: 16 << 20,
            slowdown: true,
            min_blob_size: 0,
            main_min_blob_size: 0,
            block_size: None,
            target_file_pages: table_pages(geometry, table_bytes),
            max_compaction_bytes: 0,
            max_bytes_for_level_base: 2 * write_buffer_size,
            max_bytes_for_level_multiplier: 10,
            bloom_bits_per_key: 10,
            pinned_levels: 0,
            packing: None,
            program_price: PRICED_BYTES,
            limits: Limits::NONE,
        }
    }
}

/// Bytes of a block unless told otherwise, as RocksDB's.
pub const OWN_BLOCK_BYTES: u32 = block::BLOCK_BYTES;

impl LsmConfig {
    /// How blocks lie in tables. Where neither values nor the length of blocks were asked for, tables are as they always were.
    pub fn layout(&self, page_bytes: u32) -> Layout {
        match (self.min_blob_size, self.block_size) {
            (0, None) => Layout::Slots,
            (_, asked) => Layout::Packed(asked.unwrap_or(OWN_BLOCK_BYTES).min(page_bytes)),
        }
    }
}

/// Pages of a table of about `bytes` bytes, so that the manifest can describe it in one piece.
pub(super) fn table_pages(geometry: &Geometry, bytes: u64) -> u32 {
    let wanted = bytes / u64::from(geometry.page_bytes);
    let chunk = (geometry.segment_bytes() / 4).min(saker_log::checkpoint::CHUNK_BYTES_MAX - 8);
    let described = (chunk - super::manifest::TABLE_BYTES) / 8 * 3 / 4;
    wanted.clamp(1, described) as u32
}
