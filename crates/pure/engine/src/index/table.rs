//! A directory of leaves by hash prefix. Leaves grow by small steps and split in two; nothing is ever
//! rehashed as a whole, so no operation takes long.

use super::Loc;
use super::arena::Arena;
use super::leaf::{Entry, Leaf, Mixed, Search};
use saker_sim::Meter;

/// Entries at which a leaf may split. Each leaf has a limit of its own between this and twice as much, so that the
/// leaves do not all outgrow their extents at the same time: what one gives back, the next one takes.
const LEAF_ENTRIES_MIN: usize = 1024;
/// A leaf is rebuilt larger when more than this part of its slots is in use.
const LOAD_PERCENT_MAX: usize = 85;
/// Deepest split. Beyond it (only with keys made for it) a leaf grows without bound.
const DEPTH_MAX: u8 = 40;
/// Modelled memory budget of a pair beyond its key, in bytes; growth steps are chosen to stay below it.
const PAIR_BYTES_MAX: usize = 24;

/// A position in the order of a table.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    directory: usize,
    slot: usize,
}

impl Cursor {
    /// The beginning.
    pub const START: Self = Self { directory: 0, slot: 0 };
}

/// Mixed keys of one class and their places.
#[derive(Clone, Debug)]
pub struct Table<K> {
    depth: u8,
    directory: Vec<u32>,
    leaves: Vec<Leaf>,
    arena: Arena<K>,
    len: u64,
    slots: u64,
    /// Sum of key lengths, which decides how roomy leaves may be.
    key_bytes: u64,
}

impl<K: Mixed> Default for Table<K> {
    fn default() -> Self {
        Self {
            depth: 0,
            directory: Vec::new(),
            leaves: Vec::new(),
            arena: Arena::default(),
            len: 0,
            slots: 0,
            key_bytes: 0,
        }
    }
}

impl<K: Mixed> Table<K> {
    /// Entries.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of all slots.
    pub fn entry_bytes(&self) -> u64 {
        self.slots * size_of::<Entry<K>>() as u64
    }

    /// Bytes of the directory and the leaf headers.
    pub fn directory_bytes(&self) -> u64 {
        (self.directory.len() * 4 + self.leaves.len() * size_of::<Leaf>()) as u64
    }

    #[inline]
    fn directory_at(&self, key: K) -> usize {
        // Two shifts: the depth may be 0.
        (key.prefix() >> 1 >> (63 - self.depth)) as usize
    }

    /// The leaf of a key and its slots.
    #[inline]
    fn leaf_of(&self, key: K) -> Option<(&Leaf, &[Entry<K>])> {
        let n = *self.directory.get(self.directory_at(key))?;
        let leaf = &self.leaves[n as usize];
        Some((leaf, self.arena.slots(leaf.extent())))
    }

    /// The place of a key.
    #[inline]
    pub fn get(&self, key: K, key_bytes: u8) -> Option<Loc> {
        let (leaf, slots) = self.leaf_of(key)?;
        match leaf.search(slots, key, key_bytes) {
            Search::Found(at) => Some(slots[at].loc),
            Search::Missing(_) => None,
        }
    }

    /// Enters a key; returns its previous place.
    #[inline]
    pub fn insert(&mut self, key: K, loc: Loc) -> Option<Loc> {
        if self.directory.is_empty() {
            self.start();
        }
        loop {
            let n = self.directory[self.directory_at(key)] as usize;
            let leaf = &mut self.leaves[n];
            let slots = self.arena.slots_mut(leaf.extent());
            let at = match leaf.search(slots, key, loc.key_bytes()) {
                Search::Found(at) => return Some(std::mem::replace(&mut slots[at].loc, loc)),
                Search::Missing(at) => at,
            };
            let crowded = (leaf.len() + 1) * 100 > leaf.capacity() * LOAD_PERCENT_MAX;
            if !crowded && leaf.insert(slots, at, Entry { key, loc }) {
                self.len += 1;
                self.key_bytes += u64::from(loc.key_bytes());
                return None;
            }
            self.grow(key);
        }
    }

