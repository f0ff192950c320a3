// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Dirty entries go to their translation pages.

use super::translate::Content;
use super::{Dftl, WORD_BYTES};
use crate::page_map::entry::EntryKind;
use crate::page_map::reserve::FOR_EVICTIONS;
use crate::page_map::{BlockError, PageMap};
use saker_log::reserve::Reserve;
use saker_segment_store::planted::{self, Fault};
use saker_segment_store::{SegmentStore, Stall, Step, Stream};
use saker_sim::{Meter, Unit};
use std::ops::Range;

/// What became of a translation page that was to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    /// It says what entries say.
    Done,
    /// What it said so far cannot be read.
    Lost,
}

impl Dftl {
    /// Whether entries are to be made clean, given how many a page of sectors brings.
    pub(super) fn is_eviction_due(&self, per_page: usize) -> bool {
        let is_short = self.table.room() < self.wanted.max(per_page);
        (is_short || self.table.is_dirty_next()) && self.page_to_write().is_some()
    }

    /// The translation page of the dirty entry that was used least recently.
    pub(super) fn page_to_write(&self) -> Option<usize> {
        let mut pages = self.table.oldest_dirty().map(|lba| self.page_of(lba));
        pages.find(|page| !self.lost.contains(page))
    }
}

impl PageMap {
    /// Whether so many more dirty entries can come. In a table that recovery or repairs have overfilled none can.
    pub(in crate::page_map) fn has_entries(&self, blocks: usize) -> bool {
        self.dftl.as_ref().is_none_or(|d| d.table.room() >= blocks)
    }

    /// Segments that others leave to translation pages.
    pub(in crate::page_map) fn map_segments_left(&self) -> u32 {
        self.dftl.as_ref().map_or(0, |d| d.segments_left())
    }

    pub(super) fn fits_map_segment(&self) -> bool {
        self.log.left_in_segment(Stream::Map) >= u64::from(self.config.block_bytes)
    }

    /// Room for a translation page. Only collections take the last segment that is kept for them.
    pub(super) fn map_room<M: SegmentStore>(&self, m: &M, collects: bool) -> Result<(), Stall> {
        let left = self.map_segments_left();
        if !self.fits_map_segment() && left <= u32::from(!collects) {
            return Err(Stall::NoSegment);
        }
        let Reserve { slots, segments } = FOR_EVICTIONS;
        let segments = segments + self.log.kept_for_repairs(false);
        self.log.room(m, Stream::Map, self.config.block_bytes, Reserve { slots, segments })
    }

    /// Writes a translation page with all its dirty entries and without the blocks of `trimmed`. With `Need` or `Blocked` nothing
    /// has changed.
    pub(super) fn write_translation<M: SegmentStore, W: Meter>(
        &mut self,
        page: usize,
        trimmed: Option<Range<u64>>,
        m: &mut M,
        w: &mut W,
    ) -> Step<Written> {
        let d = self.dftl.as_ref().expect("the map is on flash");
        let blocks = d.blocks_of(page);
        let mut words = match self.content(d, page, m) {
            Ok(Content::Absent) => {
                let at = d.directory.at(page).map(|position| self.page_of_sector(position));
                return Step::Need(at.into_iter().collect());
            }
            Ok(content) => content.words(d.blocks),
            Err(_) => return Step::Done(Written::Lost),
        };
        for (lba, word) in d.table.dirty_in(blocks.clone()) {
            words[(lba - blocks.start) as usize] = word;
        }
        let trimmed = trimmed.unwrap_or(blocks.start..blocks.start);
        let gone = &mut words[(trimmed.start - blocks.start) as usize..(trimmed.end - blocks.start) as usize];
        let gone: Vec<u32> = gone.iter_mut().map(std::mem::take).filter(|word| *word != 0).collect();
        let is_empty = words.iter().all(|word| *word == 0);
        if !is_empty && let Err(stall) = self.map_room(m, false) {
            return Step::Blocked(stall);
        }
        let (was_there, new) =
            (d.directory.at(page).is_some(), (!is_empty).then(|| self.put(page, &words, m)));
        w.work(Unit::CopyByte, u64::from(self.config.block_bytes));
        w.work(Unit::ChecksumByte, u64::from(self.config.block_bytes));
        gone.into_iter().for_each(|word| self.free(word));
        let d = self.dftl.as_mut().expect("the map is on flash");
        d.table.forget(trimmed);
        let mut written = blocks.clone();
        if planted::is(Fault::EntriesWrittenAlone)
            && let Some((first, _)) = d.table.dirty_in(blocks).next()
        {
            written = first..first + 1;
        }
        d.stats.batched += d.table.dirty_in(written.clone()).count() as u64;
        d.table.clean(written);
        d.stats.translation_reads += u64::from(was_there);
        d.stats.translation_writes += u64::from(new.is_some());
        let old = d.directory.replace(page, new);
        self.drop_translation(old);
        Step::Done(Written::Done)
    }

    fn put<M: SegmentStore>(&mut self, page: usize, words: &[u32], m: &mut M) -> (u64, u64) {
        let fill = |out: &mut [u8]| {
            debug_assert_eq!(out.len() as u64, words.len() as u64 * WORD_BYTES, "a word for each block");
            for (out, word) in out.as_chunks_mut().0.iter_mut().zip(words) {
                *out = word.to_le_bytes();
            }
            Ok::<_, BlockError>(())
        };
        let version = self.version;
        let position = self.append(Stream::Map, page as u64, EntryKind::Translation, fill, m);
        let position = position.expect("a translation page comes from memory");
        self.count_map_segments();
        (position, version)
    }

    /// A block is deallocated: its sector is not needed.
    fn free(&mut self, word: u32) {
        let Some(position) = word.checked_sub(1).map(u64::from) else { return };
        self.mapped -= 1;
        self.log.sub_live(self.segment_of(position), u64::from(self.config.block_bytes));
        self.leave(position);
        if let Some(d) = &mut self.dftl {
            d.live.clear(position);
        }
    }

    /// Nobody needs a translation page at that position.
    pub(super) fn drop_translation(&mut self, position: Option<u64>) {
        if let Some(position) = position {
            self.log.sub_live(self.segment_of(position), u64::from(self.config.block_bytes));
        }
    }

    /// Segments of translation pages are counted when one can have come or gone.
    pub(in crate::page_map) fn count_map_segments(&mut self) {
        if let Some(d) = &mut self.dftl {
            d.segments = self.log.segments_of(Stream::Map);
        }
    }
}
