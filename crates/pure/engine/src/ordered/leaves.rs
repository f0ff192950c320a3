// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values by key in order, in leaves of a few dozens. The first words of the leaves' keys lie together, so that finding a leaf
//! looks at little memory, and entering a key moves half a leaf at most. In a leaf the first words of its keys lie together, too, in
//! lines of the processor's cache: a search looks at the last word of each line first. None of these looks waits for another, so that
//! their cache misses overlap, where those of a binary search follow each other.

use super::key::Key;
use saker_log::ensure;
use saker_sim::Meter;
use std::ops::Bound;

/// Entries of a leaf.
const LEAF: usize = 32;
/// Words of a line of the processor's cache.
const LINE: usize = 8;
const _: () = assert!(LEAF.is_multiple_of(LINE));

#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Leaf<V> {
    /// The first words of its keys; behind them the largest there is.
    words: [[u64; LINE]; LEAF / LINE],
    count: usize,
    keys: [Key; LEAF],
    values: [V; LEAF],
}

impl<V: Copy> Leaf<V> {
    fn new(key: Key, value: V) -> Box<Self> {
        let mut leaf = Self {
            words: [[u64::MAX; LINE]; LEAF / LINE],
            count: 1,
            keys: [key; LEAF],
            values: [value; LEAF],
        };
        leaf.words[0][0] = key.word();
        Box::new(leaf)
    }

    /// How many keys have a smaller first word.
    #[inline]
    fn before(&self, word: u64) -> usize {
        let lines = self.words.iter().filter(|line| line[LINE - 1] < word).count();
        let inside = self.words.get(lines).map_or(0, |line| line.iter().filter(|w| **w < word).count());
        LINE * lines + inside
    }

    /// Where the keys with that first word begin, and these.
    #[inline]
    fn alike(&self, word: u64) -> (usize, &[Key]) {
        let from = self.before(word);
        let words = self.words.as_flattened().get(from..self.count).unwrap_or_default();
        let same = words.iter().take_while(|other| **other == word).count();
        (from, &self.keys[from..from + same])
    }

    /// Where a key is, or would be.
    #[inline]
    fn find(&self, key: &Key) -> Result<usize, usize> {
        let (from, keys) = self.alike(key.word());
        match keys.binary_search(key) {
            Ok(at) => Ok(from + at),
            Err(at) => Err(from + at),
        }
    }

    /// How many keys there are of which `is_before` holds; `word` is that of the key where that ends.
    #[inline]
    fn behind(&self, word: u64, is_before: impl Fn(&Key) -> bool) -> usize {
        let (from, keys) = self.alike(word);
        from + keys.partition_point(is_before)
    }

    fn keys(&self) -> &[Key] {
        &self.keys[..self.count]
    }

    fn insert(&mut self, at: usize, key: Key, value: V) {
        let words = self.words.as_flattened_mut();
        words.copy_within(at..self.count, at + 1);
        words[at] = key.word();
        self.keys.copy_within(at..self.count, at + 1);
        self.values.copy_within(at..self.count, at + 1);
        (self.keys[at], self.values[at]) = (key, value);
        self.count += 1;
    }

    /// Gives the upper half away.
    fn split(&mut self) -> Box<Self> {
        let half = self.count / 2;
        let mut upper = Box::new(self.clone());
        let left = self.count - half;
        let words = upper.words.as_flattened_mut();
        words.copy_within(half..self.count, 0);
        words[left..].fill(u64::MAX);
        upper.keys.copy_within(half..self.count, 0);
        upper.values.copy_within(half..self.count, 0);
        upper.count = left;
        self.words.as_flattened_mut()[half..].fill(u64::MAX);
        self.count = half;
        upper
    }
}

/// Where a key belongs, as long as nothing is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Near(usize);

impl Near {
    /// It is not known.
    pub const NOWHERE: Self = Self(usize::MAX);
}

/// A sorted map.
#[derive(Clone, Debug)]
pub struct Leaves<V> {
    /// The first word of each leaf's first key.
    words: Vec<u64>,
    leaves: Vec<Box<Leaf<V>>>,
    len: usize,
}

