//! A leaf of the index: a sorted array with gaps.
//!
//! An entry's home is its mixed key scaled to the array. Entries stand at or after their home, in order, with
//! no gap between home and entry (linear probing kept sorted). So a search looks at neighbouring slots
//! only, and walking the array is walking the keys in order.

use super::Loc;
use super::arena::{Arena, Extent};
use std::cmp::Ordering;

/// A mixed key: ordered, with 64 leading bits that spread evenly.
pub trait Mixed: Copy + Ord + Default {
    /// The leading bits.
    fn prefix(self) -> u64;
}

impl Mixed for u64 {
    #[inline]
    fn prefix(self) -> u64 {
        self
    }
}

impl Mixed for (u64, u64) {
    #[inline]
    fn prefix(self) -> u64 {
        self.0
    }
}

/// One slot.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry<K> {
    /// Mixed key.
    pub key: K,
    /// Place in the log; none for an empty slot.
    pub loc: Loc,
}

impl<K: Mixed> Entry<K> {
    #[inline]
    fn order(&self) -> (K, u8) {
        (self.key, self.loc.key_bytes())
    }
}

/// Slots at the end that are nobody's home, for entries pushed beyond the last one.
const TAIL: usize = 8;

/// A leaf: entries whose mixed keys share their first `depth` bits.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    extent: Extent,
    /// Slots that are homes: all but the tail.
    homes: u32,
    len: u32,
    depth: u8,
}

/// Where a search ended.
pub enum Search {
    /// The entry is in this slot.
    Found(usize),
    /// It is not there; this is where it belongs.
    Missing(usize),
}

impl Leaf {
    /// An empty leaf with room for at least `capacity` slots.
    pub fn new<K: Mixed>(arena: &mut Arena<K>, depth: u8, capacity: usize) -> Self {
        let extent = arena.allocate(capacity.max(2 * TAIL));
        Self { extent, homes: (extent.slots() - TAIL) as u32, len: 0, depth }
    }

    /// A leaf filled with sorted entries.
    pub fn build<K: Mixed>(arena: &mut Arena<K>, depth: u8, capacity: usize, entries: &[Entry<K>]) -> Self {
        let mut leaf = Self::new(arena, depth, capacity.max(entries.len()));
        while !leaf.fill(arena.slots_mut(leaf.extent), entries) {
            // A crowded end (nearly impossible with mixed keys): a longer tail takes what homes cannot.
            let longer = arena.allocate(leaf.extent.slots() + entries.len());
            arena.release(std::mem::replace(&mut leaf.extent, longer));
        }
        leaf.len = entries.len() as u32;
        leaf
    }

    fn fill<K: Mixed>(&self, slots: &mut [Entry<K>], entries: &[Entry<K>]) -> bool {
        let mut free = 0;
        for entry in entries {
            let at = self.home(entry.key).max(free);
            let Some(slot) = slots.get_mut(at) else { return false };
            *slot = *entry;
            free = at + 1;
        }
        true
    }

    /// Where its slots are.
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Bits shared by all entries.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Entries.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks whether a leaf is empty")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.extent.slots()
    }

    #[inline]
    fn home<K: Mixed>(&self, key: K) -> usize {
        let bits = key.prefix() << self.depth;
        ((u128::from(bits) * u128::from(self.homes)) >> 64) as usize
    }

    /// Finds an entry in the leaf's slots, or where it belongs.
    #[inline]
    pub fn search<K: Mixed>(&self, slots: &[Entry<K>], key: K, key_bytes: u8) -> Search {
        let (home, prefix) = (self.home(key), key.prefix());
        for (n, entry) in slots[home..].iter().enumerate() {
            if entry.loc.is_none() {
                return Search::Missing(home + n);
            }
            // The leading bits decide nearly always.
            if entry.key.prefix() < prefix {
                continue;
            }
            match entry.order().cmp(&(key, key_bytes)) {
                Ordering::Less => {}
                Ordering::Equal => return Search::Found(home + n),
                Ordering::Greater => return Search::Missing(home + n),
            }
        }
        Search::Missing(slots.len())
    }

    /// Enters a missing entry at the slot `search` gave. False if there is no free slot behind it.
    #[inline]
    pub fn insert<K: Mixed>(&mut self, slots: &mut [Entry<K>], at: usize, entry: Entry<K>) -> bool {
        // The few entries up to the next gap move up by one, each into the place of the one before it.
        let mut moving = entry;
        for slot in &mut slots[at..] {
            std::mem::swap(slot, &mut moving);
            if moving.loc.is_none() {
                self.len += 1;
                return true;
            }
        }
        slots[at..].iter_mut().rev().for_each(|slot| std::mem::swap(slot, &mut moving));
        false
    }

    /// Removes a found entry; the following ones move up as far as their homes allow.
    pub fn remove<K: Mixed>(&mut self, slots: &mut [Entry<K>], at: usize) -> Loc {
        let loc = slots[at].loc;
        let mut hole = at;
        while let Some(next) = slots.get(hole + 1) {
            if next.loc.is_none() || self.home(next.key) > hole {
                break;
            }
            slots[hole] = *next;
            hole += 1;
        }
        slots[hole].loc = Loc::NONE;
        self.len -= 1;
        loc
    }

    /// The slots that entering the key will look at: its home, and one on each of the lines that follow.
    #[inline]
    pub fn neighbourhood<'a, K: Mixed>(
        &self,
        slots: &'a [Entry<K>],
        key: K,
    ) -> impl Iterator<Item = &'a Entry<K>> {
        let line = 64 / size_of::<Entry<K>>();
        // The tail keeps these slots behind every home.
        slots[self.home(key)..].iter().step_by(line).take(TAIL / line)
    }
}
