// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading blocks that have lengths of their own ([`super::pairs`]).
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
use super::lookup::Seen;
use super::pairs::{LONG_HEAD, Pairs, open_long};
use super::table::Table;
use crate::ordered::parts::CheckedPart;
use crate::ordered::sum::Sum;
use saker_engine_api::KvError;
use saker_segment_store::SegmentStore;

impl LsmStore {
    /// A block with a length of its own. All its pages are asked for before any is looked at.
    pub(super) fn packed_block<'a, M: SegmentStore>(
        &'a self,
        table: &'a Table,
        n: usize,
        (start, end): (u32, u32),
        m: &'a M,
    ) -> Seen<'a> {
        let page_bytes = self.log.geometry().page_bytes;
        let (first, last) = (start / page_bytes, end.saturating_sub(1) / page_bytes);
        let mut is_absent = false;
        for page in first..=last {
            let begin = page * page_bytes;
            let looked = start.saturating_sub(begin)..(end - begin).min(page_bytes);
            match self.table_page(table, page as usize, looked, m) {
                Ok(_) => {}
                Err(Seen::Absent) => is_absent = true,
                Err(seen) => return seen,
            }
        }
        if is_absent {
            return Seen::Absent;
        }
        // A long pair may end where its page does.
        let pairs = || {
            let bytes = self.bytes_of(table, start..end, m);
            let span = (start % page_bytes, end - first * page_bytes);
            let of =
                self.noted(table, first as usize, m, |log, m, at| CheckedPart::spanning(log, m, at, span));
            Pairs::open_once(bytes, (table.id, n as u32), start, of).map(DataBlock::Pairs)
        };
        let block = if first == last { pairs() } else { None };
        let block = block.or_else(|| self.long_block(table, n, start, m));
        block.map_or(Seen::Bad(KvError::Corrupt), Seen::Here)
    }

    /// A block that crosses pages, all of which are here.
    fn long_block<M: SegmentStore>(
        &self,
        table: &Table,
        n: usize,
        start: u32,
        m: &M,
    ) -> Option<DataBlock<'static>> {
        let mut head = [0; LONG_HEAD];
        self.copy_of(table, start, &mut head, m)?;
        let (e, checksum, whole) = open_long(&head, table.id, n as u32, start)?;
        let (mut sum, mut at) = (Sum::new(), 4);
        while at < whole {
            let here = self.bytes_of(table, start + at..start + whole, m);
            if here.is_empty() {
                return None;
            }
            sum.update(here);
            at += here.len() as u32;
        }
        (sum.finish() == checksum).then_some(DataBlock::Long(e, whole))
    }
}
