// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery of a map on flash. All translation pages are looked at, and those that the last checkpoint names are taken. Then each
//! is read and brought up to date by the checkpoint's entries and the log behind it. What differs stays in the table as dirty; background
//! work brings the table to its size. Recovery writes nothing, so a cut in it changes nothing.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::checkpoint::{ENTRIES, ENTRY_BYTES, PAGES, VERSION_BYTES};
use super::translate::Content;
use crate::page_map::PageMap;
use crate::page_map::entry::{EntryKind, sector};
use saker_log::recover::{Damage, Recovered, scan_page};
use saker_log::{SegmentState, page_of};
use saker_segment_store::{Page, PageAddr, SegmentStore, Step, Stream, ready};
use std::collections::BTreeMap;
use std::ops::Range;

/// Blocks that got this map word: one that was written, or a range that was deallocated.
type Event = (Range<u64>, u32);

/// What is known of the map before it is whole.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// Dirty entries of the checkpoint.
    entries: BTreeMap<u64, u32>,
    /// Versions of translation pages that the checkpoint names.
    versions: BTreeMap<usize, u64>,
    /// What came after it, by translation page.
    events: BTreeMap<usize, Vec<Event>>,
    /// Segments of translation pages that are still to be looked at, and the next page of the last one.
    left: Vec<Recovered>,
    page: u32,
    /// What is wrong with one of their pages.
    damage: Option<Damage>,
    /// The next translation page to bring up to date.
    next: usize,
}

impl Replay {
    /// Enters a chunk of a checkpoint; false if it is not one of a map on flash.
    pub fn enter_chunk(&mut self, payload: &[u8]) -> bool {
        let Some((head, rest)) = payload.split_first_chunk::<8>() else { return false };
        let head = u64::from_le_bytes(*head);
        if head == ENTRIES {
            let (entries, rest) = rest.as_chunks::<ENTRY_BYTES>();
            let entry = |[a, b, c, d, e, f, g, h, word @ ..]: &[u8; ENTRY_BYTES]| {
                (u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]), u32::from_le_bytes(*word))
            };
            self.entries.extend(entries.iter().map(entry));
            return rest.is_empty();
        }
        let (versions, rest) = rest.as_chunks::<VERSION_BYTES>();
        let first = (head & !PAGES) as usize;
        let versions = versions.iter().map(|version| u64::from_le_bytes(*version)).enumerate();
        let named = versions.filter(|(_, version)| *version > 0);
        self.versions.extend(named.map(|(n, version)| (first.saturating_add(n), version)));
        head & PAGES != 0 && rest.is_empty()
    }

    /// What chunks said is not part of a whole checkpoint.
    pub fn forget(&mut self) {
        self.entries.clear();
        self.versions.clear();
    }

    /// Segments of translation pages, all of which are looked at.
    pub fn look_at(&mut self, segments: &[Recovered]) {
        self.left = segments.iter().filter(|r| r.stream == Stream::Map).copied().collect();
    }
}

impl PageMap {
    /// The blocks got this map word, behind all that was noted before.
    pub(in crate::page_map) fn note_event(&self, replay: &mut Replay, blocks: Range<u64>, word: u32) {
        let Some(d) = &self.dftl else { return };
        let end = blocks.end.min(self.config.blocks);
        let mut first = blocks.start;
        while first < end {
            let page = d.page_of(first);
            let part = first..d.blocks_of(page).end.min(end);
            first = part.end;
            replay.events.entry(page).or_default().push((part, word));
        }
    }

    /// Looks at one page of translation pages. True: that was all.
    pub(in crate::page_map) fn find_translations<M: SegmentStore>(
        &mut self,
        replay: &mut Replay,
        m: &M,
    ) -> Step<Result<bool, Damage>> {
        let Some(r) = replay.left.last().copied() else {
            return Step::Done(self.all_found(replay).map(|()| true));
        };
        if replay.page >= r.pages {
            replay.left.pop();
            replay.page = 0;
            return Step::Done(Ok(false));
        }
        let addr = self.log.geometry().page(r.id, replay.page);
        match ready!(scan_page(&self.log, m, addr)) {
            // It counts only if a translation page is not found.
            Err(damage) => {
                replay.damage.get_or_insert(damage);
            }
            Ok(None) => {}
            Ok(Some(page)) => self.enter_translations(replay, addr, page.used_bytes, m),
        }
        replay.page += 1;
        Step::Done(Ok(false))
    }

