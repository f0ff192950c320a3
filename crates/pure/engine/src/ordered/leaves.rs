// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values by key in order, in leaves of a few dozen. The first words of the leaves' keys lie together, so that finding a leaf looks at little
//! memory, and entering a key moves little of it.

mod branches;
mod leaf;

use super::key::Key;
use branches::{Branches, Place};
use leaf::{LEAF, Leaf};
use saker_log::ensure;
use saker_sim::Meter;
use std::ops::Bound;

/// Where a key belongs, as long as nothing is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near(Place);

impl Near {
    /// It is not known.
    pub const NOWHERE: Self = Self(Place::NOWHERE);
}

/// A sorted map.
#[derive(Clone, Debug)]
pub struct Leaves<V> {
    order: Branches,
    leaves: Vec<Leaf<V>>,
    len: usize,
}

impl<V> Default for Leaves<V> {
    fn default() -> Self {
        Self { order: Branches::default(), leaves: Vec::new(), len: 0 }
    }
}

impl<V: Copy> Leaves<V> {
    /// Entries.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Takes all entries out. The memory stays, for others.
    pub fn clear(&mut self) {
        self.order.clear();
        self.leaves.clear();
        self.len = 0;
    }

    /// Says what contradicts itself: the order of keys, the first words of leaves, the number of entries.
    pub fn check(&self) -> Result<(), String> {
        let in_order: Vec<_> = self.order.iter().map(|(n, word)| (&self.leaves[n as usize], word)).collect();
        let words = in_order.iter().all(|(leaf, word)| leaf.first().word() == *word);
        let leaves = self.order.is_sound() && in_order.len() == self.leaves.len();
        let is_sound = words && leaves && self.leaves.iter().all(Leaf::is_sound);
        ensure(is_sound, || "the words of leaves are not those of their keys".into())?;
        let len: usize = self.leaves.iter().map(Leaf::count).sum();
        ensure(len == self.len, || format!("{len} keys, noted: {}", self.len))?;
        let keys = in_order.iter().flat_map(|(leaf, _)| leaf.keys());
        ensure(keys.is_sorted_by(|a, b| a < b), || "its keys are not in order".into())
    }

    /// The place of the leaf that has a key, or would: the last that begins with a key of which `is_before` holds.
    #[inline]
    fn find_leaf(&self, word: u64, is_before: impl Fn(&Key) -> bool) -> Place {
        self.order.find(word, |n| is_before(self.leaves[n as usize].first()))
    }

    #[inline]
    fn leaf_of(&self, key: &Key) -> Place {
        self.find_leaf(key.word(), |first| first <= key)
    }

    #[inline]
    fn leaf(&self, place: Place) -> Option<&Leaf<V>> {
        self.leaves.get(self.order.leaf(place)? as usize)
    }

    /// Asks for what a search for a key looks at first, and says where that is.
    #[inline]
    pub fn touch_leaf<W: Meter>(&self, key: &Key, w: &mut W) -> Near {
        let place = self.leaf_of(key);
        if let Some(leaf) = self.leaf(place) {
            leaf.touch(w);
        }
        Near(place)
    }

    /// Asks for what the search looks at then.
    #[inline]
    pub fn touch_place<W: Meter>(&self, key: &Key, near: Near, w: &mut W) {
        if let Some(leaf) = self.leaf(near.0) {
            leaf.touch_place(key, w);
        }
    }

    /// Enters a value; gives back the one it replaces.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        self.insert_at(self.leaf_of(&key), key, value)
    }

    /// The same of a key whose leaf was there, before others were entered.
    pub fn insert_near(&mut self, near: Near, key: Key, value: V) -> Option<V> {
        let is_there = self.order.is_place_of(near.0, key.word());
        self.insert_at(if is_there { near.0 } else { self.leaf_of(&key) }, key, value)
    }

    /// The same of a key that belongs to the leaf there.
    #[inline]
    fn insert_at(&mut self, place: Place, key: Key, value: V) -> Option<V> {
        let Some(n) = self.order.leaf(place) else {
            self.order.begin(key.word(), 0);
            self.leaves.push(Leaf::new(key, value));
            self.len = 1;
            return None;
        };
        let leaf = &mut self.leaves[n as usize];
        let at = match leaf.find(&key) {
            Ok(at) => return Some(leaf.replace(at, value)),
            Err(at) => at,
        };
        self.len += 1;
        if leaf.is_full() {
            self.divide(place, n);
            let upper = self.leaves.len() - 1;
            let (n, at) = if at > LEAF / 2 { (upper, at - LEAF / 2) } else { (n as usize, at) };
            self.leaves[n].insert(at, key, value);
        } else {
            leaf.insert(at, key, value);
        }
        if at == 0 {
            self.order.note_first(place, key.word());
        }
        None
    }

    /// The upper half of a full leaf becomes one behind it.
    #[cold]
    fn divide(&mut self, place: Place, n: u32) {
        let upper = self.leaves[n as usize].split();
        self.order.insert_behind(place, upper.first().word(), self.leaves.len() as u32);
        self.leaves.push(upper);
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &Key) -> Option<&V> {
        let leaf = self.leaf(self.leaf_of(key))?;
        leaf.find(key).ok().map(|at| leaf.value(at))
    }

    /// Entries from a key on, in order.
    pub fn range(&self, from: Bound<Key>) -> Range<'_, V> {
        let (place, at) = match from {
            Bound::Unbounded => (Place::FIRST, 0),
            Bound::Included(key) => self.find(&key, |k| *k < key),
            Bound::Excluded(key) => self.find(&key, |k| *k <= key),
        };
        Range { of: self, leaf: self.leaf(place), place, at }
    }

    /// Leaf and place of the first key of which `is_before` does not hold; `key` is where that ends.
    fn find(&self, key: &Key, is_before: impl Fn(&Key) -> bool) -> (Place, usize) {
        let place = self.leaf_of(key);
        let at = self.leaf(place).map_or(0, |leaf| leaf.behind(key.word(), is_before));
        (place, at)
    }

    /// The last key before the end of a range that begins at the first.
    pub fn last_key(&self, end: Bound<Key>) -> Option<Key> {
        let (place, at) = match end {
            Bound::Unbounded => return self.last_of(self.order.last()?),
            Bound::Included(key) => self.find(&key, |k| *k <= key),
            Bound::Excluded(key) => self.find(&key, |k| *k < key),
        };
        match at.checked_sub(1) {
            Some(at) => self.leaf(place).map(|leaf| *leaf.key(at)),
            None => self.last_of(self.order.previous(place)?),
        }
    }

    fn last_of(&self, place: Place) -> Option<Key> {
        self.leaf(place).map(|leaf| *leaf.key(leaf.count() - 1))
    }
}

/// Entries in order.
#[derive(Clone, Debug)]
pub struct Range<'a, V> {
    of: &'a Leaves<V>,
    leaf: Option<&'a Leaf<V>>,
    place: Place,
    at: usize,
}

impl<'a, V: Copy> Iterator for Range<'a, V> {
    type Item = (&'a Key, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some(leaf) = self.leaf {
            if self.at < leaf.count() {
                self.at += 1;
                return Some((leaf.key(self.at - 1), leaf.value(self.at - 1)));
            }
            self.place = self.of.order.next(self.place);
            (self.leaf, self.at) = (self.of.leaf(self.place), 0);
        }
        None
    }
}

#[cfg(test)]
mod tests;
