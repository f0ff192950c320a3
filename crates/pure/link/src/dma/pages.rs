// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which arena pages are free.

use std::collections::BTreeMap;

/// First-fit allocator of page runs. The order of the map makes it repeatable; joined neighbours keep creating and
/// deleting queues from growing the arena.
pub(super) struct PageRuns {
    /// Free runs: first page to length. No two runs touch.
    free: BTreeMap<u32, u32>,
    /// Pages below this index may have been written to.
    touched: u32,
}

/// A run that was taken.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) page: u32,
    /// Whether some of its pages have been in use before.
    pub(super) dirty: bool,
}

impl PageRuns {
    pub(super) fn new(pages: u32) -> Self {
        let free = if pages == 0 { BTreeMap::new() } else { BTreeMap::from([(0, pages)]) };
        Self { free, touched: 0 }
    }

    /// Takes the lowest run of `pages` (at least 1) pages.
    pub(super) fn take(&mut self, pages: u32) -> Option<Taken> {
        let (&page, &length) = self.free.iter().find(|&(_, &length)| length >= pages)?;
        self.free.remove(&page);
        if length > pages {
            self.free.insert(page + pages, length - pages);
        }
        let dirty = page < self.touched;
        self.touched = self.touched.max(page + pages);
        Some(Taken { page, dirty })
    }

    /// Gives back a run that was taken.
    pub(super) fn give_back(&mut self, mut page: u32, mut pages: u32) {
        let below = self.free.range(..page).next_back().map(|(&first, &length)| (first, length));
        if let Some((first, length)) = below {
            assert!(first + length <= page, "a page run was freed twice");
            if first + length == page {
                self.free.remove(&first);
                (page, pages) = (first, length + pages);
            }
        }
        if let Some(length) = self.free.remove(&(page + pages)) {
            pages += length;
        }
        let previous = self.free.insert(page, pages);
        assert!(previous.is_none(), "a page run was freed twice");
    }

    pub(super) fn free_pages(&self) -> u32 {
        self.free.values().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_join_in_any_order() {
        let mut runs = PageRuns::new(6);
        for page in [0, 2, 4] {
            assert_eq!(runs.take(2), Some(Taken { page, dirty: false }));
        }
        assert_eq!(runs.take(1), None);
        runs.give_back(0, 2);
        runs.give_back(4, 2);
        assert_eq!(runs.take(3), None);
        runs.give_back(2, 2);
        assert_eq!(runs.free, BTreeMap::from([(0, 6)]));
        assert_eq!(runs.take(6), Some(Taken { page: 0, dirty: true }));
    }

    #[test]
    #[should_panic(expected = "freed twice")]
    fn a_double_free_is_found() {
        let mut runs = PageRuns::new(4);
        runs.take(4);
        runs.give_back(0, 4);
        runs.give_back(1, 1);
    }
}
