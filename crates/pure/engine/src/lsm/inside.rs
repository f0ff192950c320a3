// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where values beside their keys are: in memtables, or in blocks of tables. An entry that was read says so in its stamp, which holds
//! as long as nothing changes: within the call that has read it.
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
use super::table::Table;
use crate::ordered::key::Entry;
use saker_log::part_of;
use saker_segment_store::{Page, PageAddr, SegmentStore};
use std::ops::Range;

/// Whose an entry is: above the 32 bits of a stamp that say where in it the value begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whose(u32);

const LEVEL_SHIFT: u32 = 24;
const NUMBER_MASK: u32 = (1 << LEVEL_SHIFT) - 1;
const MEMTABLES: u32 = 0xff;
/// Where in a table or a memtable a value begins.
const AT_BITS: u32 = 32;

impl Whose {
    /// The memtable that is written.
    pub const MEMTABLE: Self = Self(MEMTABLES << LEVEL_SHIFT);

    /// The frozen memtable of that number, the oldest having 0.
    pub const fn frozen(n: usize) -> Self {
        Self((MEMTABLES << LEVEL_SHIFT) | (n as u32 + 1))
    }

    /// A table of level 0 by its place there; in another level a key tells which it is.
    pub const fn table(level: usize, n: usize) -> Self {
        Self((level as u32) << LEVEL_SHIFT | n as u32)
    }

    /// The entry as one of that memtable or table.
    #[inline]
    pub fn mark(self, e: Entry) -> Entry {
        if !e.is_inside() {
            return e;
        }
        Entry { stamp: e.stamp & u64::from(u32::MAX) | u64::from(self.0) << AT_BITS, ..e }
    }
}

/// What has a value.
enum Holder<'a> {
    Memtable(&'a [u8]),
    Table(&'a Table),
}

impl LsmStore {
    fn holder(&self, e: &Entry) -> Option<Holder<'_>> {
        let whose = (e.stamp >> AT_BITS) as u32;
        let (level, n) = ((whose >> LEVEL_SHIFT), (whose & NUMBER_MASK) as usize);
        Some(match (level, n.checked_sub(1)) {
            (MEMTABLES, None) => Holder::Memtable(self.mem.value(e)),
            (MEMTABLES, Some(n)) => Holder::Memtable(self.own.frozen.get(n)?.value(e)),
            (0, _) => Holder::Table(self.own.levels.level(0).get(n)?),
            (level, _) => Holder::Table(self.own.levels.covering(level as usize, &e.key)?),
        })
    }

    /// The bytes from `offset` on of a value beside its key, as far as they lie in one piece; none behind its end.
    pub(super) fn value_inside<'a, M: SegmentStore>(&'a self, e: &Entry, offset: u32, m: &'a M) -> &'a [u8] {
        let left = e.addr.value_bytes_inside().saturating_sub(offset);
        let bytes = match self.holder(e) {
            Some(Holder::Memtable(value)) => value.get(offset as usize..).unwrap_or_default(),
            Some(Holder::Table(table)) => {
                let begin = (e.stamp as u32).saturating_add(offset);
                self.bytes_of(table, begin..begin.saturating_add(left), m)
            }
            None => &[],
        };
        bytes.get(..left as usize).unwrap_or(bytes)
    }

    /// The bytes of a table in a range, as far as they lie in one page; none if that is not here.
    pub(super) fn bytes_of<'a, M: SegmentStore>(
        &'a self,
        table: &'a Table,
        range: Range<u32>,
        m: &'a M,
    ) -> &'a [u8] {
        let page_bytes = self.log.geometry().page_bytes;
        let (page, start) = ((range.start / page_bytes) as usize, range.start % page_bytes);
        let end = start.saturating_add(range.end.saturating_sub(range.start)).min(page_bytes);
        let data = match table.pinned.get(page) {
            Some(bytes) => bytes.as_slice(),
            None => match table.pages.get(page).map(|page| part_of(&self.log, m, *page, start..end)) {
                Some(Page::Resident { data, .. }) => data,
                _ => &[],
            },
        };
        data.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Copies bytes of a table from one on; `None` unless all are here.
    pub(super) fn copy_of<M: SegmentStore>(
        &self,
        table: &Table,
        at: u32,
        out: &mut [u8],
        m: &M,
    ) -> Option<()> {
        let (mut at, mut rest) = (at, out);
        while !rest.is_empty() {
            let here = self.bytes_of(table, at..at.saturating_add(rest.len() as u32), m);
            let n = here.len().min(rest.len());
            let (to, left) = std::mem::take(&mut rest).split_at_mut_checked(n)?;
            to.copy_from_slice(here.get(..n).filter(|here| !here.is_empty())?);
            (at, rest) = (at + n as u32, left);
        }
        Some(())
    }

    /// The pages of a block of a table.
    pub(super) fn pages_of_block<'t>(&self, table: &'t Table, n: usize) -> &'t [PageAddr] {
        let (first, last) = self.place_of_block(table, n);
        table.pages.get(first..=last).unwrap_or_default()
    }

    /// The first and the last of a table's pages that have something of a block.
    pub(super) fn place_of_block(&self, table: &Table, n: usize) -> (usize, usize) {
        match self.span_of_block(table, n) {
            Some((start, end)) => {
                let page_bytes = self.log.geometry().page_bytes;
                ((start / page_bytes) as usize, (end.saturating_sub(1) / page_bytes) as usize)
            }
            None => (n / self.blocks_per_page(), n / self.blocks_per_page()),
        }
    }

    /// Where a packed block begins and the next one does.
    pub(super) fn span_of_block(&self, table: &Table, n: usize) -> Option<(u32, u32)> {
        let end = table.pages.len() as u64 * self.page_bytes();
        table.index.span(n, u32::try_from(end).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ordered::key::Key;
    use saker_value_log::RecordAddr;

    #[test]
    fn marks_are_above_where_a_value_begins() {
        let key = Key::new(b"k").unwrap();
        let e = Entry { key, version: 1, addr: RecordAddr::inside(1, 10), stamp: 0xffff_fff8 };
        let stamps = [Whose::MEMTABLE, Whose::frozen(2), Whose::table(0, 5), Whose::table(6, 0)]
            .map(|whose| whose.mark(e).stamp);
        assert_eq!(
            stamps,
            [0xff00_0000_ffff_fff8, 0xff00_0003_ffff_fff8, 0x5_ffff_fff8, 0x0600_0000_ffff_fff8]
        );
        assert_eq!(Whose::table(0, 5).mark(Whose::MEMTABLE.mark(e)).stamp, stamps[2]);
        let apart = Entry { addr: RecordAddr::new(64, 32, 1), stamp: 7, ..e };
        assert_eq!(Whose::MEMTABLE.mark(apart), apart);
    }
}
