// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trims. A record in the log has them all or none, as with a map in memory. Translation pages follow one by one in the background:
//! what a trim takes at once does not grow with its ranges. Meanwhile its blocks read as zeros, and writes to them wait.

use super::evict::Written;
use crate::page_map::PageMap;
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;

impl PageMap {
    /// Whether an earlier trim is under way: the next one waits for it.
    pub(in crate::page_map) fn is_trimming(&self) -> bool {
        self.dftl.as_ref().is_some_and(|d| !d.trimming.is_empty())
    }

    /// The record of these ranges is in the log. False if the map is in memory.
    pub(in crate::page_map) fn trim_later(&mut self, ranges: &[(u64, u64)]) -> bool {
        let Some(d) = &mut self.dftl else { return false };
        d.trimming.extend(ranges.iter().filter(|(_, n)| *n > 0).map(|(first, n)| *first..first + n));
        true
    }

    /// Deallocates the blocks of the next translation page that has any. With `Need` or `Blocked` nothing has changed.
    pub(super) fn trim_quantum<M: SegmentStore, W: Meter>(&mut self, m: &mut M, w: &mut W) -> Step<()> {
        let Some(d) = &mut self.dftl else { return Step::Done(()) };
        let Some(range) = d.trimming.front().cloned() else { return Step::Done(()) };
        // Translation pages that are not there have nothing but what is dirty.
        let is_mapped = |page: usize| {
            d.directory.at(page).is_some() || d.table.dirty_in(d.blocks_of(page)).next().is_some()
        };
        let pages = d.page_of(range.start)..=d.page_of(range.end - 1);
        let Some(page) = pages.into_iter().find(|page| is_mapped(*page)) else {
            d.table.forget(range);
            d.trimming.pop_front();
            return Step::Done(());
        };
        let blocks = d.blocks_of(page);
        let part = blocks.start.max(range.start)..blocks.end.min(range.end);
        let step = self.write_translation(page, Some(part.clone()), m, w);
        step.map(|written| {
            let Some(d) = &mut self.dftl else { return };
            if written == Written::Lost {
                // Its blocks cannot be read, and are not deallocated.
                d.lost.insert(page);
            }
            d.table.forget(range.start..part.start);
            d.trimming.pop_front();
            if part.end < range.end {
                d.trimming.push_front(part.end..range.end);
            }
        })
    }
}
