//! A directory of leaves by hash prefix. Leaves grow by small steps and split in two; nothing is ever
//! rehashed as a whole, so no operation takes long.

use super::Loc;
use super::arena::Arena;
use super::leaf::{Entry, Leaf, Mixed, Search};
use saker_sim::Meter;

/// Entries at which a leaf may split. Each leaf has a limit of its own between this and twice as much, so that the
/// leaves do not all outgrow their extents at the same time: what one gives back, the next one takes.
const LEAF_ENTRIES_MIN: usize = 1024;
/// A leaf is rebuilt larger when about this part of its slots is in use, in percent: sparser where the budget allows it,
/// because entering a pair looks at 6 slots at 70 %, and at 50 at 90 %.
const LOAD_MIN: usize = 70;
const LOAD_MAX: usize = 90;
/// Most slots that a rebuilt leaf has for 100 entries.
const ROOMY: usize = 190;
/// Deepest split. Beyond it (only with keys made for it) a leaf grows without bound.
const DEPTH_MAX: u8 = 40;
/// Modelled memory budget of a pair beyond its key, in bytes; growth steps are chosen to stay below it.
const PAIR_BYTES_MAX: usize = 24;

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
    /// Memory for the entries of a leaf that is rebuilt.
    moving: Vec<Entry<K>>,
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
            moving: Vec::new(),
        }
    }
}

impl<K: Mixed> Table<K> {
    /// Entries.
    pub fn len(&self) -> u64 {
        self.len
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
            if !leaf.is_full() && leaf.insert(slots, at, Entry { key, loc }) {
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

    /// Visits the entries in order, from the first one at or after `from` on (or from the very first one), until `visit`
    /// says stop (false). Whether it never did.
    pub fn visit(&self, from: Option<(K, u8)>, mut visit: impl FnMut(K, Loc) -> bool) -> bool {
        let mut at = from.map_or(0, |(key, _)| self.directory_at(key));
        let (mut from, mut sorted) = (from, Vec::new());
        while let Some(&n) = self.directory.get(at) {
            let leaf = &self.leaves[n as usize];
            let slots = self.arena.slots(leaf.extent());
            let begin = from.map_or(0, |(key, _)| leaf.cluster(slots, key));
            for cluster in slots[begin..].split(|slot| slot.loc.is_none()).filter(|c| !c.is_empty()) {
                sorted.clear();
                sorted.extend(cluster.iter().filter(|e| from.is_none_or(|from| e.order() >= from)));
                sorted.sort_unstable_by_key(Entry::order);
                if !sorted.iter().all(|e| visit(e.key, e.loc)) {
                    return false;
                }
            }
            let span = 1usize << (self.depth - leaf.depth());
            at = (at / span + 1) * span;
            from = None;
        }
        true
    }

    /// Brings in memory for so many entries to come: what the budget allows them at most.
    pub fn reserve(&mut self, entries: usize) {
        self.arena.reserve(entries * (PAIR_BYTES_MAX + size_of::<K>()) / size_of::<Entry<K>>());
    }

    /// Asks for the lines a key will need.
    #[inline]
    pub fn touch<W: Meter>(&self, key: K, w: &mut W) {
        if let Some((leaf, slots)) = self.leaf_of(key) {
            leaf.neighbourhood(slots, key).for_each(|slot| w.touch(slot));
        }
    }

    fn start(&mut self) {
        self.leaves.push(Leaf::new(&mut self.arena, 0, 0, usize::MAX));
        self.directory.push(0);
        self.slots = self.leaves[0].capacity() as u64;
    }

    /// Slots that 100 entries may take, so that a pair costs at most its key and the budget. 96 %: directory and leaf
    /// headers need their part.
    fn share(&self) -> usize {
        let mean_key = (self.key_bytes / self.len.max(1)) as usize;
        (PAIR_BYTES_MAX + mean_key) * 96 / size_of::<Entry<K>>()
    }

    /// Slots for a leaf of `n` entries, and the entries at which it is full, when all the others have `others` slots. A
    /// leaf may take half of what the others leave of their share: leaves are between two rebuilds, so most of them do.
    fn room_for(&self, n: usize, others: u64) -> (usize, usize) {
        let share = self.share();
        let load = (100 * 120 / share).clamp(LOAD_MIN, LOAD_MAX);
        let (fair, left) =
            (n * share / 100, (self.len as usize * share / 100).saturating_sub(others as usize));
        let wanted = if left > fair { fair.midpoint(left) } else { left };
        let capacity = wanted.clamp(n * 106 / load + 2, n * ROOMY / 100 + 8).next_multiple_of(16);
        (capacity, capacity * load / 100)
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
        let least = leaf.capacity() + leaf.capacity() / 16 + 1;
        self.rebuild(n, least);
    }

    fn rebuild(&mut self, n: usize, least: usize) {
        let leaf = self.take(n);
        let (capacity, limit) = self.room_for(leaf.len() + 1, self.slots);
        self.leaves[n] = self.build(leaf.depth(), (capacity.max(least), limit), 0..leaf.len());
    }

    /// Takes the entries of a leaf, which gives its slots back.
    fn take(&mut self, n: usize) -> Leaf {
        let leaf = self.leaves[n];
        let slots = self.arena.slots(leaf.extent());
        self.moving.resize(slots.len() + 1, Entry { key: K::new_zeroed(), loc: Loc::NONE });
        let mut taken = 0;
        for slot in slots {
            // No branch: which slots are gaps cannot be foreseen.
            self.moving[taken] = *slot;
            taken += usize::from(!slot.loc.is_none());
        }
        self.arena.release(leaf.extent());
        self.slots -= leaf.capacity() as u64;
        leaf
    }

    /// A leaf of some of the entries taken.
    fn build(&mut self, depth: u8, room: (usize, usize), entries: std::ops::Range<usize>) -> Leaf {
        let leaf = Leaf::build(&mut self.arena, depth, room.0, room.1, &self.moving[entries]);
        self.slots += leaf.capacity() as u64;
        leaf
    }

    fn split(&mut self, n: usize, key: K) {
        let leaf = self.take(n);
        let depth = leaf.depth();
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|n| [*n, *n]).collect();
            self.depth += 1;
        }
        let middle = self.part(leaf.len(), 63 - u32::from(depth));
        let high = leaf.len() - middle;
        let others = self.slots + (high * self.share() / 100) as u64;
        self.leaves[n] = self.build(depth + 1, self.room_for(middle + 1, others), 0..middle);
        let upper = self.build(depth + 1, self.room_for(high + 1, self.slots), middle..leaf.len());
        let span = 1usize << (self.depth - depth);
        let first = self.directory_at(key) / span * span;
        self.directory[first + span / 2..first + span].fill(self.leaves.len() as u32);
        self.leaves.push(upper);
    }