    /// Removes a key; returns its place.
    pub fn remove(&mut self, key: K, key_bytes: u8) -> Option<Loc> {
        let n = *self.directory.get(self.directory_at(key))? as usize;
        let leaf = &mut self.leaves[n];
        let slots = self.arena.slots_mut(leaf.extent());
        match leaf.search(slots, key, key_bytes) {
            Search::Missing(_) => None,
            Search::Found(at) => {
                self.len -= 1;
                self.key_bytes -= u64::from(key_bytes);
                let loc = leaf.remove(slots, at);
                self.shrink(n);
                Some(loc)
            }
        }
    }

    /// The position of the first entry at or after a key.
    pub fn seek(&self, key: K, key_bytes: u8) -> Cursor {
        let directory = self.directory_at(key);
        match self.leaf_of(key).map(|(leaf, slots)| leaf.search(slots, key, key_bytes)) {
            None => Cursor::START,
            Some(Search::Found(slot) | Search::Missing(slot)) => Cursor { directory, slot },
        }
    }

    /// The entry at or after the cursor, which moves behind it.
    pub fn next(&self, cursor: &mut Cursor) -> Option<(K, Loc)> {
        loop {
            let leaf = &self.leaves[*self.directory.get(cursor.directory)? as usize];
            while let Some(entry) = self.arena.slots(leaf.extent()).get(cursor.slot) {
                cursor.slot += 1;
                if !entry.loc.is_none() {
                    return Some((entry.key, entry.loc));
                }
            }
            let span = 1usize << (self.depth - leaf.depth());
            cursor.directory = (cursor.directory / span + 1) * span;
            cursor.slot = 0;
        }
    }

    /// Asks for the lines a key will need.
    #[inline]
    pub fn touch<W: Meter>(&self, key: K, w: &mut W) {
        if let Some((leaf, slots)) = self.leaf_of(key) {
            leaf.neighbourhood(slots, key).for_each(|slot| w.touch(slot));
        }
    }

    fn start(&mut self) {
        self.leaves.push(Leaf::new(&mut self.arena, 0, 0));
        self.directory.push(0);
        self.slots = self.leaves[0].capacity() as u64;
    }

    /// Slots for `n` entries, so that a pair costs at most its key and the budget.
    fn capacity_for(&self, n: usize) -> usize {
        let mean_key = (self.key_bytes / self.len.max(1)) as usize;
        let budget = PAIR_BYTES_MAX + mean_key;
        // 96 %: directory and leaf headers need their part.
        let roomy = n * budget * 96 / (100 * size_of::<Entry<K>>());
        roomy.clamp(n * 107 / LOAD_PERCENT_MAX + 2, n * 168 / 100 + 8)
    }

    /// The number of entries at which the leaf of a key splits.
    fn limit(key: K, depth: u8) -> usize {
        let leaf = (key.prefix() >> 1 >> (63 - depth)) + (1 << depth);
        let spread = leaf.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        LEAF_ENTRIES_MIN + ((spread * LEAF_ENTRIES_MIN as u64) >> 32) as usize
    }

    fn grow(&mut self, key: K) {
        let n = self.directory[self.directory_at(key)] as usize;
        let leaf = &self.leaves[n];
        if leaf.len() >= Self::limit(key, leaf.depth()) && leaf.depth() < DEPTH_MAX {
            return self.split(n, key);
        }
        // Larger in any case: a crowded end can ask for room before the leaf is full.
        let capacity = self.capacity_for(leaf.len() + 1).max(leaf.capacity() + leaf.capacity() / 16 + 1);
        self.rebuild(n, capacity);
    }

    fn rebuild(&mut self, n: usize, capacity: usize) {
        let leaf = self.leaves[n];
        let entries = self.entries(&leaf);
        self.replace(n, leaf.depth(), capacity, &entries);
    }

    /// All entries of a leaf, in order.
    fn entries(&self, leaf: &Leaf) -> Vec<Entry<K>> {
        let mut entries = Vec::with_capacity(leaf.len());
        entries.extend(self.arena.slots(leaf.extent()).iter().filter(|e| !e.loc.is_none()));
        entries
    }

    /// Puts a new leaf in the place of leaf `n`.
    fn replace(&mut self, n: usize, depth: u8, capacity: usize, entries: &[Entry<K>]) {
        let old = self.leaves[n];
        self.arena.release(old.extent());
        let new = Leaf::build(&mut self.arena, depth, capacity, entries);
        self.slots += new.capacity() as u64;
        self.slots -= old.capacity() as u64;
        self.leaves[n] = new;
    }

