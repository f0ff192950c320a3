// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The read cache of nodes: whole pages, the least recently used one leaves. Nodes enter when an operation has ended, never
//! while one waits: so what one operation lost to others, others have used, and somebody always gets on.

use saker_log::ensure;
use saker_segment_store::PageAddr;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Slot {
    used: u64,
    bytes: Arc<[u8]>,
}

/// Pages of nodes in memory.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    pages_max: usize,
    slots: BTreeMap<PageAddr, Slot>,
    /// The pages by their last use.
    order: BTreeMap<u64, PageAddr>,
    now: u64,
    /// Nodes that were found here.
    pub hits: u64,
    /// Nodes that were not.
    pub misses: u64,
}

impl Cache {
    /// Room for so many pages.
    pub fn new(pages_max: usize) -> Self {
        Self { pages_max, ..Self::default() }
    }

    /// It has room for so many pages from now on: the least recently used ones leave.
    pub fn resize(&mut self, pages_max: usize) {
        self.pages_max = pages_max;
        while self.slots.len() > pages_max
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.slots.remove(&oldest);
        }
    }

    /// Pages in it.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Whether it takes any.
    pub fn is_used(&self) -> bool {
        self.pages_max > 0
    }

    /// A page. Its place may have other content by now: who asks knows the node's birth.
    #[inline]
    pub fn get(&self, page: PageAddr) -> Option<&[u8]> {
        self.slots.get(&page).map(|slot| &*slot.bytes)
    }

    /// Says what contradicts itself: each page is once in the order of use.
    pub fn check(&self) -> Result<(), String> {
        let listed = self.slots.iter().all(|(page, slot)| self.order.get(&slot.used) == Some(page));
        let sound = listed && self.order.len() == self.slots.len() && self.slots.len() <= self.pages_max;
        ensure(sound, || format!("{} pages, of {} a use is known", self.slots.len(), self.order.len()))
    }

    /// A page was used.
    pub fn touch(&mut self, page: PageAddr) {
        let Some(slot) = self.slots.get_mut(&page) else { return };
        self.order.remove(&slot.used);
        (self.now, slot.used) = (self.now + 1, self.now + 1);
        self.order.insert(self.now, page);
    }

    /// A page enters, or its new content.
    pub fn insert(&mut self, page: PageAddr, bytes: &[u8]) {
        if self.pages_max == 0 {
            return;
        }
        self.now += 1;
        let slot = Slot { used: self.now, bytes: bytes.into() };
        self.order.insert(self.now, page);
        if let Some(old) = self.slots.insert(page, slot) {
            self.order.remove(&old.used);
        }
        if self.slots.len() > self.pages_max
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.slots.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_page_leaves() {
        let mut cache = Cache::new(2);
        cache.insert(PageAddr(1), &[1]);
        cache.insert(PageAddr(2), &[2]);
        cache.touch(PageAddr(1));
        cache.insert(PageAddr(3), &[3]);
        let has = |cache: &Cache| [1, 2, 3].map(|n| cache.get(PageAddr(n)).is_some());
        assert_eq!(has(&cache), [true, false, true]);
        cache.insert(PageAddr(1), &[9]);
        cache.insert(PageAddr(2), &[2]);
        assert_eq!(has(&cache), [true, true, false]);
        assert_eq!((cache.get(PageAddr(1)), cache.len(), cache.order.len()), (Some(&[9][..]), 2, 2));
    }

    #[test]
    fn pages_leave_when_the_room_shrinks_and_enter_when_it_grows() {
        let mut cache = Cache::new(3);
        (1..4).for_each(|n| cache.insert(PageAddr(n), &[n as u8]));
        cache.touch(PageAddr(1));
        cache.resize(1);
        let has = |cache: &Cache| [1, 2, 3].map(|n| cache.get(PageAddr(n)).is_some());
        assert_eq!((has(&cache), cache.check()), ([true, false, false], Ok(())));
        cache.resize(2);
        cache.insert(PageAddr(3), &[3]);
        assert_eq!((has(&cache), cache.check()), ([true, false, true], Ok(())));
        cache.resize(0);
        assert_eq!((cache.len(), cache.is_used(), cache.check()), (0, false, Ok(())));
    }

    #[test]
    fn without_room_nothing_enters() {
        let mut cache = Cache::new(0);
        cache.insert(PageAddr(1), &[1]);
        cache.touch(PageAddr(1));
        assert_eq!((cache.len(), cache.get(PageAddr(1)), cache.is_used()), (0, None, false));
    }
}
