// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A leaf of the index: an open-addressed array of buckets whose clusters are in order.
//!
//! An entry's home is its mixed key scaled to the buckets, each of which is a whole number of cache lines. Entries stand in
//! their home or behind it with only full buckets between, so everything up to a bucket that is not full belongs before
//! everything behind it (a cluster), and a walk in order sorts one cluster at a time. Within a bucket entries stand as
//! they came, without gaps: entering one moves no other.

use super::RecordAddr;
use super::arena::{Arena, Extent, UNIT_SLOTS};
use super::growth::Room;
use super::moves::{Half, Mover};
use zerocopy::FromZeros;

/// A mixed key: ordered, with 64 leading bits that spread evenly.
pub trait Mixed: Copy + Ord + FromZeros {
    /// Slots of a bucket: as many as fill cache lines.
    const BUCKET: usize;
    /// The leading bits.
    fn prefix(self) -> u64;
}

impl Mixed for u64 {
    const BUCKET: usize = 4;

    #[inline]
    fn prefix(self) -> u64 {
        self
    }
}

impl Mixed for [u64; 2] {
    const BUCKET: usize = 8;

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
    /// Address in the log; none for an empty slot.
    pub addr: RecordAddr,
}

impl<K: Mixed> Entry<K> {
    /// What decides the order.
    #[inline]
    pub fn order(&self) -> (K, u8) {
        (self.key, self.addr.key_bytes())
    }

    #[inline]
    fn is_of(&self, key: K, key_bytes: u8) -> bool {
        !self.addr.is_none() && self.order() == (key, key_bytes)
    }
}

/// Slots at the end that are nobody's home, for entries pushed beyond the last one.
const TAIL: usize = 16;
/// Slots from a key's home on that are asked for ahead: two lines of short keys, three of long ones. Twice as many cost more time than
/// they save, half as many are better only while leaves have much room (`docs/figures.md`).
const NEAR_SLOTS: usize = 8;
const _: () = assert!(NEAR_SLOTS <= TAIL);
/// A cache line.
pub(super) const LINE_BYTES: usize = 64;
const _: () = assert!(4 * size_of::<Entry<u64>>() == LINE_BYTES);
const _: () = assert!(8 * size_of::<Entry<[u64; 2]>>() == 3 * LINE_BYTES);

/// A leaf: entries whose mixed keys share their first `depth` bits. Its header is narrow, since the headers of all leaves compete for
/// the near caches.
#[derive(Clone, Copy, Debug)]
pub struct Leaf {
    start: u32,
    chunk: u16,
    /// Entries that can come before it is to be given more room, or as many as fit here.
    left: u16,
    len: u32,
    /// Bits 31:8: slots in units of 16. Bit 7: the second half of them is nobody's home. Bits 6:0: the depth.
    size: u32,
}

const _: () = assert!(size_of::<Leaf>() == 16);
const UNITS_SHIFT: u32 = 8;
const LONG_TAIL: u32 = 1 << 7;

