// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where blocks of a table begin.

use crate::ordered::key::Key;
use crate::ordered::search::{Share, first_after_near};

/// The first key and version of each block. The keys' first words lie together: a search looks at little memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockIndex {
    words: Vec<u64>,
    firsts: Vec<(Key, u64)>,
    /// Where each begins in the table; none if all are as long as each other.
    starts: Vec<u32>,
}

impl BlockIndex {
    /// The next block begins with that entry.
    pub fn push(&mut self, key: Key, version: u64) {
        self.words.push(key.word());
        self.firsts.push((key, version));
    }

    /// The same of a block that begins at that byte of the table.
    pub fn push_at(&mut self, key: Key, version: u64, start: u32) {
        self.push(key, version);
        self.starts.push(start);
    }

    /// Where a block begins in the table and where the next one does, which is `end` of the last one. `None` if all are as long as each
    /// other.
    #[inline]
    pub fn span(&self, n: usize, end: u32) -> Option<(u32, u32)> {
        let start = *self.starts.get(n)?;
        Some((start, self.starts.get(n + 1).copied().unwrap_or(end)))
    }

    /// Whether blocks begin one behind the other within so many bytes, the first at the first of them.
    pub fn starts_within(&self, bytes: u64) -> bool {
        let rise = self.starts.is_sorted_by(|a, b| a < b);
        rise && self.starts.first() == Some(&0)
            && self.starts.last().is_some_and(|last| u64::from(*last) < bytes)
    }

    /// Whether blocks have lengths of their own.
    pub fn has_starts(&self) -> bool {
        !self.starts.is_empty()
    }

    /// Blocks.
    pub fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// The first key of a block.
    pub fn key(&self, n: usize) -> &Key {
        &self.firsts[n].0
    }

    /// First keys and versions, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(Key, u64)> {
        self.firsts.iter()
    }

    /// The block in which an entry of `key` at `version` or the next one would be.
    #[inline]
    pub fn block_of(&self, key: &Key, version: u64) -> usize {
        self.behind(key.word(), |(k, v)| (k, version) <= (key, *v)).saturating_sub(1)
    }

    /// How far a key's first word is from the first one of a block to that of the next block, which is `last` of the last one.
    #[inline]
    pub fn share(&self, n: usize, word: u64, last: u64) -> Option<Share> {
        Share::between(*self.words.get(n)?, self.words.get(n + 1).copied().unwrap_or(last), word)
    }

    fn share_of_all(&self, word: u64) -> Option<Share> {
        Share::between(*self.words.first()?, *self.words.last()?, word)
    }

    /// How many blocks begin with a key of which `is_before` holds; `word` is the first word of the key where that ends.
    #[inline]
    pub fn behind(&self, word: u64, is_before: impl Fn(&(Key, u64)) -> bool) -> usize {
        let words = &self.words;
        let low = match self.share_of_all(word) {
            Some(share) => first_after_near(words.len(), share.of(words.len()), |n| words[n] < word),
            None => words.partition_point(|w| *w < word),
        };
        let same = self.words[low..].partition_point(|w| *w == word);
        low + self.firsts[low..low + same].partition_point(is_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_same_as_keys() {
        let names = ["a", "b", "bbbbbbbb", "bbbbbbbba", "bbbbbbbbb", "c"];
        let mut index = BlockIndex::default();
        for (n, name) in names.iter().enumerate() {
            index.push(Key::new(name.as_bytes()).unwrap(), n as u64);
        }
        for name in ["A", "a", "aa", "b", "bb", "bbbbbbbb", "bbbbbbbb\0", "bbbbbbbbb", "bbbbbbbbc", "c", "d"]
        {
            let key = Key::new(name.as_bytes()).unwrap();
            for version in [0, 1, 3, 4, 9, u64::MAX] {
                let plain = index.firsts.partition_point(|(k, v)| (k, version) <= (&key, *v));
                assert_eq!(index.block_of(&key, version), plain.saturating_sub(1), "{name} {version}");
            }
        }
    }
}
