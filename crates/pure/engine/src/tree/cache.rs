// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The read cache of nodes: whole pages, the least recently used one leaves. Nodes enter when an operation has ended, never
//! while one waits: so what one operation lost to others, others have used, and somebody always gets on.
//!
//! Slots are found by a hash of their page and hang in a ring by their last use, so that a use costs no search.

use hashbrown::HashTable;
use saker_log::ensure;
use saker_segment_store::PageAddr;
use std::sync::Arc;

#[derive(Clone, Debug)]
struct Slot {
    page: PageAddr,
    bytes: Arc<[u8]>,
    /// The slot that was used after it, and the one before it: the newest and the oldest are neighbours.
    newer: u32,
    older: u32,
}

/// Pages of nodes in memory.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    pages_max: usize,
    slots: Vec<Slot>,
    /// Slots by their pages. It is never gone through.
    index: HashTable<u32>,
    newest: u32,
    /// Nodes that were found here.
    pub hits: u64,
    /// Nodes that were not.
    pub misses: u64,
}

/// Multiplication spreads the numbers of pages over the upper bits, which the table looks at, and the fold over the lower ones.
fn hash(page: PageAddr) -> u64 {
    let product = u128::from(page.0.wrapping_add(1)) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

impl Cache {
    /// Room for so many pages.
    pub fn new(pages_max: usize) -> Self {
        Self { pages_max, ..Self::default() }
    }

    /// It has room for so many pages from now on: the least recently used ones leave.
    pub fn resize(&mut self, pages_max: usize) {
        self.pages_max = pages_max;
        while self.slots.len() > pages_max {
            self.drop_oldest();
        }
    }

    /// Pages in it.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Most pages in it.
    pub fn pages_max(&self) -> usize {
        self.pages_max
    }

    /// Whether it takes any.
    pub fn is_used(&self) -> bool {
        self.pages_max > 0
    }

    fn find(&self, page: PageAddr) -> Option<u32> {
        self.index.find(hash(page), |n| self.slots[*n as usize].page == page).copied()
    }

    /// A page. Its place may have other content by now: who asks knows the node's birth.
    #[inline]
    pub fn get(&self, page: PageAddr) -> Option<&[u8]> {
        self.find(page).map(|n| &*self.slots[n as usize].bytes)
    }

    /// Says what contradicts itself: each page is once in the ring of uses, which goes both ways alike, and is found.
    pub fn check(&self) -> Result<(), String> {
        let (mut at, mut linked) = (self.newest, 0);
        while linked < self.slots.len() {
            let slot = &self.slots[at as usize];
            let is_sound = self.find(slot.page) == Some(at) && self.slots[slot.older as usize].newer == at;
            ensure(is_sound, || format!("slot {at} is not found or not linked"))?;
            (at, linked) = (slot.older, linked + 1);
            ensure((at == self.newest) == (linked == self.slots.len()), || {
                format!("the ring of uses has {linked} of {} slots", self.slots.len())
            })?;
        }
        let sound = self.index.len() == self.slots.len() && self.slots.len() <= self.pages_max;
        ensure(sound, || format!("{} pages, {} of them are found", self.slots.len(), self.index.len()))
    }

    /// A page was used.
    pub fn touch(&mut self, page: PageAddr) {
        if let Some(n) = self.find(page) {
            self.use_slot(n);
        }
    }

    /// Slot `n` is the newest from now on.
    fn use_slot(&mut self, n: u32) {
        if n != self.newest {
            self.unlink(n);
            self.link(n);
        }
    }

    fn unlink(&mut self, n: u32) {
        let Slot { newer, older, .. } = self.slots[n as usize];
        self.slots[newer as usize].older = older;
        self.slots[older as usize].newer = newer;
    }

    /// Puts slot `n` between the newest and the oldest.
    fn link(&mut self, n: u32) {
        let newest = self.newest;
        let oldest = self.slots[newest as usize].newer;
        (self.slots[n as usize].older, self.slots[n as usize].newer) = (newest, oldest);
        self.slots[newest as usize].newer = n;
        self.slots[oldest as usize].older = n;
        self.newest = n;
    }

    /// A page enters, or its new content.
    pub fn insert(&mut self, page: PageAddr, bytes: &[u8]) {
        if self.pages_max == 0 {
            return;
        }
        if let Some(n) = self.find(page) {
            self.fill(n, bytes);
            return self.use_slot(n);
        }
        if self.slots.len() < self.pages_max {
            return self.add(page, bytes);
        }
        // The least recently used page leaves its memory to the new one.
        let n = self.slots[self.newest as usize].newer;
        self.forget(n);
        self.slots[n as usize].page = page;
        self.fill(n, bytes);
        self.enter(n);
        self.use_slot(n);
    }

    fn add(&mut self, page: PageAddr, bytes: &[u8]) {
        let n = self.slots.len() as u32;
        self.slots.push(Slot { page, bytes: bytes.into(), newer: n, older: n });
        if n == 0 {
            self.newest = 0;
        } else {
            self.link(n);
        }
        self.enter(n);
    }

    fn fill(&mut self, n: u32, bytes: &[u8]) {
        let slot = &mut self.slots[n as usize];
        match Arc::get_mut(&mut slot.bytes).filter(|room| room.len() == bytes.len()) {
            Some(room) => room.copy_from_slice(bytes),
            // A copy of the store has the same memory.
            None => slot.bytes = bytes.into(),
        }
    }

    fn enter(&mut self, n: u32) {
        let Self { slots, index, .. } = self;
        index.insert_unique(hash(slots[n as usize].page), n, |n| hash(slots[*n as usize].page));
    }

    fn forget(&mut self, n: u32) {
        let Self { slots, index, .. } = self;
        if let Ok(found) = index.find_entry(hash(slots[n as usize].page), |other| *other == n) {
            found.remove();
        }
    }

    /// The last slot takes the place of the one that goes.
    fn drop_oldest(&mut self) {
        let n = self.slots[self.newest as usize].newer;
        self.forget(n);
        self.unlink(n);
        let last = self.slots.len() as u32 - 1;
        if n != last {
            self.forget(last);
            let Slot { newer, older, .. } = self.slots[last as usize];
            (self.slots[newer as usize].older, self.slots[older as usize].newer) = (n, n);
            self.slots.swap_remove(n as usize);
            self.enter(n);
            self.newest = if self.newest == last { n } else { self.newest };
        } else {
            self.slots.pop();
        }
    }
}

#[cfg(test)]
mod tests;
