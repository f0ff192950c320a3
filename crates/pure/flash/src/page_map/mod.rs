// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page-mapped FTL of a block namespace: logical blocks packed into flash pages, a map in DRAM or on flash ([`dftl`]).
//!
//! A sector (logical block) is the unit of mapping. Each page's out-of-band area holds an entry per sector:
//! whose it is, the version of its write, its checksum. Log, collection and checkpoints are the machinery
//! the hash store uses too.

mod again;
mod check;
pub mod checkpoint;
mod chunk;
mod config;
pub mod dftl;
pub mod entry;
pub mod gc;
pub mod recover;
pub mod reserve;
mod room;

pub use config::PageMapConfig;
pub use dftl::TranslationStats;

use config::lost_in_segment;
use dftl::Dftl;
use dftl::Translated;
use entry::{Entry, EntryKind};
use reserve::{FILL_PERCENT_MAX, FOR_TRIMS, FOR_WRITES};
use saker_log::reserve::assert_collections_gain;
use saker_log::{CheckpointWriter, Log, LogStats, page_of};
use saker_segment_store::header::{HEADER_BYTES, crc32c};
use saker_segment_store::{
    CellError, Page, PageAddr, Reads, SegmentId, SegmentStore, Stall, Step, Stream, Tag,
};
use saker_sim::{Meter, Unit};
use thiserror::Error;

/// Ranges of one trim record.
pub const TRIM_RANGES_MAX: usize = 31;

/// Why a block operation failed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum BlockError {
    /// Blocks beyond the end of the namespace.
    #[error("LBA out of range")]
    OutOfRange,
    /// The blocks are there and cannot be read.
    #[error("unrecovered read error: {0}")]
    Unrecovered(#[from] CellError),
    /// The blocks are there and do not match their checksum.
    #[error("unrecovered read error: a block does not match its checksum")]
    Corrupt,
    /// Data could not be fetched or delivered.
    #[error("data transfer error")]
    Transfer,
}

/// Counters of a block namespace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageMapStats {
    /// Blocks written by the host.
    pub blocks_written: u64,
    /// Blocks copied by garbage collection.
    pub gc_blocks_copied: u64,
    /// Segments released by garbage collection.
    pub gc_segments: u64,
    /// Checkpoints completed.
    pub checkpoints: u64,
    /// Of a map on flash.
    pub translation: TranslationStats,
}

/// A block namespace.
#[derive(Clone, Debug)]
pub struct PageMap {
    config: PageMapConfig,
    log: Log,
    /// Sector position + 1 of each block; 0: never written, or deallocated. Empty where the map is on flash.
    map: Vec<u32>,
    /// The map on flash.
    dftl: Option<Box<Dftl>>,
    /// Blocks that are mapped: so many words of the map are not 0.
    mapped: u64,
    version: u64,
    stats: PageMapStats,
    gc: Option<gc::Cursor>,
    checkpoint: checkpoint::State,
    /// A sector of the open page that a write has left behind ([`again`]).
    left: Option<u64>,
    /// The first sector of its page that may be written again.
    first_again: u64,
}

impl PageMap {
    /// An empty namespace.
    ///
    /// # Panics
    /// When pages do not hold whole blocks, or their out-of-band area no entry for each.
    pub fn new<M: SegmentStore + ?Sized>(config: PageMapConfig, m: &M) -> Self {
        let geometry = m.geometry();
        let per_page = geometry.page_bytes / config.block_bytes;
        assert!(
            per_page > 0 && geometry.page_bytes.is_multiple_of(config.block_bytes),
            "pages hold whole blocks"
        );
        let oob = HEADER_BYTES + per_page as usize * entry::ENTRY_BYTES;
        assert!(geometry.oob_bytes as usize >= oob, "the out-of-band area holds an entry per block");
        let lost = lost_in_segment(&geometry, config.ring_lasts);
        assert_collections_gain(geometry.segment_bytes(), lost, FILL_PERCENT_MAX, 0);
        Self {
            config,
            log: Log::new(config.owner, geometry, config.ring_lasts),
            map: vec![0; if config.map_cache_bytes == 0 { config.blocks as usize } else { 0 }],
            dftl: Dftl::new(&config, &geometry),
            mapped: 0,
            version: 1,
            stats: PageMapStats::default(),
            gc: None,
            checkpoint: checkpoint::State::default(),
            left: None,
            first_again: 0,
        }
    }

