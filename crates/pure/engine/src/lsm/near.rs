// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a search will look at in a block, asked of memory before the search begins: then its cache misses overlap.
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
use crate::ordered::block::{self, HEAD};
use crate::ordered::search::Share;
use saker_segment_store::{PageAddr, SegmentStore};
use saker_sim::Meter;
use std::ops::Range;

/// A cache line.
const LINE_BYTES: usize = 64;
/// How far before and behind the likely place of a key a search looks: a little more than the standard deviation (five of 45 bytes each) in the
/// middle of some 90 keys that are spread evenly.
const NEAR_BYTES: usize = 4 * LINE_BYTES;
/// Where pairs begin: the end of a block.
const BEGINS_BYTES: usize = 2 * LINE_BYTES;

impl LsmStore {
    /// The head of a block, and what is likely to be near a key in it.
    pub(super) fn touch_block<M: SegmentStore, W: Meter>(
        &self,
        table: &Table,
        n: usize,
        share: Option<Share>,
        m: &M,
        w: &mut W,
    ) {
        let Some((page, Range { start, end })) = self.first_page_of(table, n) else { return };
        let Some(memory) = m.ahead(page, start) else { return };
        let block = memory.get(..end.saturating_sub(start) as usize).unwrap_or(memory);
        block.first().into_iter().for_each(|head| w.touch(head));
        let Some(share) = share else { return };
        let near = share.of(block.len());
        let lines = block.get(near.saturating_sub(NEAR_BYTES).max(HEAD)..).unwrap_or_default();
        let lines = lines.get(..2 * NEAR_BYTES).unwrap_or(lines);
        lines.iter().step_by(LINE_BYTES).for_each(|byte| w.touch(byte));
        if table.index.has_starts() {
            let begins = block.get(block.len().saturating_sub(BEGINS_BYTES)..).unwrap_or_default();
            begins.iter().step_by(LINE_BYTES).for_each(|byte| w.touch(byte));
        }
    }

    /// The first page that has something of a block, and where that is in it.
    fn first_page_of(&self, table: &Table, n: usize) -> Option<(PageAddr, Range<u32>)> {
        let page_bytes = self.log.geometry().page_bytes;
        let (page, span) = match self.span_of_block(table, n) {
            Some((start, end)) => {
                let begin = start / page_bytes * page_bytes;
                (start / page_bytes, start - begin..(end - begin).min(page_bytes))
            }
            None => {
                let (blocks, n) = (block::blocks_per_page(page_bytes), n as u32);
                (n / blocks, block::span(page_bytes, n % blocks))
            }
        };
        table.pages.get(page as usize).filter(|_| table.pinned.is_empty()).map(|page| (*page, span))
    }
}