impl<V> Default for Leaves<V> {
    fn default() -> Self {
        Self { words: Vec::new(), leaves: Vec::new(), len: 0 }
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

    /// Says what contradicts itself: the order of keys, the first words of leaves, the number of entries.
    pub fn check(&self) -> Result<(), String> {
        let words = self.leaves.iter().map(|leaf| leaf.keys[0].word()).eq(self.words.iter().copied());
        let counts = self.leaves.iter().all(|leaf| (1..=LEAF).contains(&leaf.count));
        let inside = self.leaves.iter().all(|leaf| {
            let words = leaf.keys().iter().map(Key::word).chain(std::iter::repeat(u64::MAX));
            leaf.words.as_flattened().iter().copied().eq(words.take(LEAF))
        });
        ensure(words && counts && inside, || "the words of leaves are not those of their keys".into())?;
        let len: usize = self.leaves.iter().map(|leaf| leaf.count).sum();
        ensure(len == self.len, || format!("{len} keys, noted: {}", self.len))?;
        let keys = self.leaves.iter().flat_map(|leaf| leaf.keys());
        ensure(keys.is_sorted_by(|a, b| a < b), || "its keys are not in order".into())
    }

    /// How many leaves begin with a key of which `is_before` holds; `word` is that of the key where that ends.
    #[inline]
    fn behind(&self, word: u64, is_before: impl Fn(&Key) -> bool) -> usize {
        let low = self.words.partition_point(|w| *w < word);
        if self.words.get(low) != Some(&word) {
            return low;
        }
        let same = self.words[low..].partition_point(|w| *w == word);
        low + self.leaves[low..low + same].partition_point(|leaf| is_before(&leaf.keys[0]))
    }

    /// The leaf that has a key, or would.
    #[inline]
    fn leaf_of(&self, key: &Key) -> usize {
        self.behind(key.word(), |first| first <= key).saturating_sub(1)
    }

    /// Asks for what a search for a key looks at first, and says where that is.
    #[inline]
    pub fn touch_leaf<W: Meter>(&self, key: &Key, w: &mut W) -> Near {
        let n = self.leaf_of(key);
        if let Some(leaf) = self.leaves.get(n) {
            leaf.words.iter().for_each(|line| w.touch(line));
        }
        Near(n)
    }

    /// Asks for what the search looks at then.
    #[inline]
    pub fn touch_place<W: Meter>(&self, key: &Key, near: Near, w: &mut W) {
        if let Some(leaf) = self.leaves.get(near.0) {
            let at = leaf.before(key.word()).min(LEAF - 1);
            w.touch(&leaf.count);
            w.touch(&leaf.keys[at]);
            w.touch(&leaf.values[at]);
        }
    }

    /// Enters a value; gives back the one it replaces.
    pub fn insert(&mut self, key: Key, value: V) -> Option<V> {
        self.insert_in(self.leaf_of(&key), key, value)
    }

    /// The same of a key whose leaf was there, before others were entered.
    pub fn insert_near(&mut self, near: Near, key: Key, value: V) -> Option<V> {
        let (n, word) = (near.0, key.word());
        let is_there = self.words.get(n).is_some_and(|first| *first < word)
            && self.words.get(n + 1).is_none_or(|next| word < *next);
        self.insert_in(if is_there { n } else { self.leaf_of(&key) }, key, value)
    }

    /// The same of a key that belongs to the leaf of that number.
    #[inline]
    fn insert_in(&mut self, mut n: usize, key: Key, value: V) -> Option<V> {
        let Some(leaf) = self.leaves.get_mut(n) else {
            self.words.push(key.word());
            self.leaves.push(Leaf::new(key, value));
            self.len = 1;
            return None;
        };
        let mut at = match leaf.find(&key) {
            Ok(at) => return Some(std::mem::replace(&mut leaf.values[at], value)),
            Err(at) => at,
        };
        if leaf.count == LEAF {
            let upper = leaf.split();
            let half = leaf.count;
            self.words.insert(n + 1, upper.keys[0].word());
            self.leaves.insert(n + 1, upper);
            if at > half {
                (n, at) = (n + 1, at - half);
            }
        }
        self.leaves[n].insert(at, key, value);
        self.words[n] = self.leaves[n].keys[0].word();
        self.len += 1;
        None
    }

    /// The value of a key.
    #[inline]
    pub fn get(&self, key: &Key) -> Option<&V> {
        let leaf = self.leaves.get(self.leaf_of(key))?;
        leaf.find(key).ok().map(|at| &leaf.values[at])
    }

    /// Entries from a key on, in order.
    pub fn range(&self, from: Bound<Key>) -> Range<'_, V> {
        let (n, at) = match from {
            Bound::Unbounded => (0, 0),
            Bound::Included(key) => self.place(&key, |k| *k < key),
            Bound::Excluded(key) => self.place(&key, |k| *k <= key),
        };
        Range { leaves: &self.leaves[n.min(self.leaves.len())..], at }
    }