    fn split(&mut self, n: usize, key: K) {
        let depth = self.leaves[n].depth();
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|n| [*n, *n]).collect();
            self.depth += 1;
        }
        let bit = 63 - u32::from(depth);
        let entries = self.entries(&self.leaves[n]);
        let (low, high) = entries.split_at(entries.partition_point(|e| e.key.prefix() >> bit & 1 == 0));
        self.replace(n, depth + 1, self.capacity_for(low.len() + 1), low);
        let capacity = self.capacity_for(high.len() + 1);
        let leaf = Leaf::build(&mut self.arena, depth + 1, capacity, high);
        self.slots += leaf.capacity() as u64;
        let span = 1usize << (self.depth - depth);
        let first = self.directory_at(key) / span * span;
        self.directory[first + span / 2..first + span].fill(self.leaves.len() as u32);
        self.leaves.push(leaf);
    }

    /// A leaf that has become nearly empty gives its slots back.
    fn shrink(&mut self, n: usize) {
        let leaf = &self.leaves[n];
        if leaf.capacity() > 64 && leaf.len() * 4 < leaf.capacity() {
            let capacity = self.capacity_for(leaf.len() + 1);
            self.rebuild(n, capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;
    use std::collections::BTreeMap;

    fn loc(n: u64, key_bytes: u8) -> Loc {
        Loc::new(n % 1000 * 8, 24, key_bytes)
    }

    /// Keys in few clusters as well as spread ones, against a sorted map.
    fn against_model(spread: bool) {
        let mut rng = Seed(5).rng();
        let (mut table, mut model) = (Table::<u64>::default(), BTreeMap::new());
        for n in 0..60_000u64 {
            let r = rng.next_u64();
            let key = if spread { r & !0xffff_ffff } else { ((r % 3) << 62) | ((r >> 8) % 5000) };
            let len = 1 + (r % 8) as u8;
            if rng.below(3) > 0 {
                assert_eq!(table.insert(key, loc(n, len)), model.insert((key, len), loc(n, len)));
            } else {
                assert_eq!(table.remove(key, len), model.remove(&(key, len)));
            }
        }
        assert_eq!(table.len(), model.len() as u64);
        let mut cursor = Cursor::START;
        let all: Vec<_> =
            std::iter::from_fn(|| table.next(&mut cursor)).map(|(k, l)| ((k, l.key_bytes()), l)).collect();
        assert!(all.iter().copied().eq(model.iter().map(|(k, l)| (*k, *l))), "walked in order");
        for ((key, len), l) in &model {
            assert_eq!(table.get(*key, *len), Some(*l));
            let next = table.next(&mut table.seek(*key, *len));
            assert_eq!(next, Some((*key, *l)));
        }
    }

    #[test]
    fn spread_keys() {
        against_model(true);
    }

    #[test]
    fn clustered_keys() {
        against_model(false);
    }

    #[test]
    fn a_pair_costs_its_key_and_24_bytes() {
        for key_bytes in [4u8, 6, 8] {
            let mut table = Table::<u64>::default();
            let mut rng = Seed(u64::from(key_bytes)).rng();
            for n in 1..=200_000u64 {
                table.insert(rng.next_u64(), loc(n, key_bytes));
                if (n.is_power_of_two() && n > 1000) || n % 9_973 == 0 {
                    let bytes = table.entry_bytes() + table.directory_bytes();
                    assert!(bytes <= table.len() * (24 + u64::from(key_bytes)), "{n}: {bytes}");
                }
            }
        }
    }

    #[test]
    fn a_long_pair_costs_its_key_and_24_bytes() {
        for key_bytes in [9u8, 12, 16] {
            let mut table = Table::<(u64, u64)>::default();
            let mut rng = Seed(u64::from(key_bytes)).rng();
            for n in 1..=200_000u64 {
                table.insert((rng.next_u64(), n), loc(n, key_bytes));
                if (n.is_power_of_two() && n > 1000) || n % 9_973 == 0 {
                    let bytes = table.entry_bytes() + table.directory_bytes();
                    assert!(bytes <= table.len() * (24 + u64::from(key_bytes)), "{n}: {bytes}");
                }
            }
        }
    }
}
