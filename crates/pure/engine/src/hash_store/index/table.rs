// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A directory of leaves by hash prefix. Leaves grow by small steps and split in two; nothing is ever
//! rehashed as a whole, so no operation takes long.
//!
//! The directory holds the headers of the leaves themselves, not numbers of them: finding a key's slots then takes one line that is
//! in no near cache instead of two. A leaf that has several entries of the directory counts in the first of them.

use super::RecordAddr;
use super::arena::{Arena, Extent};
use super::growth::{self, Growth, Room};
use super::leaf::{self, Entry, Leaf, Mixed, Search};
use super::moves::{Half, Mover};
use saker_sim::Meter;

/// Modelled memory budget of a pair beyond its key, in bytes; growth steps are chosen to stay below it.
const PAIR_BYTES_MAX: usize = 24;

/// Mixed keys of one class and their places.
#[derive(Clone, Debug)]
pub struct Table<K> {
    depth: u8,
    directory: Vec<Leaf>,
    arena: Arena<K>,
    len: u64,
    slots: u64,
    /// Sum of key lengths, which decides how roomy leaves may be.
    key_bytes: u64,
    /// Entries to come for which the first one lays out leaves.
    expected: usize,
    mover: Mover,
}

impl<K: Mixed> Default for Table<K> {
    fn default() -> Self {
        Self {
            depth: 0,
            directory: Vec::new(),
            arena: Arena::default(),
            len: 0,
            slots: 0,
            key_bytes: 0,
            expected: 0,
            mover: Mover::default(),
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

    /// Bytes of the directory.
    pub fn directory_bytes(&self) -> u64 {
        (self.directory.len() * size_of::<Leaf>()) as u64
    }

    #[inline]
    fn directory_at(&self, key: K) -> usize {
        // Two shifts: the depth may be 0.
        (key.prefix() >> 1 >> (63 - self.depth)) as usize
    }

    /// Entries of the directory that a leaf of that depth has.
    #[inline]
    fn span(&self, depth: u8) -> usize {
        1 << (self.depth - depth)
    }

    /// The first entry of the directory that is of a key's leaf, if there is any leaf.
    #[inline]
    fn first_at(&self, key: K) -> Option<usize> {
        let at = self.directory_at(key);
        let leaf = self.directory.get(at)?;
        Some(at & !(self.span(leaf.depth()) - 1))
    }

    /// Puts a leaf into all its entries of the directory.
    fn set(&mut self, first: usize, leaf: Leaf) {
        let span = self.span(leaf.depth());
        debug_assert!(first.is_multiple_of(span), "a leaf begins where its prefix does");
        self.directory[first..first + span].fill(leaf);
    }

    /// The slots of a key's leaf, from its home on.
    #[inline]
    fn slots_of(&self, key: K) -> Option<&[Entry<K>]> {
        let leaf = self.directory.get(self.directory_at(key))?;
        Some(self.arena.slots(leaf.extent_from(key)))
    }

    /// The place of a key.
    #[inline]
    pub fn get(&self, key: K, key_bytes: u8) -> Option<RecordAddr> {
        leaf::find(self.slots_of(key)?, key, key_bytes).map(|entry| entry.addr)
    }

    /// Enters a key; returns its previous place.
    // The end of each put: 30 instructions an operation where it is called instead.
    #[inline(always)]
    pub fn insert(&mut self, key: K, addr: RecordAddr) -> Option<RecordAddr> {
        debug_assert!(!addr.is_none(), "a slot without a place is a gap");
        loop {
            let Some(first) = self.first_at(key) else {
                self.start(addr.key_bytes());
                continue;
            };
            let leaf = &mut self.directory[first];
            let slots = self.arena.slots_mut(leaf.extent_from(key));
            match leaf::place(slots, key, addr.key_bytes()) {
                Search::Found(entry) => return Some(std::mem::replace(&mut entry.addr, addr)),
                Search::Missing(slot) if !leaf.is_full() => {
                    *slot = Entry { key, addr };
                    leaf.add();
                    debug_assert!(leaf.len() <= leaf.capacity(), "an entry has a slot of its own");
                    self.len += 1;
                    self.key_bytes += u64::from(addr.key_bytes());
                    return None;
                }
                Search::Missing(_) => self.grow(key, first, false),
                Search::Crowded => self.grow(key, first, true),
            }
        }
    }

    /// Removes a key; returns its place.
    pub fn remove(&mut self, key: K, key_bytes: u8) -> Option<RecordAddr> {
        let first = self.first_at(key)?;
        let leaf = &mut self.directory[first];
        let addr = leaf.remove(self.arena.slots_mut(leaf.extent()), key, key_bytes)?;
        debug_assert!(self.len > 0 && self.key_bytes >= u64::from(key_bytes), "what is removed was counted");
        self.len -= 1;
        self.key_bytes -= u64::from(key_bytes);
        self.shrink(key, first);
        Some(addr)
    }

    /// Visits the entries in order, from the first one at or after `from` on (or from the very first one), until `visit`
    /// says stop (false). Whether it never did.
    pub fn visit(&self, from: Option<(K, u8)>, mut visit: impl FnMut(K, RecordAddr) -> bool) -> bool {
        let mut at = from.map_or(0, |(key, _)| self.directory_at(key));
        let (mut from, mut sorted) = (from, Vec::new());
        while let Some(leaf) = self.directory.get(at) {
            let slots = self.arena.slots(leaf.extent());
            // Nothing before its home belongs behind a key.
            let begin = from.map_or(0, |(key, _)| leaf.home(key) * K::BUCKET);
            let mut rest = &slots[begin..];
            while !rest.is_empty() {
                let cluster = Leaf::first_cluster(rest);
                rest = &rest[cluster.len()..];
                sorted.clear();
                let wanted = |e: &&Entry<K>| !e.addr.is_none() && from.is_none_or(|from| e.order() >= from);
                sorted.extend(cluster.iter().filter(wanted));
                sorted.sort_unstable_by_key(Entry::order);
                if !sorted.iter().all(|e| visit(e.key, e.addr)) {
                    return false;
                }
            }
            let span = self.span(leaf.depth());
            at = (at / span + 1) * span;
            from = None;
        }
        true
    }

    /// Brings in memory for so many entries to come: what the budget allows them at most. If there are none yet, the first one lays
    /// out leaves for all, which none has to leave again.
    pub fn reserve(&mut self, entries: usize) {
        self.expected = entries;
        self.arena.reserve(entries * (PAIR_BYTES_MAX + size_of::<K>()) / size_of::<Entry<K>>());
    }

    /// Asks for the lines a key will need.
    #[inline]
    pub fn touch<W: Meter>(&self, key: K, w: &mut W) {
        if let Some(slots) = self.slots_of(key) {
            leaf::lines(slots).for_each(|slot| w.touch(slot));
        }
    }

    /// The first leaves.
    #[cold]
    fn start(&mut self, key_bytes: u8) {
        let (depth, room) = growth::laid_out(self.expected, Self::share_of(usize::from(key_bytes)));
        self.depth = depth;
        let leaves = (0..1 << depth).map(|_| Leaf::new(&mut self.arena, depth, room));
        self.directory = leaves.collect();
        self.slots = self.directory.iter().map(|leaf| leaf.capacity() as u64).sum();
    }

    /// Slots that 100 entries may take, so that a pair costs at most its key and the budget.
    fn share(&self) -> usize {
        Self::share_of((self.key_bytes / self.len.max(1)) as usize)
    }

    /// The same for keys of so many bytes. 96 %: directory and leaf headers need their part.
    fn share_of(key_bytes: usize) -> usize {
        (PAIR_BYTES_MAX + key_bytes) * 96 / size_of::<Entry<K>>()
    }

    /// Room for a leaf of `n` entries whose least prefix is `least`, when all the others have `others` slots.
    fn room_for(&self, n: usize, (least, depth): (u64, u8), others: u64) -> Room {
        let share = self.share();
        let left = (self.len as usize * share / 100).saturating_sub(others as usize);
        Growth::within(share).room(n, growth::split_at(least, depth), left)
    }

    /// Gives a key's leaf more room, or splits it. `first`: its first entry of the directory; `is_crowded`: its end has no room,
    /// whatever there is before it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, key: K, first: usize, is_crowded: bool) {
        let leaf = &self.directory[first];
        let (least, depth) = (growth::least(key.prefix(), leaf.depth()), leaf.depth());
        if leaf.len() >= growth::split_at(least, depth) {
            return self.split(first, least);
        }
        // Larger in any case.
        let slots = leaf.asked() + leaf.asked() / 16 + 1;
        self.rebuild(first, least, (slots, is_crowded));
    }

    /// Gives a leaf other slots: at least so many.
    fn rebuild(&mut self, first: usize, least: u64, (slots, is_crowded): (usize, bool)) {
        let old = self.directory[first];
        self.slots -= old.capacity() as u64;
        let (entries, _) = self.mover.part(self.arena.slots(old.extent()), None);
        debug_assert_eq!(entries, old.len(), "a leaf counts its entries");
        let room = self.room_for(entries + 1, (least, old.depth()), self.slots);
        let room = Room { slots: room.slots.max(slots), ..room };
        let leaf = self.build(old.depth(), (room, is_crowded), (old.extent(), Half::Low, entries));
        self.set(first, leaf);
        self.arena.release(old.extent());
    }

    /// A leaf of some entries that the mover has found.
    fn build(&mut self, depth: u8, room: (Room, bool), from: (Extent, Half, usize)) -> Leaf {
        let leaf = Leaf::build(&mut self.arena, depth, room, from, &mut self.mover);
        debug_assert!(
            leaf.len() == from.2 && leaf.len() < leaf.capacity(),
            "all go along, and one more has room"
        );
        self.slots += leaf.capacity() as u64;
        leaf
    }

    /// Splits a leaf whose least prefix is `least`.
    fn split(&mut self, mut first: usize, least: u64) {
        let old = self.directory[first];
        let depth = old.depth();
        if depth == self.depth {
            self.directory = self.directory.iter().flat_map(|leaf| [*leaf, *leaf]).collect();
            self.depth += 1;
            first *= 2;
        }
        self.slots -= old.capacity() as u64;
        let bit = 63 - u32::from(depth);
        let (low, high) = self.mover.part(self.arena.slots(old.extent()), Some(bit));
        debug_assert_eq!(low + high, old.len(), "each entry goes to one of the two");
        let others = self.slots + (high * self.share() / 100) as u64;
        let room = self.room_for(low + 1, (least, depth + 1), others);
        let lower = self.build(depth + 1, (room, false), (old.extent(), Half::Low, low));
        let room = self.room_for(high + 1, (least | 1 << bit, depth + 1), self.slots);
        let upper = self.build(depth + 1, (room, false), (old.extent(), Half::High, high));
        self.arena.release(old.extent());
        self.set(first, lower);
        self.set(first + self.span(depth + 1), upper);
        debug_assert_eq!(self.directory.len(), 1 << self.depth, "an entry for each prefix");
    }

    /// A leaf that has become nearly empty gives its slots back.
    fn shrink(&mut self, key: K, first: usize) {
        let leaf = &self.directory[first];
        if leaf.capacity() > 64 && leaf.len() * 4 < leaf.capacity() {
            let least = growth::least(key.prefix(), leaf.depth());
            self.rebuild(first, least, (0, false));
        }
    }
}

mod check;
#[cfg(test)]
mod tests;