    /// Settings.
    pub fn config(&self) -> &PageMapConfig {
        &self.config
    }

    /// Counters.
    pub fn stats(&self) -> PageMapStats {
        let translation = self.dftl.as_ref().map_or_else(TranslationStats::default, |d| d.stats());
        PageMapStats { translation, ..self.stats }
    }

    /// Counters of the log.
    pub fn log_stats(&self) -> LogStats {
        self.log.stats()
    }

    /// Modelled memory.
    pub fn memory_bytes(&self) -> u64 {
        self.memory().iter().sum()
    }

    /// Modelled memory by structure: the map, 4 bytes a block; or of a map on flash the cached mapping table, the directory of translation
    /// pages, and the bits of live sectors.
    pub fn memory(&self) -> [u64; 3] {
        self.dftl.as_ref().map_or([self.map.len() as u64 * 4, 0, 0], |d| d.memory())
    }

    /// Counters of a map on flash, by name; of others none.
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.dftl.as_ref().map_or_else(Vec::new, |d| d.stats().named().to_vec())
    }

    /// Blocks that are mapped.
    pub fn blocks_in_use(&self) -> u64 {
        self.mapped
    }

    /// A digest of everything that operations can observe.
    pub fn digest(&self) -> u64 {
        let mut digest = saker_sim::Digest::default();
        for position in &self.map {
            digest.number(u64::from(*position));
        }
        // A sector says whose it is.
        self.dftl.iter().flat_map(|d| d.live.words()).for_each(|word| digest.number(*word));
        digest.number(self.version);
        digest.value()
    }

    /// Says what contradicts itself, if anything does: between two calls, without a look at any page.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self, m: &dyn SegmentStore) -> Result<(), String> {
        self.check_all(m)
    }

    fn in_range(&self, first: u64, blocks: u64) -> Result<(), BlockError> {
        let end = first.checked_add(blocks).ok_or(BlockError::OutOfRange)?;
        if end > self.config.blocks { Err(BlockError::OutOfRange) } else { Ok(()) }
    }

    /// Writes blocks. `fill` gives block `n` of the command, once.
    pub fn write<M: SegmentStore, W: Meter>(
        &mut self,
        first: u64,
        blocks: u32,
        mut fill: impl FnMut(u32, &mut [u8]) -> Result<(), BlockError>,
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), BlockError>> {
        if let Err(e) = self.in_range(first, u64::from(blocks)) {
            return Step::Done(Err(e));
        }
        let found = match self.translate_for_write(first, blocks, m) {
            Step::Done(Ok(found)) => found,
            other => return other.map(|found| found.map(|_| ())),
        };
        let reserve = FOR_WRITES.with_segments(self.checkpoint.segments_left() + self.map_segments_left());
        if let Err(stall) = self.room(m, Stream::User, blocks, reserve) {
            return Step::Blocked(stall);
        }
        self.translated(first, &found, false);
        for n in 0..blocks {
            let lba = first + u64::from(n);
            self.hold(lba, &found, n);
            let written = match self.write_again(lba, &mut |out| fill(n, out), m) {
                Some(written) => written,
                None => self.append(Stream::User, lba, EntryKind::Data, |out| fill(n, out), m),
            };
            if let Err(e) = written {
                return Step::Done(Err(e));
            }
            w.work(Unit::CopyByte, u64::from(self.config.block_bytes));
            w.work(Unit::ChecksumByte, u64::from(self.config.block_bytes));
            w.work(Unit::Probe, 1);
        }
        self.stats.blocks_written += u64::from(blocks);
        Step::Done(Ok(()))
    }

    /// Appends one sector and maps it.
    fn append<M: SegmentStore>(
        &mut self,
        stream: Stream,
        lba: u64,
        kind: EntryKind,
        fill: impl FnOnce(&mut [u8]) -> Result<(), BlockError>,
        m: &mut M,
    ) -> Result<u64, BlockError> {
        let version = self.version;
        let position = self.append_version(stream, lba, kind, version, fill, m)?;
        self.version += 1;
        Ok(position)
    }

    fn append_version<M: SegmentStore>(
        &mut self,
        stream: Stream,
        lba: u64,
        kind: EntryKind,
        version: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), BlockError>,
        m: &mut M,
    ) -> Result<u64, BlockError> {
        let bytes = self.config.block_bytes;
        let writer = self.log.begin(m, stream, bytes);
        let position = writer.log_addr().0 / u64::from(bytes);
        let chunk = self.log.chunk_mut(m, &writer, 0);
        if let Err(e) = fill(chunk) {
            self.log.abandon(m, writer);
            return Err(e);
        }
        let crc = crc32c(chunk);
        let index = (position % self.sectors_per_page()) as usize;
        let entry = Entry { lba, kind, version, crc };
        self.log.put_oob(m, &writer, index * entry::ENTRY_BYTES, &entry.encode());
        self.log.commit(m, writer);
        let segment = self.segment_of(position);
        match kind {
            EntryKind::Data => {
                self.log.add_live(segment, u64::from(bytes));
                self.point(lba, Some(position));
            }
            EntryKind::Trim => self.log.add_until_checkpoint(segment, u64::from(bytes)),
            EntryKind::Translation => self.log.add_live(segment, u64::from(bytes)),
        }
        Ok(position)
    }

    /// Maps a block elsewhere; its old sector is no longer needed.
    fn point(&mut self, lba: u64, position: Option<u64>) {
        let word = position.map_or(0, |p| p as u32 + 1);
        let old = match &mut self.dftl {
            None => std::mem::replace(&mut self.map[lba as usize], word),
            Some(d) => d.change(lba, word),
        };
        self.mapped = self.mapped + u64::from(word != 0) - u64::from(old != 0);
        if let Some(old) = old.checked_sub(1) {
            self.log.sub_live(self.segment_of(u64::from(old)), u64::from(self.config.block_bytes));
            self.leave(u64::from(old));
        }
    }

    fn sectors_per_page(&self) -> u64 {
        u64::from(self.log.geometry().page_bytes / self.config.block_bytes)
    }

    fn segment_of(&self, position: u64) -> SegmentId {
        SegmentId(
            (position * u64::from(self.config.block_bytes) / self.log.geometry().segment_bytes()) as u32,
        )
    }

    fn page_of_sector(&self, position: u64) -> PageAddr {
        PageAddr(position / self.sectors_per_page())
    }

    /// Reads blocks; `deliver` gets block `n` of the command. Blocks never written read as zeros.
    pub fn read<M: SegmentStore, W: Meter>(
        &mut self,
        first: u64,
        blocks: u32,
        mut deliver: impl FnMut(u32, Option<&[u8]>) -> Result<(), BlockError>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<(), BlockError>> {
        if let Err(e) = self.in_range(first, u64::from(blocks)) {
            return Step::Done(Err(e));
        }
        let found = match self.dftl.as_ref().map(|d| self.translate(d, first, blocks, m)) {
            None => Translated::default(),
            Some(Ok(found)) => found,
            Some(Err(e)) => return Step::Done(Err(e)),
        };
        let mapped = |n: u32| match found.words.get(n as usize) {
            Some(word) => word.unwrap_or(0).checked_sub(1).map(u64::from),
            None => self.map[(first + u64::from(n)) as usize].checked_sub(1).map(u64::from),
        };
        let mut reads: Reads = found.reads.clone();
        let mut missing = found.is_absent;
        for page in (0..blocks).filter_map(|n| mapped(n).map(|p| self.page_of_sector(p))) {
            missing |= matches!(page_of(&self.log, m, page), Page::Absent);
            if reads.last() != Some(&page) {
                reads.push(page);
            }
        }
        if missing {
            return Step::Need(reads);
        }
        for n in 0..blocks {
            let sector = match mapped(n) {
                None => Ok(None),
                Some(position) => self.sector(EntryKind::Data, first + u64::from(n), position, m).map(Some),
            };
            if let Err(e) = sector.and_then(|bytes| deliver(n, bytes)) {
                return Step::Done(Err(e));
            }
            w.work(Unit::Probe, 1);
            w.work(Unit::CopyByte, u64::from(self.config.block_bytes));
        }
        self.translated(first, &found, true);
        Step::Done(Ok(()))
    }

    /// A sector that is needed, checked.
    fn sector<'m, M: SegmentStore>(
        &self,
        kind: EntryKind,
        lba: u64,
        position: u64,
        m: &'m M,
    ) -> Result<&'m [u8], BlockError> {
        let index = (position % self.sectors_per_page()) as usize;
        let Page::Resident { data, oob } = page_of(&self.log, m, self.page_of_sector(position)) else {
            return Err(CellError::Read.into());
        };
        match entry::sector(data, oob, index, self.config.block_bytes as usize) {
            Some((bytes, e)) if e.lba == lba && e.kind == kind && e.crc == crc32c(bytes) => Ok(bytes),
            _ => Err(BlockError::Corrupt),
        }
    }

    /// Deallocates ranges of (first block, blocks); they read as zeros, also after a power cut.
    pub fn deallocate<M: SegmentStore, W: Meter>(
        &mut self,
        ranges: &[(u64, u64)],
        m: &mut M,
        w: &mut W,
    ) -> Step<Result<(), BlockError>> {
        if let Some(e) = ranges.iter().find_map(|(first, n)| self.in_range(*first, *n).err()) {
            return Step::Done(Err(e));
        }
        if self.is_trimming() {
            return Step::Blocked(Stall::Debt);
        }
        if self.trims_must_wait(m) {
            self.checkpoint.want();
            return Step::Blocked(Stall::NoSegment);
        }
        let per_record = self.trim_ranges();
        let records = ranges.len().div_ceil(per_record) as u32;
        if let Err(stall) =
            self.room(m, Stream::User, records, FOR_TRIMS.with_segments(self.map_segments_left()))
        {
            return Step::Blocked(stall);
        }
        for part in ranges.chunks(per_record) {
            let appended =
                self.append(Stream::User, 0, EntryKind::Trim, |out| entry::encode_trim(part, out), m);
            appended.expect("a trim record comes from memory");
            if self.trim_later(part) {
                continue;
            }
            for (first, n) in part {
                (*first..first + n).for_each(|lba| self.point(lba, None));
                w.work(Unit::Move, *n);
            }
        }
        Step::Done(Ok(()))
    }

    fn trim_ranges(&self) -> usize {
        (self.config.block_bytes as usize / 16 - 1).min(TRIM_RANGES_MAX)
    }

    /// Makes everything acknowledged so far independent of the page buffer where that can be lost. Complete when the
    /// returned tag and everything before it has completed and a sync has followed.
    pub fn flush<M: SegmentStore>(&mut self, m: &mut M) -> Tag {
        if !self.config.ring_lasts {
            self.log.seal_stream(Stream::User, m);
            self.log.seal_stream(Stream::Gc, m);
        }
        m.last_tag()
    }

    /// Whether a Flush that returned `tag` is complete, given that all I/O up to `finished` has completed. Failed
    /// programs are made good by background work first.
    pub fn is_flushed(&self, tag: Tag, finished: Tag) -> bool {
        self.log.is_safe(tag, finished)
    }
}

/// The running checkpoint, if any.
pub(crate) type RunningCheckpoint = Option<CheckpointWriter>;