    fn enter_translations<M: SegmentStore>(&mut self, replay: &Replay, addr: PageAddr, used: u32, m: &M) {
        let bytes = self.config.block_bytes;
        let Page::Resident { data, oob } = page_of(&self.log, m, addr) else { return };
        for index in 0..used / bytes {
            let Some((_, e)) = sector(data, oob, index as usize, bytes as usize) else { continue };
            if e.kind != EntryKind::Translation {
                continue;
            }
            // No version is given twice.
            self.version = self.version.max(e.version + 1);
            let page = e.lba as usize;
            let position = addr.0 * self.sectors_per_page() + u64::from(index);
            if let (Some(d), Some(version)) = (&mut self.dftl, replay.versions.get(&page))
                && *version == e.version
            {
                d.directory.restore(page, position, e.version);
            }
        }
    }

    fn all_found(&mut self, replay: &mut Replay) -> Result<(), Damage> {
        let Some(d) = &self.dftl else { return Ok(()) };
        if let Some(page) = replay.versions.keys().find(|page| d.directory.at(**page).is_none()) {
            let what = format!("translation page {page}, which it names, is not there");
            let owner = self.config.owner;
            return Err(replay.damage.take().unwrap_or(Damage::Checkpoint { owner, what }));
        }
        let found: Vec<_> = d.directory.positions().collect();
        for (_, position) in found {
            self.log.add_live(self.segment_of(position), u64::from(self.config.block_bytes));
        }
        self.count_map_segments();
        Ok(())
    }

    /// Brings one translation page up to date. True: that was the last one.
    pub(in crate::page_map) fn replay_page<M: SegmentStore>(
        &mut self,
        replay: &mut Replay,
        m: &M,
    ) -> Step<Result<bool, Damage>> {
        let Some(d) = self.dftl.as_ref().filter(|d| replay.next < d.directory.pages()) else {
            return Step::Done(Ok(true));
        };
        let page = replay.next;
        let base = match self.content(d, page, m) {
            Ok(Content::Absent) => {
                let at = d.directory.at(page).map(|position| self.page_of_sector(position));
                return Step::Need(at.into_iter().collect());
            }
            Ok(content) => content.words(d.blocks),
            Err(e) => {
                let what = format!("translation page {page} cannot be read: {e}");
                return Step::Done(Err(Damage::Checkpoint { owner: self.config.owner, what }));
            }
        };
        let blocks = d.blocks_of(page);
        let entries = replay.entries.range(blocks.clone()).map(|(lba, word)| (*lba..lba + 1, *word));
        let events = entries.chain(replay.events.remove(&page).unwrap_or_default());
        let mut words = base.clone();
        let all = blocks.start..blocks.end.min(self.config.blocks);
        let mut is_gone = false;
        for (part, word) in events {
            is_gone |= word == 0 && part == all;
            let place = (part.start - blocks.start) as usize..(part.end - blocks.start) as usize;
            words.get_mut(place).into_iter().for_each(|words| words.fill(word));
        }
        replay.next += 1;
        // Where all of it was deallocated once, it is as if it had never been there.
        let base = if is_gone { vec![0; base.len()] } else { base };
        Step::Done(self.adopt_words(page, is_gone, &base, &words).map(|()| false))
    }

    fn adopt_words(&mut self, page: usize, is_gone: bool, base: &[u32], words: &[u32]) -> Result<(), Damage> {
        let first = self.dftl.as_ref().map_or(0, |d| d.blocks_of(page).start);
        for (lba, (old, word)) in (first..).zip(base.iter().zip(words)) {
            if let Some(position) = word.checked_sub(1) {
                self.adopt_sector(u64::from(position))?;
            }
            if let (Some(d), true) = (&mut self.dftl, old != word) {
                d.table.restore(lba, *word);
            }
        }
        let old = self.dftl.as_mut().filter(|_| is_gone).and_then(|d| d.directory.replace(page, None));
        self.drop_translation(old);
        Ok(())
    }

    fn adopt_sector(&mut self, position: u64) -> Result<(), Damage> {
        let id = self.segment_of(position);
        let owner = self.config.owner;
        let holds = |s: &saker_log::Segment| s.state != SegmentState::Absent && s.stream().holds_records();
        if !self.log.find_segment(id).is_some_and(holds) {
            let what = format!("it names segment {}, which holds no blocks of this namespace", id.0);
            return Err(Damage::Checkpoint { owner, what });
        }
        if !self.dftl.as_mut().is_some_and(|d| d.live.set(position)) {
            let what = format!("two blocks are in the sector at {position}");
            return Err(Damage::Checkpoint { owner, what });
        }
        self.log.add_live(id, u64::from(self.config.block_bytes));
        self.mapped += 1;
        Ok(())
    }
}
