// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From blocks to sectors: the cached mapping table, then translation pages.

use super::Dftl;
use crate::page_map::entry::EntryKind;
use crate::page_map::{BlockError, PageMap};
use saker_log::page_of;
use saker_segment_store::planted::{self, Fault};
use saker_segment_store::{Page, Reads, SegmentStore, Stall, Step};

/// What a translation page says.
pub(super) enum Content<'m> {
    /// There is none: its blocks are not mapped.
    Unmapped,
    /// It has to be read first.
    Absent,
    /// Its words.
    Here(&'m [u8]),
}

impl Content<'_> {
    /// A word of it; 0 of one that is absent.
    fn word(&self, n: u64) -> u32 {
        let Self::Here(bytes) = self else { return 0 };
        let word = bytes.as_chunks::<4>().0.get(n as usize);
        word.map_or(0, |word| u32::from_le_bytes(*word))
    }

    /// All of its words.
    pub(super) fn words(&self, blocks: u64) -> Vec<u32> {
        (0..blocks).map(|n| self.word(n)).collect()
    }
}

/// The map words of some blocks, as far as they are known.
#[derive(Debug, Default)]
pub struct Translated {
    /// A word for each block; `None`: its translation page is absent.
    pub words: Vec<Option<u32>>,
    /// The flash pages of translation pages that were looked at.
    pub reads: Reads,
    /// Translation pages that were looked at.
    pages: u64,
    /// Whether one of them is absent.
    pub is_absent: bool,
}

impl PageMap {
    /// A translation page, wherever it is now.
    pub(super) fn content<'m, M: SegmentStore>(
        &self,
        d: &Dftl,
        page: usize,
        m: &'m M,
    ) -> Result<Content<'m>, BlockError> {
        let Some(position) = d.directory.at(page) else { return Ok(Content::Unmapped) };
        if matches!(page_of(&self.log, m, self.page_of_sector(position)), Page::Absent) {
            return Ok(Content::Absent);
        }
        self.sector(EntryKind::Translation, page as u64, position, m).map(Content::Here)
    }

    /// The map words of blocks. Changes nothing.
    pub(in crate::page_map) fn translate<M: SegmentStore>(
        &self,
        d: &Dftl,
        first: u64,
        blocks: u32,
        m: &M,
    ) -> Result<Translated, BlockError> {
        let mut found = Translated::default();
        let mut last: Option<(usize, Content<'_>)> = None;
        for lba in first..first + u64::from(blocks) {
            if let Some(word) = d.known(lba) {
                found.words.push(Some(word));
                continue;
            }
            let page = d.page_of(lba);
            if last.as_ref().is_none_or(|(other, _)| *other != page) {
                last = Some((page, self.content(d, page, m)?));
                found.pages += u64::from(d.directory.at(page).is_some());
                let at = d.directory.at(page).map(|position| self.page_of_sector(position));
                found.reads.extend(at.filter(|at| found.reads.last() != Some(at)));
            }
            let word = match &last {
                Some((_, Content::Absent)) | None => None,
                Some((_, content)) => Some(content.word(lba % d.blocks)),
            };
            found.is_absent |= word.is_none();
            found.words.push(word);
        }
        Ok(found)
    }

    /// The same for blocks that are to be written: there is room for their entries.
    pub(in crate::page_map) fn translate_for_write<M: SegmentStore>(
        &mut self,
        first: u64,
        blocks: u32,
        m: &M,
    ) -> Step<Result<Translated, BlockError>> {
        let Some(d) = &self.dftl else { return Step::Done(Ok(Translated::default())) };
        let range = first..first + u64::from(blocks);
        if d.is_trimming(range.clone()) {
            return Step::Blocked(Stall::Debt);
        }
        let found = match self.translate(d, first, blocks, m) {
            Ok(found) if found.is_absent => return Step::Need(found.reads),
            Ok(found) => found,
            Err(e) => return Step::Done(Err(e)),
        };
        let new = range.filter(|lba| !d.table.is_dirty(*lba)).count();
        if d.table.room() < new {
            self.dftl.as_mut().into_iter().for_each(|d| d.wanted = new);
            return Step::Blocked(Stall::Debt);
        }
        self.dftl.as_mut().into_iter().for_each(|d| d.wanted = 0);
        Step::Done(Ok(found))
    }

    /// Block `n` of those that were looked at gets another sector in a moment: its entry is in the table.
    pub(in crate::page_map) fn hold(&mut self, lba: u64, found: &Translated, n: u32) {
        if let (Some(d), Some(Some(word))) = (&mut self.dftl, found.words.get(n as usize)) {
            d.table.hold(lba, *word);
        }
    }

    /// A block that is in this sector gets another one in a moment.
    pub(in crate::page_map) fn hold_moved(&mut self, lba: u64, position: u64) {
        if let Some(d) = &mut self.dftl {
            d.table.hold(lba, position as u32 + 1);
        }
    }

    /// Counts what [`translate`](Self::translate) found; what it found on flash for a read is kept if there is room.
    pub(in crate::page_map) fn translated(&mut self, first: u64, found: &Translated, is_read: bool) {
        let Some(d) = &mut self.dftl else { return };
        for (lba, word) in (first..).zip(&found.words) {
            if d.known(lba).is_some() {
                d.stats.hits += 1;
                d.table.touch(lba);
            } else {
                d.stats.misses += 1;
                if let (Some(word), true) = (word, is_read && !planted::is(Fault::TableKeepsNoReads)) {
                    d.table.keep(lba, *word);
                }
            }
        }
        d.stats.translation_reads += found.pages;
    }

    /// Whether a sector is that of a block.
    pub(in crate::page_map) fn is_mapped_at(&self, lba: u64, position: u64) -> bool {
        match &self.dftl {
            None => self.map.get(lba as usize) == Some(&(position as u32 + 1)),
            Some(d) => d.live.is(position),
        }
    }
}