    /// Parts the first `n` entries taken by a bit of their prefix; returns how many have none. Only those of one cluster
    /// can be out of order.
    fn part(&mut self, n: usize, bit: u32) -> usize {
        let is_low = |e: &Entry<K>| e.key.prefix() >> bit & 1 == 0;
        let moving = &mut self.moving[..n];
        let first = moving.iter().position(|e| !is_low(e)).unwrap_or(n);
        let last = moving.iter().rposition(is_low).map_or(0, |at| at + 1);
        if first < last {
            moving[first..last].sort_unstable_by_key(|e| !is_low(e));
        }
        moving.iter().filter(|e| is_low(e)).count()
    }

    /// A leaf that has become nearly empty gives its slots back.
    fn shrink(&mut self, n: usize) {
        let leaf = &self.leaves[n];
        if leaf.capacity() > 64 && leaf.len() * 4 < leaf.capacity() {
            self.rebuild(n, 0);
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
        let after = |from: Option<(u64, u8)>, most: usize| {
            let mut found = Vec::new();
            table.visit(from, |k, l| {
                found.push(((k, l.key_bytes()), l));
                found.len() < most
            });
            found
        };
        let all = after(None, usize::MAX);
        assert!(all.iter().copied().eq(model.iter().map(|(k, l)| (*k, *l))), "walked in order");
        for (n, ((key, len), l)) in model.iter().enumerate() {
            assert_eq!(table.get(*key, *len), Some(*l));
            // Each look sorts a cluster; clustered keys are all in three.
            if spread || n % 16 == 0 {
                assert_eq!(after(Some((*key, *len)), 1), [((*key, *len), *l)]);
                let between = after(Some((*key, *len + 1)), 3);
                assert!(between.iter().eq(all[n + 1..].iter().take(3)), "from keys that are not there");
            }
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
            let mut table = Table::<[u64; 2]>::default();
            let mut rng = Seed(u64::from(key_bytes)).rng();
            for n in 1..=200_000u64 {
                table.insert([rng.next_u64(), n], loc(n, key_bytes));
                if (n.is_power_of_two() && n > 1000) || n % 9_973 == 0 {
                    let bytes = table.entry_bytes() + table.directory_bytes();
                    assert!(bytes <= table.len() * (24 + u64::from(key_bytes)), "{n}: {bytes}");
                }
            }
        }
    }
}
