// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One leaf: a few dozen entries. The first words of its keys lie together and in order, in lines of the processor's cache: a search looks
//! at the last word of each line first. None of these looks waits for another, so that their cache misses overlap, where those of a binary
//! search follow each other. The entries themselves stay where they were put first: to enter one moves words and a byte each, but no entry.

use crate::ordered::key::Key;
use saker_sim::Meter;

/// Entries of a leaf.
pub const LEAF: usize = 32;
/// Words of a line of the processor's cache.
const LINE: usize = 8;
const _: () = assert!(LEAF.is_multiple_of(LINE) && LEAF.is_power_of_two() && LEAF <= 1 << u8::BITS);

#[derive(Clone, Copy, Debug)]
struct Slot<V> {
    key: Key,
    value: V,
}

#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Leaf<V> {
    /// The first words of its keys in order; behind them the largest there is.
    words: [[u64; LINE]; LEAF / LINE],
    count: u8,
    /// The slots of its entries in the order of their keys.
    order: [u8; LEAF],
    slots: [Slot<V>; LEAF],
}

impl<V: Copy> Leaf<V> {
    /// A leaf of one entry.
    pub fn new(key: Key, value: V) -> Self {
        let mut leaf = Self {
            words: [[u64::MAX; LINE]; LEAF / LINE],
            count: 1,
            order: [0; LEAF],
            slots: [Slot { key, value }; LEAF],
        };
        leaf.words[0][0] = key.word();
        leaf
    }

    /// Entries.
    #[inline]
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether one more has no room.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.count() == LEAF
    }

    #[inline]
    fn slot(&self, at: usize) -> &Slot<V> {
        &self.slots[usize::from(self.order[at]) % LEAF]
    }

    /// The key at a place in the order.
    #[inline]
    pub fn key(&self, at: usize) -> &Key {
        debug_assert!(at < self.count());
        &self.slot(at).key
    }

    /// The value at a place in the order.
    #[inline]
    pub fn value(&self, at: usize) -> &V {
        debug_assert!(at < self.count());
        &self.slot(at).value
    }

    /// Puts another value at a place; gives back the one that was there.
    #[inline]
    pub fn replace(&mut self, at: usize, value: V) -> V {
        let slot = &mut self.slots[usize::from(self.order[at]) % LEAF];
        std::mem::replace(&mut slot.value, value)
    }

    /// Its first key.
    #[inline]
    pub fn first(&self) -> &Key {
        &self.slot(0).key
    }

    /// Its keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        (0..self.count()).map(|at| self.key(at))
    }

    /// Whether the words are those of its keys, and each slot that has an entry is once in the order.
    pub fn is_sound(&self) -> bool {
        let words = self.keys().map(Key::word).chain(std::iter::repeat(u64::MAX)).take(LEAF);
        let mut slots: Vec<_> = self.order.iter().take(self.count()).map(|slot| usize::from(*slot)).collect();
        slots.sort_unstable();
        let is_some = (1..=LEAF).contains(&self.count());
        is_some
            && self.words.as_flattened().iter().copied().eq(words)
            && slots.into_iter().eq(0..self.count())
    }

    /// How many keys have a smaller first word.
    #[inline]
    fn before(&self, word: u64) -> usize {
        let lines = self.words.iter().filter(|line| line[LINE - 1] < word).count();
        let inside = self.words.get(lines).map_or(0, |line| line.iter().filter(|w| **w < word).count());
        LINE * lines + inside
    }

    /// How many keys there are of which `is_before` holds; `word` is that of the key where that ends.
    #[inline]
    pub fn behind(&self, word: u64, is_before: impl Fn(&Key) -> bool) -> usize {
        let from = self.before(word);
        let words = self.words.as_flattened().get(from..self.count()).unwrap_or_default();
        let mut rest = words.iter().take_while(|other| **other == word).count();
        let mut low = from;
        while rest > 0 {
            let half = rest / 2;
            (low, rest) =
                if is_before(self.key(low + half)) { (low + half + 1, rest - half - 1) } else { (low, half) };
        }
        low
    }

    /// Where a key is, or would be.
    #[inline]
    pub fn find(&self, key: &Key) -> Result<usize, usize> {
        let at = self.behind(key.word(), |other| other < key);
        if at < self.count() && self.key(at) == key { Ok(at) } else { Err(at) }
    }

    /// Asks for what a search looks at first.
    #[inline]
    pub fn touch<W: Meter>(&self, w: &mut W) {
        self.words.iter().for_each(|line| w.touch(line));
        w.touch(&self.count);
    }

    /// Asks for what it looks at then, and for where one more entry would be.
    #[inline]
    pub fn touch_place<W: Meter>(&self, key: &Key, w: &mut W) {
        let at = self.before(key.word()).min(LEAF - 1);
        w.touch(self.slot(at));
        w.touch(&self.slots[self.count().min(LEAF - 1)]);
    }

    /// Enters one more, at its place.
    pub fn insert(&mut self, at: usize, key: Key, value: V) {
        let count = self.count();
        debug_assert!(at <= count && count < LEAF);
        let words = self.words.as_flattened_mut();
        words.copy_within(at..count, at + 1);
        words[at] = key.word();
        self.order.copy_within(at..count, at + 1);
        self.order[at] = self.count;
        self.slots[count] = Slot { key, value };
        self.count += 1;
    }

    /// Gives the upper half away.
    pub fn split(&mut self) -> Self {
        debug_assert!(self.is_full());
        let upper = self.part(LEAF / 2..LEAF);
        *self = self.part(0..LEAF / 2);
        upper
    }

    /// A leaf of the entries at these places.
    fn part(&self, places: std::ops::Range<usize>) -> Self {
        let mut part = Self::new(*self.key(places.start), *self.value(places.start));
        for (to, from) in places.enumerate().skip(1) {
            part.insert(to, *self.key(from), *self.value(from));
        }
        part
    }
}
