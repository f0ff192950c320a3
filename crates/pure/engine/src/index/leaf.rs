//! A leaf of the index: a sorted array with gaps.
//!
//! An entry's home is its mixed key scaled to the array. Entries stand at or after their home, in order, with
//! no gap between home and entry (linear probing kept sorted). So a search looks at neighbouring slots
//! only, and walking the array is walking the keys in order.

use super::Loc;

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
#[derive(Clone, Debug)]
pub struct Leaf<K> {
    slots: Vec<Entry<K>>,
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

impl<K: Mixed> Leaf<K> {
    /// An empty leaf with room for `capacity` slots.
    pub fn new(depth: u8, capacity: usize) -> Self {
        let slots = vec![Entry { key: K::default(), loc: Loc::NONE }; capacity.max(2 * TAIL)];
        let homes = (slots.len() - TAIL) as u32;
        Self { slots, homes, len: 0, depth }
    }

    /// A leaf filled with sorted entries.
    pub fn build(depth: u8, capacity: usize, entries: impl Iterator<Item = Entry<K>>) -> Self {
        let mut leaf = Self::new(depth, capacity);
        let mut free = 0;
        let mut spilled = Vec::new();
        for entry in entries {
            let at = leaf.home(entry.key).max(free);
            if at >= leaf.slots.len() {
                spilled.push(entry);
                continue;
            }
            leaf.slots[at] = entry;
            leaf.len += 1;
            free = at + 1;
        }
        // A crowded end (nearly impossible with mixed keys): append, the order still holds.
        leaf.len += spilled.len() as u32;
        leaf.slots.extend(spilled);
        leaf
    }

    /// Bits shared by all entries.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Slots.
    pub fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slot at `at`.
    pub fn slot(&self, at: usize) -> Option<&Entry<K>> {
        self.slots.get(at)
    }

    /// All entries in order.
    pub fn entries(&self) -> impl Iterator<Item = Entry<K>> + '_ {
        self.slots.iter().filter(|e| !e.loc.is_none()).copied()
    }

    #[inline]
    fn home(&self, key: K) -> usize {
        let bits = key.prefix() << self.depth;
        ((u128::from(bits) * u128::from(self.homes)) >> 64) as usize
    }

    /// Finds an entry or where it belongs.
    #[inline]
    pub fn search(&self, key: K, key_bytes: u8) -> Search {
        let mut at = self.home(key);
        while let Some(entry) = self.slots.get(at) {
            if entry.loc.is_none() {
                return Search::Missing(at);
            }
            if entry.key >= key {
                if entry.key == key && entry.loc.key_bytes() == key_bytes {
                    return Search::Found(at);
                }
                if entry.order() > (key, key_bytes) {
                    return Search::Missing(at);
                }
            }
            at += 1;
        }
        Search::Missing(at)
    }

    /// The place of a found entry.
    #[inline]
    pub fn loc(&self, at: usize) -> Loc {
        self.slots[at].loc
    }

    /// Replaces the place of a found entry.
    #[inline]
    pub fn replace(&mut self, at: usize, loc: Loc) -> Loc {
        std::mem::replace(&mut self.slots[at].loc, loc)
    }

    /// Enters a missing entry at the slot `search` gave. False if there is no free slot behind it.
    #[inline]
    pub fn insert(&mut self, at: usize, entry: Entry<K>) -> bool {
        let Some(gap) = self.slots[at.min(self.slots.len())..].iter().position(|e| e.loc.is_none()) else {
            return false;
        };
        self.slots.copy_within(at..at + gap, at + 1);
        self.slots[at] = entry;
        self.len += 1;
        true
    }

    /// Removes a found entry; the following ones move up as far as their homes allow.
    pub fn remove(&mut self, at: usize) -> Loc {
        let loc = self.slots[at].loc;
        let mut hole = at;
        while let Some(next) = self.slots.get(hole + 1) {
            if next.loc.is_none() || self.home(next.key) > hole {
                break;
            }
            self.slots[hole] = *next;
            hole += 1;
        }
        self.slots[hole].loc = Loc::NONE;
        self.len -= 1;
        loc
    }

    /// The slots a search for the key looks at first.
    #[inline]
    pub fn neighbourhood(&self, key: K) -> [&Entry<K>; 2] {
        let home = self.home(key);
        // The tail keeps a slot behind every home.
        [&self.slots[home], &self.slots[home + 4]]
    }
}
