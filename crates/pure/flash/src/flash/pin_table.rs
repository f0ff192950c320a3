// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages that are held, found by their address: an open-addressed table.
//!
//! Every look of an engine at a page asks it, several times a command, so it costs a few instructions where a sorted map
//! costs a walk. It is never walked, so its order decides nothing.

use saker_segment_store::PageAddr;

/// Slots of the smallest table.
const SLOTS_MIN: usize = 64;

/// A map from pages to `P`.
#[derive(Clone, Debug)]
pub(super) struct PinTable<P> {
    /// A power of two of them, at most half of them full. A page is at its home or behind it, with no gap between.
    slots: Vec<Option<(PageAddr, P)>>,
    len: usize,
}

impl<P> Default for PinTable<P> {
    fn default() -> Self {
        Self { slots: Vec::new(), len: 0 }
    }
}

impl<P: Default> PinTable<P> {
    /// Whether it holds no page.
    #[cfg(test)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn mask(&self) -> usize {
        self.slots.len() - 1
    }

    #[inline]
    fn home(&self, at: PageAddr) -> usize {
        (at.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.mask()
    }

    /// The slot of a page, or the gap where it would be.
    #[inline]
    fn slot_of(&self, at: PageAddr) -> usize {
        let mut n = self.home(at);
        while self.slots[n].as_ref().is_some_and(|(page, _)| *page != at) {
            n = (n + 1) & self.mask();
        }
        n
    }

    /// What is known about a page.
    #[inline]
    pub fn get(&self, at: PageAddr) -> Option<&P> {
        if self.len == 0 {
            return None;
        }
        self.slots[self.slot_of(at)].as_ref().map(|(_, pin)| pin)
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut(&mut self, at: PageAddr) -> Option<&mut P> {
        if self.len == 0 {
            return None;
        }
        let n = self.slot_of(at);
        self.slots[n].as_mut().map(|(_, pin)| pin)
    }

    /// The page's entry, a new one if it has none.
    pub fn entry(&mut self, at: PageAddr) -> &mut P {
        if 2 * (self.len + 1) > self.slots.len() {
            self.grow();
        }
        let n = self.slot_of(at);
        self.len += usize::from(self.slots[n].is_none());
        &mut self.slots[n].get_or_insert_with(|| (at, P::default())).1
    }

    fn grow(&mut self) {
        let slots = (2 * self.slots.len()).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, (0..slots).map(|_| None).collect());
        for held in old.into_iter().flatten() {
            let n = self.slot_of(held.0);
            self.slots[n] = Some(held);
        }
    }

    /// Takes a page out; those behind it move up where the gap would part them from their homes.
    pub fn remove(&mut self, at: PageAddr) -> Option<P> {
        if self.len == 0 {
            return None;
        }
        let mut gap = self.slot_of(at);
        let (_, removed) = self.slots[gap].take()?;
        self.len -= 1;
        let mut next = (gap + 1) & self.mask();
        while let Some((page, _)) = &self.slots[next] {
            let from_home = next.wrapping_sub(self.home(*page)) & self.mask();
            if from_home >= next.wrapping_sub(gap) & self.mask() {
                self.slots[gap] = self.slots[next].take();
                gap = next;
            }
            next = (next + 1) & self.mask();
        }
        Some(removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;
    use std::collections::BTreeMap;

    /// Few different pages, so that they come and go, many at once in a crowded table and nearly none.
    #[test]
    fn it_is_a_map() {
        let mut rng = Seed(4).rng();
        let (mut table, mut model) = (PinTable::<u64>::default(), BTreeMap::new());
        for n in 0..40_000u64 {
            let at = PageAddr(rng.below(300) * (1 + rng.below(2) * 0x1_0000));
            let many = n / 5000 % 2 == 0;
            if rng.below(4) < if many { 3 } else { 1 } {
                *table.entry(at) += n;
                *model.entry(at).or_insert(0) += n;
            } else {
                assert_eq!(table.remove(at), model.remove(&at));
            }
            let other = PageAddr(rng.below(300));
            assert_eq!(table.get(other), model.get(&other));
            assert_eq!(table.get_mut(other), model.get_mut(&other));
            assert_eq!(table.is_empty(), model.is_empty());
        }
        for at in model.into_keys().collect::<Vec<_>>() {
            assert!(table.remove(at).is_some());
        }
        assert!(table.is_empty() && table.slots.iter().all(Option::is_none));
    }
}
