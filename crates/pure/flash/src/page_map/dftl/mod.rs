// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A map on flash: DFTL (Gupta, Kim, Urgaonkar, ASPLOS 2009).
//!
//! The map lies in *translation pages*, sectors of the log with a map word (sector position + 1) for each of their blocks. A
//! directory in memory says where they are; a cached mapping table of a stated size has the entries in use. An entry that was changed
//! is dirty until its translation page is written, with all that is dirty in it at once (the paper's batch update). A collection
//! changes entries alone (lazy copying); a bit a sector tells it what is needed.
//!
//! Differences from the paper: a read never waits for a dirty entry to go; it is then not cached. Translation pages are written in the
//! background, when the entry that is to go next is dirty. The table has one list of uses, not two segments of it.
//!
//! | file | what |
//! |---|---|
//! | `table.rs`, `directory.rs`, `live.rs` | what is in memory |
//! | `translate.rs` | from blocks to sectors |
//! | `turns.rs` | what background work does next |
//! | `evict.rs`, `trim.rs`, `collect.rs` | translation pages are written: for dirty entries, for trims, out of the way |
//! | `checkpoint.rs`, `recover.rs` | what survives, and how it comes back |

mod check;
mod checkpoint;
mod collect;
mod directory;
mod evict;
mod live;
mod recover;
mod table;
mod translate;
mod trim;
mod turns;

pub(super) use recover::Replay;
pub use table::ENTRY_MEMORY_BYTES;
pub(super) use translate::Translated;

use super::PageMapConfig;
use checkpoint::Chunks;
use collect::Cursor;
use directory::{Directory, PLACE_MEMORY_BYTES};
use live::Live;
use saker_segment_store::Geometry;
use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use table::Table;

/// Bytes of a map word.
pub const WORD_BYTES: u64 = 4;

/// Counters of a map on flash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TranslationStats {
    /// Blocks whose entry was in the cached mapping table.
    pub hits: u64,
    /// Blocks whose entry was not.
    pub misses: u64,
    /// Entries thrown out of the table for others.
    pub evictions: u64,
    /// Translation pages read for misses and to be brought up to date.
    pub translation_reads: u64,
    /// Translation pages written to be up to date.
    pub translation_writes: u64,
    /// Entries that those writes made clean.
    pub batched: u64,
    /// Translation pages copied by collections.
    pub translation_copies: u64,
}

impl TranslationStats {
    /// All of them, by name.
    pub const fn named(&self) -> [(&'static str, u64); 7] {
        [
            ("hits", self.hits),
            ("misses", self.misses),
            ("evictions", self.evictions),
            ("translation_reads", self.translation_reads),
            ("translation_writes", self.translation_writes),
            ("batched", self.batched),
            ("translation_copies", self.translation_copies),
        ]
    }
}

/// What a map on flash has in memory.
#[derive(Clone, Debug)]
pub struct Dftl {
    /// Blocks of a translation page.
    blocks: u64,
    pub(super) directory: Directory,
    pub(super) table: Table,
    pub(super) live: Live,
    /// Blocks whose deallocation is in the log, and which translation pages do not know of yet.
    trimming: VecDeque<Range<u64>>,
    collection: Option<Cursor>,
    /// Entries that a write needs and did not find room for.
    wanted: usize,
    /// Translation pages that could not be read when they were to be brought up to date.
    lost: BTreeSet<usize>,
    /// Segments of translation pages, and how many there may be.
    segments: u32,
    segments_most: u32,
    /// Whether the next piece of background work is for sectors, and not for translation pages.
    is_sectors_turn: bool,
    chunks: Chunks,
    stats: TranslationStats,
}

impl Dftl {
    /// The map of an empty namespace, if its settings put it on flash.
    ///
    /// # Panics
    /// When the cached mapping table has less than [`PageMapConfig::map_cache_bytes_min`].
    pub fn new(config: &PageMapConfig, geometry: &Geometry) -> Option<Box<Self>> {
        if config.map_cache_bytes == 0 {
            return None;
        }
        let least = PageMapConfig::map_cache_bytes_min(geometry, config.block_bytes);
        assert!(config.map_cache_bytes >= least, "the cached mapping table has {least} bytes at least");
        let blocks = u64::from(config.block_bytes) / WORD_BYTES;
        let pages = config.blocks.div_ceil(blocks);
        let per_page = u64::from(geometry.page_bytes / config.block_bytes);
        let sectors = u64::from(geometry.segments) * u64::from(geometry.segment_pages) * per_page;
        Some(Box::new(Self {
            blocks,
            directory: Directory::new(pages as usize),
            table: Table::new((config.map_cache_bytes / ENTRY_MEMORY_BYTES) as usize),
            live: Live::new(sectors),
            trimming: VecDeque::new(),
            collection: None,
            wanted: 0,
            lost: BTreeSet::new(),
            segments: 0,
            segments_most: super::reserve::map_segments(geometry, config.block_bytes, pages),
            is_sectors_turn: false,
            chunks: Chunks::default(),
            stats: TranslationStats::default(),
        }))
    }

    /// Counters.
    pub fn stats(&self) -> TranslationStats {
        TranslationStats { evictions: self.table.evictions(), ..self.stats }
    }

    /// Modelled memory of the cached mapping table, the directory, and the bits of live sectors.
    pub fn memory(&self) -> [u64; 3] {
        let table = self.table.most() as u64 * ENTRY_MEMORY_BYTES;
        [table, self.directory.pages() as u64 * PLACE_MEMORY_BYTES, self.live.bytes()]
    }

    /// The translation page of a block.
    fn page_of(&self, lba: u64) -> usize {
        (lba / self.blocks) as usize
    }

    /// The blocks of a translation page.
    fn blocks_of(&self, page: usize) -> Range<u64> {
        page as u64 * self.blocks..(page as u64 + 1) * self.blocks
    }

    /// The map word of a block, if no translation page is needed to know it.
    fn known(&self, lba: u64) -> Option<u32> {
        if self.is_trimming(lba..lba + 1) { Some(0) } else { self.table.word(lba) }
    }

    /// Whether some of these blocks are being deallocated.
    pub(super) fn is_trimming(&self, blocks: Range<u64>) -> bool {
        self.trimming.iter().any(|trim| trim.start < blocks.end && blocks.start < trim.end)
    }

    /// Segments that are kept for translation pages beside those that have any.
    pub(super) fn segments_left(&self) -> u32 {
        self.segments_most.saturating_sub(self.segments)
    }

    /// A block is elsewhere now: its old map word.
    pub(super) fn change(&mut self, lba: u64, word: u32) -> u32 {
        let old = self.table.change(lba, word);
        if let Some(position) = old.checked_sub(1) {
            self.live.clear(u64::from(position));
        }
        if let Some(position) = word.checked_sub(1) {
            self.live.set(u64::from(position));
        }
        old
    }
}
