// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding the entry of a key: memtables, level 0 from the youngest table, then one table of each level.
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

use super::LsmStore;
use super::data_block::DataBlock;
use super::inside::Whose;
use super::levels::LEVELS;
use super::table::Table;
use crate::ordered::block::{self, BLOCK_BYTES, Block};
use crate::ordered::key::{Entry, Key};
use crate::ordered::parts::CheckedPart;
use saker_engine_api::KvError;
use saker_log::{Log, part_of};
use saker_segment_store::{CellError, Looked, Page, PageAddr, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};
use std::ops::Range;

/// A block as it is now.
pub(super) enum Seen<'a> {
    /// Here it is.
    Here(DataBlock<'a>),
    /// Its page must be brought.
    Absent,
    /// It cannot be read.
    Bad(KvError),
}

impl LsmStore {
    /// The newest entry of a key that is not newer than `version`, tombstones included; and the pages that were looked at.
    pub(super) fn find<M: SegmentStore, W: Meter>(
        &self,
        key: &Key,
        version: u64,
        m: &M,
        w: &mut W,
    ) -> Step<(Result<Option<Entry>, KvError>, Looked)> {
        w.work(Unit::Probe, 2);
        let (mut looked, hash) = (Looked::new(), key.hash());
        if w.touches() {
            // Their cache misses overlap.
            self.mem.touch(hash, w);
            self.candidates(key).for_each(|(_, table)| table.filter.touch(hash, w));
        }
        if let Some(e) = self.find_buffered(key, hash, version) {
            return Step::Done((Ok(Some(e)), looked));
        }
        for (whose, table) in self.candidates(key) {
            w.work(Unit::Probe, 1);
            if !table.filter.may_contain(hash) {
                continue;
            }
            let first = self.near(table, key, version, m, w);
            match ready!(self.find_in((table, first), key, version, &mut looked, m, w)) {
                Ok(None) => {}
                found => return Step::Done((found.map(|e| e.map(|e| whose.mark(e))), looked)),
            }
        }
        Step::Done((Ok(None), looked))
    }

    /// The same in memtables.
    #[inline]
    pub(super) fn find_buffered(&self, key: &Key, hash: u64, version: u64) -> Option<Entry> {
        if let Some(e) = self.mem.get_hashed(key, hash, version) {
            return Some(Whose::MEMTABLE.mark(e));
        }
        let mut frozen = self.own.frozen.iter().enumerate().rev();
        frozen.find_map(|(n, table)| table.get_hashed(key, hash, version).map(|e| Whose::frozen(n).mark(e)))
    }

    /// The tables that could have a key, in the order they must be asked.
    pub(super) fn candidates<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = (Whose, &'a Table)> {
        let young = self.own.levels.level(0).iter().enumerate().filter(|(_, t)| t.covers(key));
        let young = young.map(|(n, table)| (Whose::table(0, n), table));
        let deeper =
            (1..LEVELS).filter_map(|n| Some((Whose::table(n, 0), self.own.levels.covering(n, key)?)));
        young.chain(deeper).map(|(whose, table)| (whose, table.as_ref()))
    }

    /// The block of a table in which an entry is or the next one would be. What is near it there is asked for.
    #[inline]
    pub(super) fn near<M: SegmentStore, W: Meter>(
        &self,
        table: &Table,
        key: &Key,
        version: u64,
        m: &M,
        w: &mut W,
    ) -> usize {
        let first = table.block_of(key, version);
        if w.touches() {
            self.touch_block(table, first, table.share(first, key), m, w);
        }
        first
    }

    /// The entry of a key in a table, from the block on that it is near.
    pub(super) fn find_in<M: SegmentStore, W: Meter>(
        &self,
        (table, first): (&Table, usize),
        key: &Key,
        version: u64,
        looked: &mut Looked,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        // An entry that an older snapshot wants can be the first of the next block.
        for n in first..table.index.len().min(first + 2) {
            if n > first && table.index.key(n) != key {
                break;
            }
            self.note_page(table, n, looked);
            let block = match self.block(table, n, m) {
                Seen::Here(block) => block,
                Seen::Absent => return Step::Need(looked.take()),
                Seen::Bad(e) => return Step::Done(Err(e)),
            };
            w.work(Unit::ChecksumByte, block.checked_bytes(self.log.geometry().page_bytes.min(BLOCK_BYTES)));
            w.work(Unit::Compare, 7);
            let at = match table.share(n, key) {
                Some(share) => block.lower_bound_near(key, version, share),
                None => block.lower_bound(key, version),
            };
            if let Some(e) = block.get(at) {
                return Step::Done(Ok((e.key == *key).then_some(e)));
            }
        }
        Step::Done(Ok(None))
    }

    /// The pages that the next call will look at, too.
    pub(super) fn note_page(&self, table: &Table, n: usize, looked: &mut Looked) {
        if !table.pinned.is_empty() {
            return;
        }
        for at in self.pages_of_block(table, n) {
            looked.note(*at);
        }
    }

    pub(super) fn blocks_per_page(&self) -> usize {
        block::blocks_per_page(self.log.geometry().page_bytes) as usize
    }

    /// A block of a table.
    pub(super) fn block<'a, M: SegmentStore>(&'a self, table: &'a Table, n: usize, m: &'a M) -> Seen<'a> {
        if let Some(span) = self.span_of_block(table, n) {
            return self.packed_block(table, n, span, m);
        }
        let (page, part) = (n / self.blocks_per_page(), n % self.blocks_per_page());
        let span = block::span(self.log.geometry().page_bytes, part as u32);
        let data = match self.table_page(table, page, span.clone(), m) {
            Ok(data) => data,
            Err(seen) => return seen,
        };
        let block = data.get(span.start as usize..span.end as usize);
        let of = self.noted(table, page, m, |log, m, at| CheckedPart::numbered(log, m, at, part as u32));
        match block.and_then(|block| Block::open_once(block, table.id, n as u32, of)) {
            Some(block) => Seen::Here(DataBlock::Entries(block)),
            None => Seen::Bad(KvError::Corrupt),
        }
    }

    /// The bytes of a table's page, of which those in a range are looked at.
    pub(super) fn table_page<'a, M: SegmentStore>(
        &'a self,
        table: &'a Table,
        n: usize,
        bytes: Range<u32>,
        m: &'a M,
    ) -> Result<&'a [u8], Seen<'a>> {
        match table.pinned.get(n) {
            Some(bytes) => Ok(bytes.as_slice()),
            None => match table.pages.get(n).map(|page| part_of(&self.log, m, *page, bytes)) {
                Some(Page::Resident { data, .. }) => Ok(data),
                Some(Page::Absent) => Err(Seen::Absent),
                _ => Err(Seen::Bad(CellError::Read.into())),
            },
        }
    }

    /// The part of a table's page that a block is. Nothing is noted of pinned pages, which are copies.
    #[inline]
    pub(super) fn noted<'m, M: SegmentStore>(
        &self,
        table: &Table,
        page: usize,
        m: &'m M,
        part: impl FnOnce(&Log, &'m M, PageAddr) -> CheckedPart<'m>,
    ) -> CheckedPart<'m> {
        match table.pages.get(page) {
            Some(at) if table.pinned.is_empty() => part(&self.log, m, *at),
            _ => CheckedPart::NONE,
        }
    }
}