/// Where a search for a place ended.
pub enum Search<'a, K> {
    /// At the entry.
    Found(&'a mut Entry<K>),
    /// At an empty slot, where it can be put.
    Missing(&'a mut Entry<K>),
    /// At the end.
    Crowded,
}

impl Leaf {
    /// An empty leaf.
    pub fn new<K: Mixed>(arena: &mut Arena<K>, depth: u8, room: Room) -> Self {
        Self::of(arena.allocate(room.slots.max(2 * TAIL)), u32::from(depth)).with(0, room.limit)
    }

    /// An empty leaf in an extent.
    fn of(extent: Extent, depth_and_tail: u32) -> Self {
        let (chunk, start, slots) = extent.parts();
        let (units, rest) = (slots / UNIT_SLOTS, slots % UNIT_SLOTS);
        assert!(rest == 0 && units < 1 << (32 - UNITS_SHIFT), "a leaf of {slots} slots");
        let chunk = u16::try_from(chunk).expect("chunks of 2 M slots");
        Self { start, chunk, left: 0, len: 0, size: (units as u32) << UNITS_SHIFT | depth_and_tail }
    }

    /// With so many entries, of at most `limit`.
    fn with(mut self, entries: usize, limit: usize) -> Self {
        let left = limit.min(self.capacity() - TAIL).saturating_sub(entries);
        (self.len, self.left) = (entries as u32, left.min(usize::from(u16::MAX)) as u16);
        self
    }

    /// Buckets that are homes.
    #[inline]
    fn homes<K: Mixed>(&self) -> usize {
        (self.asked() - TAIL) / K::BUCKET
    }

    /// Slots that were asked for: half of them in a leaf that had to have a long tail.
    #[inline]
    pub fn asked(&self) -> usize {
        self.capacity() >> ((self.size / LONG_TAIL) & 1)
    }

    /// A leaf of entries that a mover has found in an extent of the arena; with a long tail if one more cannot do without.
    pub fn build<K: Mixed>(
        arena: &mut Arena<K>,
        depth: u8,
        (room, is_crowded): (Room, bool),
        (old, half, entries): (Extent, Half, usize),
        mover: &mut Mover,
    ) -> Self {
        let slots = room.slots.max(entries + TAIL);
        let mut fill = |leaf: &Self, arena: &mut Arena<K>| {
            let (old, new) = arena.both_mut(old, leaf.extent());
            mover.fill(half, old, leaf, new)
        };
        if !is_crowded {
            let leaf = Self::new(arena, depth, Room { slots, ..room });
            if fill(&leaf, arena) {
                return leaf.with(entries, room.limit);
            }
            arena.release(leaf.extent());
        }
        // A crowded end (nearly impossible with mixed keys): the tail has room for all of them and more.
        let leaf = Self::of(arena.allocate(2 * slots), u32::from(depth) | LONG_TAIL);
        assert!(fill(&leaf, arena), "half of the slots are more than all entries");
        leaf.with(entries, room.limit)
    }

    /// Where its slots are.
    #[inline]
    pub fn extent(&self) -> Extent {
        Extent::new(u32::from(self.chunk), self.start, self.capacity() as u32)
    }

    /// Bits shared by all entries.
    #[inline]
    pub fn depth(&self) -> u8 {
        (self.size % LONG_TAIL) as u8
    }

    /// Entries.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether it is to be given more room before the next entry.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Slots.
    #[inline]
    pub fn capacity(&self) -> usize {
        (self.size >> UNITS_SHIFT) as usize * UNIT_SLOTS
    }

    /// The bucket that is the key's home.
    #[inline]
    pub fn home<K: Mixed>(&self, key: K) -> usize {
        let bits = key.prefix() << self.depth();
        ((u128::from(bits) * self.homes::<K>() as u128) >> 64) as usize
    }

    /// The slots from the key's home on.
    #[inline]
    pub fn extent_from<K: Mixed>(&self, key: K) -> Extent {
        self.extent().behind(self.home(key) * K::BUCKET)
    }

    /// Notes that an empty slot has been filled; the leaf was not full.
    #[inline]
    pub fn add(&mut self) {
        self.len += 1;
        self.left -= 1;
    }

    /// Removes an entry. Buckets that are no longer full draw back what had to pass them.
    pub fn remove<K: Mixed>(&mut self, slots: &mut [Entry<K>], key: K, key_bytes: u8) -> Option<RecordAddr> {
        let home = self.home(key) * K::BUCKET;
        let behind = &slots[home..];
        let entry = find(behind, key, key_bytes)?;
        let at = home + behind.iter().position(|e| std::ptr::eq(e, entry))?;
        let addr = slots[at].addr;
        self.len -= 1;
        self.left = self.left.saturating_add(1);
        let mut here = at - at % K::BUCKET;
        let mut was_full = take_out(&mut slots[here..here + K::BUCKET], at - here);
        let mut next = here + K::BUCKET;
        while was_full && next < slots.len() {
            let bucket = &slots[next..next + K::BUCKET];
            was_full = used(bucket) == K::BUCKET;
            let passed = |e: &Entry<K>| !e.addr.is_none() && self.home(e.key) * K::BUCKET <= here;
            if let Some(n) = bucket.iter().position(passed) {
                let gap = here + used(&slots[here..here + K::BUCKET]);
                slots[gap] = slots[next + n];
                take_out(&mut slots[next..next + K::BUCKET], n);
                here = next;
            }
            next += K::BUCKET;
        }
        Some(addr)
    }

    /// The first cluster of these slots.
    pub fn first_cluster<K: Mixed>(slots: &[Entry<K>]) -> &[Entry<K>] {
        let end = slots.chunks_exact(K::BUCKET).position(|bucket| used(bucket) < K::BUCKET);
        &slots[..end.map_or(slots.len(), |n| (n + 1) * K::BUCKET)]
    }
}

/// The entry of a key in the slots from its home on.
#[inline]
pub fn find<K: Mixed>(slots: &[Entry<K>], key: K, key_bytes: u8) -> Option<&Entry<K>> {
    for bucket in slots.chunks_exact(K::BUCKET) {
        if has_alike(bucket, key)
            && let Some(entry) = bucket.iter().find(|e| e.is_of(key, key_bytes))
        {
            return Some(entry);
        }
        if used(bucket) < K::BUCKET {
            break;
        }
    }
    None
}

/// The entry of a key in the slots from its home on, or an empty slot for it.
#[inline]
pub fn place<K: Mixed>(slots: &mut [Entry<K>], key: K, key_bytes: u8) -> Search<'_, K> {
    for bucket in slots.chunks_exact_mut(K::BUCKET) {
        if has_alike(bucket, key)
            && let Some(n) = bucket.iter().position(|e| e.is_of(key, key_bytes))
        {
            return Search::Found(&mut bucket[n]);
        }
        let used = used(bucket);
        if let Some(slot) = bucket.get_mut(used) {
            return Search::Missing(slot);
        }
    }
    Search::Crowded
}

/// Slots on the lines that a key is likely to need whose slots from its home on are these.
#[inline]
pub fn lines<K: Mixed>(slots: &[Entry<K>]) -> impl Iterator<Item = &Entry<K>> {
    // At least one slot begins on each line. The tail keeps these slots behind every home.
    let slots = slots.first_chunk::<NEAR_SLOTS>().map_or(&[][..], |slots| slots);
    slots.iter().step_by(const { LINE_BYTES.div_ceil(size_of::<Entry<K>>()) })
}

/// Whether the leading bits of an entry are the key's. No branch for a slot: they decide nearly always, and how many slots
/// are in use cannot be foreseen.
#[inline]
fn has_alike<K: Mixed>(bucket: &[Entry<K>], key: K) -> bool {
    bucket.iter().fold(false, |any, e| any | (e.key.prefix() == key.prefix()))
}

/// Slots of a bucket that are in use: the first ones.
#[inline]
fn used<K>(bucket: &[Entry<K>]) -> usize {
    bucket.iter().map(|e| usize::from(!e.addr.is_none())).sum()
}

/// Takes an entry out of a bucket; the last one closes the gap. Whether the bucket was full.
fn take_out<K: Copy>(bucket: &mut [Entry<K>], at: usize) -> bool {
    let used = used(bucket);
    bucket[at] = bucket[used - 1];
    bucket[used - 1].addr = RecordAddr::NONE;
    used == bucket.len()
}
