// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which leaf has which keys: the first words of leaves in order, a few dozen leaves a branch, so that a new leaf moves little.

/// Leaves of a branch.
const BRANCH: usize = 64;

/// Where a leaf is in the order. It holds until a leaf comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    branch: u32,
    at: u32,
}

impl Place {
    /// The place of the first leaf.
    pub const FIRST: Self = Self { branch: 0, at: 0 };
    /// No leaf's.
    pub const NOWHERE: Self = Self { branch: u32::MAX, at: 0 };

    fn new(branch: usize, at: usize) -> Self {
        Self { branch: branch as u32, at: at as u32 }
    }
}

#[derive(Clone, Debug, Default)]
struct Branch {
    /// The first word of each leaf.
    words: Vec<u64>,
    /// The numbers of these leaves.
    leaves: Vec<u32>,
}

/// Leaves in order, by number.
#[derive(Clone, Debug, Default)]
pub struct Branches {
    /// The first word of each branch.
    words: Vec<u64>,
    branches: Vec<Branch>,
}

/// How many of these words belong to what `is_before` holds of; `word` is that where this ends, and of others of it `is_before` is asked.
#[inline]
fn behind(words: &[u64], word: u64, is_before: impl Fn(usize) -> bool) -> usize {
    let mut low = words.partition_point(|w| *w < word);
    if words.get(low) != Some(&word) {
        return low;
    }
    let mut rest = words[low..].partition_point(|w| *w == word);
    while rest > 0 {
        let half = rest / 2;
        (low, rest) = if is_before(low + half) { (low + half + 1, rest - half - 1) } else { (low, half) };
    }
    low
}

/// Takes the upper half of a full branch's numbers.
fn upper_half<T>(all: &mut Vec<T>) -> Vec<T> {
    let mut upper = Vec::with_capacity(BRANCH);
    upper.extend(all.drain(BRANCH / 2..));
    upper
}

impl Branches {
    /// There are no leaves any more.
    pub fn clear(&mut self) {
        self.words.clear();
        self.branches.clear();
    }

    /// The last leaf of which `is_before` holds, or the first of all. `word` is that of the key where this ends: of leaves whose first key has
    /// it `is_before` is asked, by number.
    #[inline]
    pub fn find(&self, word: u64, is_before: impl Fn(u32) -> bool) -> Place {
        let first = |branch: usize| self.branches[branch].leaves[0];
        let branch = behind(&self.words, word, |n| is_before(first(n))).saturating_sub(1);
        let Some(Branch { words, leaves }) = self.branches.get(branch) else { return Place::FIRST };
        let at = behind(words, word, |n| is_before(leaves[n])).saturating_sub(1);
        Place::new(branch, at)
    }

    /// The number of a leaf; `None` if none is there.
    #[inline]
    pub fn leaf(&self, place: Place) -> Option<u32> {
        self.branches.get(place.branch as usize)?.leaves.get(place.at as usize).copied()
    }

    #[inline]
    fn word(&self, place: Place) -> Option<u64> {
        self.branches.get(place.branch as usize)?.words.get(place.at as usize).copied()
    }

    /// Whether keys with that first word belong to the leaf at a place, and to no other.
    #[inline]
    pub fn is_place_of(&self, place: Place, word: u64) -> bool {
        let next = || self.word(self.next(place));
        self.word(place).is_some_and(|first| first < word) && next().is_none_or(|next| word < next)
    }

    /// The place behind a leaf's.
    #[inline]
    pub fn next(&self, place: Place) -> Place {
        let next = Place { at: place.at + 1, ..place };
        let is_here =
            self.branches.get(place.branch as usize).is_some_and(|b| b.leaves.len() > next.at as usize);
        if is_here { next } else { Place { branch: place.branch.saturating_add(1), at: 0 } }
    }

    /// The place before a leaf's.
    pub fn previous(&self, place: Place) -> Option<Place> {
        if place.at > 0 {
            return Some(Place { at: place.at - 1, ..place });
        }
        let branch = place.branch.checked_sub(1)? as usize;
        Some(Place::new(branch, self.branches[branch].leaves.len() - 1))
    }

    /// The place of the last leaf.
    pub fn last(&self) -> Option<Place> {
        let branch = self.branches.len().checked_sub(1)?;
        Some(Place::new(branch, self.branches[branch].leaves.len() - 1))
    }

    /// A leaf begins with another word.
    #[inline]
    pub fn note_first(&mut self, place: Place, word: u64) {
        let (n, at) = (place.branch as usize, place.at as usize);
        self.branches[n].words[at] = word;
        if at == 0 {
            self.words[n] = word;
        }
    }

    /// The first leaf.
    pub fn begin(&mut self, word: u64, leaf: u32) {
        debug_assert!(self.branches.is_empty());
        self.words.push(word);
        let mut branch = Branch { words: Vec::with_capacity(BRANCH), leaves: Vec::with_capacity(BRANCH) };
        branch.words.push(word);
        branch.leaves.push(leaf);
        self.branches.push(branch);
    }

    /// A new leaf comes behind the one at a place.
    pub fn insert_behind(&mut self, place: Place, word: u64, leaf: u32) {
        let (mut n, mut at) = (place.branch as usize, place.at as usize + 1);
        if self.branches[n].leaves.len() == BRANCH {
            self.split(n);
            if at > BRANCH / 2 {
                (n, at) = (n + 1, at - BRANCH / 2);
            }
        }
        let branch = &mut self.branches[n];
        branch.words.insert(at, word);
        branch.leaves.insert(at, leaf);
        debug_assert!(at > 0, "the first of a branch stays the first");
    }

    /// Gives the upper half of a branch to one behind it.
    fn split(&mut self, n: usize) {
        let branch = &mut self.branches[n];
        let (words, leaves) = (upper_half(&mut branch.words), upper_half(&mut branch.leaves));
        self.words.insert(n + 1, words[0]);
        self.branches.insert(n + 1, Branch { words, leaves });
    }

    /// Leaves with their words, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u64)> {
        self.branches.iter().flat_map(|b| b.leaves.iter().copied().zip(b.words.iter().copied()))
    }

    /// Whether branches begin with the words noted of them, and none is empty or too large.
    pub fn is_sound(&self) -> bool {
        let fits = |b: &Branch| (1..=BRANCH).contains(&b.leaves.len()) && b.words.len() == b.leaves.len();
        let firsts = self.branches.iter().filter_map(|b| b.words.first().copied());
        self.branches.iter().all(fits) && firsts.eq(self.words.iter().copied())
    }
}
