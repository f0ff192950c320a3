// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Free blocks. What was freed stays as it is until the record of that is durable: a cut before it would bring the file back.

use crate::extent::Extent;
use std::collections::BTreeMap;

/// Free blocks of the data part of a device.
#[derive(Clone, Debug)]
pub struct SpaceMap {
    /// Length by start; no two touch.
    free: BTreeMap<u64, u64>,
    free_blocks: u64,
    /// Freed by operations whose record is not durable yet.
    awaiting: Vec<Extent>,
    awaiting_blocks: u64,
    /// Where the last allocation ended: the next one begins there, so that what is written together lies together.
    next: u64,
}

impl SpaceMap {
    /// All of it is free.
    pub fn new(all: Extent) -> Self {
        let (free, free_blocks) = (BTreeMap::from([(all.start, all.blocks)]), all.blocks);
        Self { free, free_blocks, awaiting: Vec::new(), awaiting_blocks: 0, next: all.start }
    }

    /// Blocks that can be had now.
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// Blocks that can be had when the next record is durable.
    pub fn awaiting_blocks(&self) -> u64 {
        self.awaiting_blocks
    }

    /// One run of free blocks.
    pub fn has(&self, extent: Extent) -> bool {
        let before = self.free.range(..=extent.start).next_back();
        before.is_some_and(|(start, blocks)| start + blocks >= extent.end())
    }

    /// Takes blocks that are free. False: one is not.
    pub fn take(&mut self, extent: Extent) -> bool {
        if !self.has(extent) {
            return false;
        }
        let found = self.free.range(..=extent.start).next_back().map(|(start, blocks)| (*start, *blocks));
        let Some((start, blocks)) = found else { return false };
        self.free.remove(&start);
        if start < extent.start {
            self.free.insert(start, extent.start - start);
        }
        if extent.end() < start + blocks {
            self.free.insert(extent.end(), start + blocks - extent.end());
        }
        self.free_blocks -= extent.blocks;
        true
    }

    /// A run of at most `most` blocks: right behind `behind` if those are free, else in the first run behind the last allocation that
    /// is long enough, else the longest one.
    pub fn allocate(&mut self, most: u64, behind: Option<u64>) -> Option<Extent> {
        let at = behind.filter(|start| self.free.contains_key(start)).or_else(|| self.choose(most))?;
        let blocks = self.free.get(&at)?.min(&most);
        let extent = Extent { start: at, blocks: *blocks };
        let taken = self.take(extent);
        assert!(taken, "a run that was found is free");
        self.next = extent.end();
        Some(extent)
    }

    fn choose(&self, most: u64) -> Option<u64> {
        let ahead = self.free.range(self.next..).chain(self.free.range(..self.next));
        let fits = ahead.clone().find(|(_, blocks)| **blocks >= most);
        fits.or_else(|| ahead.max_by_key(|(_, blocks)| **blocks)).map(|(start, _)| *start)
    }

    /// These blocks are free now: no durable record names them.
    pub fn give(&mut self, extent: Extent) {
        let (mut start, mut end) = (extent.start, extent.end());
        if let Some((&before, &blocks)) = self.free.range(..start).next_back() {
            assert!(before + blocks <= start, "no block is freed twice");
            if before + blocks == start {
                self.free.remove(&before);
                start = before;
            }
        }
        if let Some((&behind, &blocks)) = self.free.range(extent.start..).next() {
            assert!(behind >= end, "no block is freed twice");
            if behind == end {
                self.free.remove(&behind);
                end = behind + blocks;
            }
        }
        self.free.insert(start, end - start);
        self.free_blocks += extent.blocks;
    }

    /// These blocks are free when the next record is durable.
    pub fn give_later(&mut self, extent: Extent) {
        self.awaiting_blocks += extent.blocks;
        self.awaiting.push(extent);
    }

    /// The record is durable: what it freed is free, and is returned to be trimmed.
    pub fn durable(&mut self) -> Vec<Extent> {
        let freed = std::mem::take(&mut self.awaiting);
        freed.iter().for_each(|extent| self.give(*extent));
        self.awaiting_blocks = 0;
        freed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u64, blocks: u64) -> Extent {
        Extent { start, blocks }
    }

    #[test]
    fn allocations_go_on_where_the_last_one_ended() {
        let mut space = SpaceMap::new(at(10, 100));
        assert_eq!(space.allocate(8, None), Some(at(10, 8)));
        assert_eq!(space.allocate(8, None), Some(at(18, 8)));
        assert_eq!(space.allocate(4, Some(26)), Some(at(26, 4)), "behind a file's last block");
        space.give(at(10, 8));
        assert_eq!(space.allocate(8, None), Some(at(30, 8)), "not in the gap");
        assert_eq!(space.free_blocks(), 100 - 20);
    }

    #[test]
    fn the_longest_run_serves_where_none_is_long_enough() {
        let mut space = SpaceMap::new(at(0, 10));
        assert!(space.take(at(3, 2)) && !space.take(at(4, 2)));
        assert_eq!(space.allocate(9, None), Some(at(5, 5)));
        assert_eq!(space.allocate(9, None), Some(at(0, 3)));
        assert_eq!(space.allocate(1, None), None);
    }

    #[test]
    fn what_was_freed_is_free_when_that_is_durable() {
        let mut space = SpaceMap::new(at(0, 4));
        assert_eq!(space.allocate(4, None), Some(at(0, 4)));
        space.give_later(at(1, 2));
        assert_eq!((space.allocate(1, None), space.awaiting_blocks()), (None, 2));
        assert_eq!(space.durable(), [at(1, 2)]);
        assert_eq!((space.allocate(4, None), space.awaiting_blocks()), (Some(at(1, 2)), 0));
    }

    #[test]
    fn neighbours_join() {
        let mut space = SpaceMap::new(at(0, 9));
        (0..3).for_each(|n| assert!(space.take(at(3 * n, 3))));
        [2, 0, 1].iter().for_each(|n| space.give(at(3 * n, 3)));
        assert_eq!(space.allocate(9, None), Some(at(0, 9)));
    }

    #[test]
    #[should_panic(expected = "no block is freed twice")]
    fn a_block_is_freed_once() {
        let mut space = SpaceMap::new(at(0, 9));
        assert!(space.take(at(3, 3)));
        space.give(at(3, 3));
        space.give(at(5, 1));
    }
}
