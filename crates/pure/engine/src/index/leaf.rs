//! A leaf of the index: an open-addressed array whose clusters are in order.
//!
//! An entry's home is its mixed key scaled to the array. Entries stand at or after their home with no gap between, so
//! everything between two gaps (a cluster) belongs before everything behind it, and a walk in order sorts one
//! cluster at a time. Within a cluster entries stand as they came: entering one moves no other.

use super::Loc;
use super::arena::{Arena, Extent};
use zerocopy::FromZeros;

/// A mixed key: ordered, with 64 leading bits that spread evenly.
pub trait Mixed: Copy + Ord + FromZeros {
    /// The leading bits.
    fn prefix(self) -> u64;
}

impl Mixed for u64 {
    #[inline]
    fn prefix(self) -> u64 {
        self
    }
}

impl Mixed for [u64; 2] {
    #[inline]
    fn prefix(self) -> u64 {
        self[0]
    }
}

/// One slot.
#[derive(Clone, Copy, Debug, FromZeros)]
pub struct Entry<K> {
    /// Mixed key.
    pub key: K,
    /// Place in the log; none for an empty slot.
    pub loc: Loc,
}

impl<K: Mixed> Entry<K> {
    /// What decides the order.
    #[inline]
    pub fn order(&self) -> (K, u8) {
        (self.key, self.loc.key_bytes())
    }
}

/// Slots at the end that are nobody's home, for entries pushed beyond the last one.
const TAIL: usize = 16;
/// Bytes from its home on that a key is likely to need.
const AHEAD_BYTES: usize = 192;

/// A leaf: entries whose mixed keys share their first `depth` bits.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    extent: Extent,
    len: u32,
    /// Entries at which it is to be given more room.
    limit: u32,
    depth: u8,
}

/// Where a search ended.
pub enum Search {
    /// The entry is in this slot.
    Found(usize),
    /// It is not there; this is where it can be put, or the end if there is no gap.
    Missing(usize),
}

impl Leaf {
    /// An empty leaf with room for at least `capacity` slots, of which `limit` may be used.
    pub fn new<K: Mixed>(arena: &mut Arena<K>, depth: u8, capacity: usize, limit: usize) -> Self {
        let extent = arena.allocate(capacity.max(2 * TAIL));
        Self { extent, len: 0, limit: limit.min(extent.slots() - TAIL) as u32, depth }
    }

    /// A leaf filled with the entries of another one, in the order in which they stood there.
    pub fn build<K: Mixed>(
        arena: &mut Arena<K>,
        depth: u8,
        capacity: usize,
        limit: usize,
        entries: &[Entry<K>],
    ) -> Self {
        let mut leaf = Self::new(arena, depth, capacity.max(entries.len() + TAIL), limit);
        while !leaf.fill(arena.slots_mut(leaf.extent), entries) {
            // A crowded end (nearly impossible with mixed keys): a longer tail takes what homes cannot.
            arena.release(leaf.extent);
            leaf.extent = arena.allocate(leaf.extent.slots() + entries.len());
        }
        leaf.len = entries.len() as u32;
        leaf
    }

    fn fill<K: Mixed>(&self, slots: &mut [Entry<K>], entries: &[Entry<K>]) -> bool {
        entries.iter().all(|entry| {
            // The first steps without a branch: whether a slot is a gap cannot be foreseen.
            let mut at = self.home(entry.key);
            at += usize::from(!slots[at].loc.is_none());
            at += usize::from(!slots[at].loc.is_none());
            while slots.get(at).is_some_and(|slot| !slot.loc.is_none()) {
                at += 1;
            }
            slots.get_mut(at).map(|slot| *slot = *entry).is_some()
        })
    }

    /// Where its slots are.
    #[inline]
    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// Bits shared by all entries.
    pub fn depth(&self) -> u8 {
        self.depth
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it is to be given more room before the next entry.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len >= self.limit
    }

    /// Slots.
    pub fn capacity(&self) -> usize {
        self.extent.slots()
    }

    #[inline]
    fn home<K: Mixed>(&self, key: K) -> usize {
        let bits = key.prefix() << self.depth;
        ((u128::from(bits) * (self.extent.slots() - TAIL) as u128) >> 64) as usize
    }

    /// Finds an entry in the leaf's slots, or a gap for it.
    #[inline]
    pub fn search<K: Mixed>(&self, slots: &[Entry<K>], key: K, key_bytes: u8) -> Search {
        let home = self.home(key);
        for (n, entry) in slots[home..].iter().enumerate() {
            if entry.loc.is_none() {
                return Search::Missing(home + n);
            }
            // The leading bits decide nearly always.
            if entry.key.prefix() == key.prefix() && entry.order() == (key, key_bytes) {
                return Search::Found(home + n);
            }
        }
        Search::Missing(slots.len())
    }

    /// Puts a missing entry into the gap that `search` gave. False if there was none.
    #[inline]
    pub fn insert<K: Mixed>(&mut self, slots: &mut [Entry<K>], at: usize, entry: Entry<K>) -> bool {
        let Some(slot) = slots.get_mut(at) else { return false };
        *slot = entry;
        self.len += 1;
        true
    }

    /// Removes a found entry; those behind it move up where the gap would part them from their homes.
    pub fn remove<K: Mixed>(&mut self, slots: &mut [Entry<K>], at: usize) -> Loc {
        let loc = slots[at].loc;
        let mut gap = at;
        for next in at + 1..slots.len() {
            if slots[next].loc.is_none() {
                break;
            }
            if self.home(slots[next].key) <= gap {
                slots[gap] = slots[next];
                gap = next;
            }
        }
        slots[gap].loc = Loc::NONE;
        self.len -= 1;
        loc
    }

    /// Where the first cluster begins that can hold the key or greater ones.
    pub fn cluster<K: Mixed>(&self, slots: &[Entry<K>], key: K) -> usize {
        let before = &slots[..self.home(key)];
        before.iter().rposition(|slot| slot.loc.is_none()).map_or(0, |gap| gap + 1)
    }

    /// The slots that entering the key will look at: its home, and some on the lines that follow.
    #[inline]
    pub fn neighbourhood<'a, K: Mixed>(
        &self,
        slots: &'a [Entry<K>],
        key: K,
    ) -> impl Iterator<Item = &'a Entry<K>> {
        let step = 64 / size_of::<Entry<K>>();
        let count = AHEAD_BYTES / (step * size_of::<Entry<K>>());
        // The tail keeps these slots behind every home.
        slots[self.home(key)..].iter().step_by(step).take(count)
    }
}