    /// Leaf and place of the first key of which `is_before` does not hold; `key` is where that ends.
    fn place(&self, key: &Key, is_before: impl Fn(&Key) -> bool) -> (usize, usize) {
        let n = self.leaf_of(key);
        let at = self.leaves.get(n).map_or(0, |leaf| leaf.behind(key.word(), is_before));
        (n, at)
    }

    /// The last key before the end of a range that begins at the first.
    pub fn last_key(&self, end: Bound<Key>) -> Option<Key> {
        let (n, at) = match end {
            Bound::Unbounded => return self.leaves.last().map(|leaf| leaf.keys[leaf.count - 1]),
            Bound::Included(key) => self.place(&key, |k| *k <= key),
            Bound::Excluded(key) => self.place(&key, |k| *k < key),
        };
        match at.checked_sub(1) {
            Some(at) => Some(self.leaves[n].keys[at]),
            None => n.checked_sub(1).map(|n| self.leaves[n].keys[self.leaves[n].count - 1]),
        }
    }
}

/// Entries in order.
#[derive(Clone, Debug)]
pub struct Range<'a, V> {
    leaves: &'a [Box<Leaf<V>>],
    at: usize,
}

impl<'a, V: Copy> Iterator for Range<'a, V> {
    type Item = (&'a Key, &'a V);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some((leaf, rest)) = self.leaves.split_first() {
            if self.at < leaf.count {
                self.at += 1;
                return Some((&leaf.keys[self.at - 1], &leaf.values[self.at - 1]));
            }
            (self.leaves, self.at) = (rest, 0);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::{Free, Rng, Seed};
    use std::collections::BTreeMap;

    /// Few keys of few letters, a third of them with the same first word, some with the largest one, and enough of them for several leaves.
    fn key(rng: &mut Rng) -> Key {
        let mut bytes = match rng.below(6) {
            0 | 1 => b"12345678".to_vec(),
            2 => vec![0xff; 8],
            _ => Vec::new(),
        };
        let letters = 1 + rng.below(4);
        bytes.extend((0..letters).map(|_| rng.below(6) as u8));
        Key::new(&bytes).expect("1 to 16 bytes")
    }

    fn bound(rng: &mut Rng) -> Bound<Key> {
        match rng.below(5) {
            0 => Bound::Unbounded,
            1 | 2 => Bound::Included(key(rng)),
            _ => Bound::Excluded(key(rng)),
        }
    }

    #[test]
    fn it_is_a_sorted_map() {
        for seed in 0..40 {
            let mut rng = Seed(seed).rng();
            let (mut leaves, mut model) = (Leaves::default(), BTreeMap::new());
            // Where a key belonged when others had not come yet, too.
            let mut nears = vec![Near::NOWHERE];
            for value in 0..rng.below(1500) {
                let key = key(&mut rng);
                nears.push(leaves.touch_leaf(&key, &mut Free));
                let near = nears[rng.below(nears.len() as u64) as usize];
                leaves.touch_place(&key, near, &mut Free);
                let old = match rng.below(3) {
                    0 => leaves.insert(key, value),
                    1 => leaves.insert_near(leaves.touch_leaf(&key, &mut Free), key, value),
                    _ => leaves.insert_near(near, key, value),
                };
                assert_eq!(old, model.insert(key, value));
            }
            assert_eq!(
                (leaves.len(), leaves.is_empty(), leaves.check()),
                (model.len(), model.is_empty(), Ok(()))
            );
            for _ in 0..50 {
                let (key, end) = (key(&mut rng), bound(&mut rng));
                assert_eq!(leaves.get(&key), model.get(&key));
                let all: Vec<_> = leaves.range(end).collect();
                assert_eq!(all, model.range((end, Bound::Unbounded)).collect::<Vec<_>>(), "{end:?}");
                let last = model.range((Bound::Unbounded, end)).next_back().map(|(key, _)| *key);
                assert_eq!(leaves.last_key(end), last, "{end:?}");
            }
        }
    }
}
