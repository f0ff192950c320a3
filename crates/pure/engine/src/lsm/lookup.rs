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
use super::levels::LEVELS;
use super::table::Table;
use crate::ordered::block::{Block, block_bytes};
use crate::ordered::key::{Entry, Key};
use saker_engine_api::KvError;
use saker_log::page_of;
use saker_segment_store::{CellError, Page, Reads, SegmentStore, Step, ready};
use saker_sim::{Meter, Unit};

/// A block as it is now.
pub(super) enum Seen<'a> {
    /// Here it is.
    Here(Block<'a>),
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
    ) -> Step<(Result<Option<Entry>, KvError>, Reads)> {
        w.work(Unit::Probe, 2);
        let (mut looked, hash) = (Reads::new(), key.hash());
        let frozen = || self.own.frozen.iter().rev().find_map(|table| table.get_hashed(key, hash, version));
        if let Some(e) = self.mem.get_hashed(key, hash, version).or_else(frozen) {
            return Step::Done((Ok(Some(e)), looked));
        }
        if w.touches() {
            // Their cache misses overlap.
            self.candidates(key).for_each(|table| table.filter.touch(hash, w));
        }
        for table in self.candidates(key) {
            w.work(Unit::Probe, 1);
            if !table.filter.may_contain(hash) {
                continue;
            }
            match ready!(self.find_in(table, key, version, &mut looked, m, w)) {
                Ok(None) => {}
                found => return Step::Done((found, looked)),
            }
        }
        Step::Done((Ok(None), looked))
    }

    /// The tables that could have a key, in the order they must be asked.
    fn candidates(&self, key: &Key) -> impl Iterator<Item = &Table> {
        let young = self.own.levels.level(0).iter().filter(|t| t.covers(key));
        let deeper = (1..LEVELS).filter_map(|n| self.own.levels.covering(n, key));
        young.chain(deeper).map(AsRef::as_ref)
    }

    fn find_in<M: SegmentStore, W: Meter>(
        &self,
        table: &Table,
        key: &Key,
        version: u64,
        looked: &mut Reads,
        m: &M,
        w: &mut W,
    ) -> Step<Result<Option<Entry>, KvError>> {
        let first = table.block_of(key, version);
        // An entry that an older snapshot wants can be the first of the next block.
        for n in first..table.index.len().min(first + 2) {
            if n > first && table.index.key(n) != key {
                break;
            }
            self.note_page(table, n, looked);
            let block = match self.block(table, n, m) {
                Seen::Here(block) => block,
                Seen::Absent => return Step::Need(std::mem::take(looked)),
                Seen::Bad(e) => return Step::Done(Err(e)),
            };
            w.work(Unit::ChecksumByte, u64::from(block_bytes(self.log.geometry().page_bytes)));
            w.work(Unit::Compare, 7);
            if let Some(e) = block.get(block.lower_bound(key, version)) {
                return Step::Done(Ok((e.key == *key).then_some(e)));
            }
        }
        Step::Done(Ok(None))
    }

    /// The pages that the next call will look at, too.
    pub(super) fn note_page(&self, table: &Table, n: usize, looked: &mut Reads) {
        let page = n / self.blocks_per_page();
        let Some(at) = table.pages.get(page) else { return };
        if table.pinned.is_empty() && !looked.contains(at) {
            looked.push(*at);
        }
    }

    pub(super) fn blocks_per_page(&self) -> usize {
        let page_bytes = self.log.geometry().page_bytes;
        (page_bytes / block_bytes(page_bytes)) as usize
    }

    /// A block of a table.
    pub(super) fn block<'a, M: SegmentStore>(&'a self, table: &'a Table, n: usize, m: &'a M) -> Seen<'a> {
        let (page, part) = (n / self.blocks_per_page(), n % self.blocks_per_page());
        let data = match table.pinned.get(page) {
            Some(bytes) => bytes.as_slice(),
            None => match table.pages.get(page).map(|page| page_of(&self.log, m, *page)) {
                Some(Page::Resident { data, .. }) => data,
                Some(Page::Absent) => return Seen::Absent,
                _ => return Seen::Bad(CellError::Read.into()),
            },
        };
        let bytes = block_bytes(self.log.geometry().page_bytes) as usize;
        let block = data.get(part * bytes..(part + 1) * bytes);
        match block.and_then(|block| Block::open(block, table.id, n as u32)) {
            Some(block) => Seen::Here(block),
            None => Seen::Bad(KvError::Corrupt),
        }
    }
}
