// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The memory of the leaves: extents of slots in a few large chunks.
//!
//! Large chunks can live in huge pages, which small allocations cannot: translating an address then costs no
//! memory access of its own. Freed extents join their neighbours.

use super::RecordAddr;
use super::leaf::{Entry, LINE_BYTES};
use saker_segment_store::advice::{self, Ahead};
use std::collections::{BTreeMap, BTreeSet};
use zerocopy::FromZeros;

/// Slots of the first chunk; each one that follows has twice as many, up to the maximum.
const FIRST_CHUNK_SLOTS: usize = 1 << 12;
const CHUNK_SLOTS_MAX: usize = 1 << 21;
/// Extents are multiples of this many slots, so that what is left over remains useful.
pub const UNIT_SLOTS: usize = 16;

/// A run of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    chunk: u32,
    start: u32,
    slots: u32,
}

impl Extent {
    /// The extent of these [parts](Self::parts).
    #[inline]
    pub fn new(chunk: u32, start: u32, slots: u32) -> Self {
        Self { chunk, start, slots }
    }

    /// Its chunk, where it begins there, and its slots.
    pub fn parts(self) -> (u32, u32, usize) {
        (self.chunk, self.start, self.slots as usize)
    }

    /// Without its first `slots` slots, which it has.
    #[inline]
    pub fn behind(self, slots: usize) -> Self {
        let skipped = slots as u32;
        Self { chunk: self.chunk, start: self.start + skipped, slots: self.slots - skipped }
    }

    #[inline]
    fn end(self) -> u32 {
        self.start + self.slots
    }
}

/// All slots of a table.
#[derive(Clone, Debug)]
pub struct Arena<K> {
    chunks: Vec<Vec<Entry<K>>>,
    /// Slots of the last chunk that have been given out; those behind them are empty.
    used: usize,
    /// How far the last chunk has been asked for.
    ahead: Ahead,
    ready: Ready<K>,
    /// Free extents by chunk and start.
    free: BTreeMap<(u32, u32), u32>,
    /// The same by size.
    sizes: BTreeSet<(u32, u32, u32)>,
}

/// Chunks in memory that was brought in ahead of use. A copy has none.
#[derive(Debug)]
struct Ready<K>(Vec<Vec<Entry<K>>>);

impl<K> Clone for Ready<K> {
    fn clone(&self) -> Self {
        Self(Vec::new())
    }
}

impl<K> Default for Arena<K> {
    fn default() -> Self {
        Self {
            chunks: Vec::new(),
            used: 0,
            ahead: Ahead::default(),
            ready: Ready(Vec::new()),
            free: BTreeMap::new(),
            sizes: BTreeSet::new(),
        }
    }
}

impl<K: Copy + FromZeros> Arena<K> {
    /// At least `slots` empty slots.
    pub fn allocate(&mut self, slots: usize) -> Extent {
        let slots = slots.next_multiple_of(UNIT_SLOTS);
        let Some(extent) = self.reuse(slots as u32) else { return self.extend(slots) };
        self.slots_mut(extent).iter_mut().for_each(|slot| slot.addr = RecordAddr::NONE);
        extent
    }

    /// The smallest free extent that is large enough.
    fn reuse(&mut self, slots: u32) -> Option<Extent> {
        let (size, chunk, start) = *self.sizes.range((slots, 0, 0)..).next()?;
        self.take(Extent { chunk, start, slots: size });
        if size > slots {
            self.put(Extent { chunk, start: start + slots, slots: size - slots });
        }
        Some(Extent { chunk, start, slots })
    }

    /// New slots at the end of the last chunk, or in a new one.
    fn extend(&mut self, slots: usize) -> Extent {
        if self.chunks.last().is_none_or(|c| c.len() - SLACK_SLOTS + before_line(c) < self.used + slots) {
            self.add_chunk(slots);
        }
        let extent =
            Extent { chunk: self.chunks.len() as u32 - 1, start: self.used as u32, slots: slots as u32 };
        self.used += slots;
        self.ask_ahead();
        extent
    }

    /// A chunk as the allocator clears it, which for large ones is at the first touch.
    fn add_chunk(&mut self, slots: usize) {
        let slots = self.next_chunk_slots().max(slots);
        let ready = self.ready.0.pop().filter(|chunk| chunk.len() >= slots + SLACK_SLOTS);
        let chunk = ready.or_else(|| new_chunk(slots, advice::will_use)).expect("memory for the index");
        (self.used, self.ahead) = (before_line(&chunk), Ahead::default());
        self.chunks.push(chunk);
    }

    fn next_chunk_slots(&self) -> usize {
        (FIRST_CHUNK_SLOTS << self.chunks.len().min(16)).min(CHUNK_SLOTS_MAX)
    }

    /// Asks for the slots to come; when those of the last chunk come to their end, for the first of the next one.
    fn ask_ahead(&mut self) {
        let Some(last) = self.chunks.last() else { return };
        if self.ahead.fill(last, self.used) && self.ready.0.is_empty() && advice::is_installed() {
            let next = new_chunk(self.next_chunk_slots(), advice::will_use);
            if let Some(chunk) = &next {
                Ahead::default().fill(chunk, 0);
            }
            self.ready.0.extend(next);
        }
    }

    /// Brings in memory for so many slots to come.
    pub fn reserve(&mut self, slots: usize) {
        for _ in 0..slots.div_ceil(CHUNK_SLOTS_MAX) {
            self.ready.0.extend(new_chunk(CHUNK_SLOTS_MAX, advice::bring_in));
        }
    }

    /// Gives an extent back.
    pub fn release(&mut self, extent: Extent) {
        let mut joined = extent;
        let below = self.free.range(..(extent.chunk, extent.start)).next_back();
        if let Some((&(chunk, start), &slots)) = below
            && chunk == extent.chunk
            && start + slots == extent.start
        {
            self.take(Extent { chunk, start, slots });
            joined = Extent { chunk, start, slots: slots + extent.slots };
        }
        if let Some(&slots) = self.free.get(&(extent.chunk, extent.end())) {
            self.take(Extent { chunk: extent.chunk, start: extent.end(), slots });
            joined.slots += slots;
        }
        self.put(joined);
    }

    fn take(&mut self, e: Extent) {
        let known = self.free.remove(&(e.chunk, e.start)).is_some();
        assert!(known && self.sizes.remove(&(e.slots, e.chunk, e.start)), "free extents are listed twice");
    }

    fn put(&mut self, e: Extent) {
        self.free.insert((e.chunk, e.start), e.slots);
        self.sizes.insert((e.slots, e.chunk, e.start));
    }

    /// The free extents, which both orders list.
    pub(super) fn free_extents(&self) -> Result<Vec<Extent>, String> {
        let is_listed =
            |(&(chunk, start), &slots): (&(u32, u32), &u32)| self.sizes.contains(&(slots, chunk, start));
        if self.free.len() != self.sizes.len() || !self.free.iter().all(is_listed) {
            return Err("free extents are not listed twice".into());
        }
        Ok(self.free.iter().map(|(&(chunk, start), &slots)| Extent { chunk, start, slots }).collect())
    }

    /// Slots of all chunks that have been given out, and the ends of full chunks.
    pub(super) fn given_out(&self) -> u64 {
        let full = self.chunks.iter().rev().skip(1).map(|c| c.len() as u64).sum::<u64>();
        full + self.used as u64
    }

    /// The slots of an extent.
    #[inline]
    pub fn slots(&self, e: Extent) -> &[Entry<K>] {
        &self.chunks[e.chunk as usize][e.start as usize..e.end() as usize]
    }

    /// The slots of an extent.
    #[inline]
    pub fn slots_mut(&mut self, e: Extent) -> &mut [Entry<K>] {
        &mut self.chunks[e.chunk as usize][e.start as usize..e.end() as usize]
    }

    /// The slots of one extent to read and of another one to write.
    ///
    /// # Panics
    /// If they overlap.
    pub fn both_mut(&mut self, read: Extent, write: Extent) -> (&[Entry<K>], &mut [Entry<K>]) {
        let part = |e: Extent| e.start as usize..e.end() as usize;
        let (r, w) = (read.chunk as usize, write.chunk as usize);
        let parts = if r == w {
            self.chunks[r].get_disjoint_mut([part(read), part(write)])
        } else {
            let chunks = self.chunks.get_disjoint_mut([r, w]).expect("two chunks");
            let [r, w] = chunks;
            return (&r[part(read)], &mut w[part(write)]);
        };
        let [r, w] = parts.expect("extents of leaves are apart");
        (r, w)
    }
}

/// Slots of a chunk before its first line, at most: what the allocator gives begins somewhere in a line.
const SLACK_SLOTS: usize = 8;

/// Slots before the first one that begins a line.
#[inline]
fn before_line<K>(chunk: &[Entry<K>]) -> usize {
    let start = chunk.as_ptr().addr();
    let begins_line = |n: &usize| (start + n * size_of::<Entry<K>>()).is_multiple_of(LINE_BYTES);
    (0..SLACK_SLOTS).find(begins_line).unwrap_or(0)
}

/// `None`: there is no memory.
fn new_chunk<K: FromZeros>(slots: usize, advise: fn(&Vec<Entry<K>>)) -> Option<Vec<Entry<K>>> {
    let chunk = Entry::new_vec_zeroed(slots + SLACK_SLOTS).ok()?;
    advise(&chunk);
    Some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_sim::Seed;

    #[test]
    fn extents_never_overlap_and_join_when_free() {
        let (mut arena, mut rng) = (Arena::<u64>::default(), Seed(9).rng());
        let mut held: Vec<(Extent, u64)> = Vec::new();
        for n in 1..4000u64 {
            if rng.below(5) < 3 || held.is_empty() {
                let e = arena.allocate(1 + rng.below(700) as usize);
                assert!(arena.slots(e).iter().all(|s| s.addr.is_none()), "given out empty");
                arena.slots_mut(e).fill(Entry { key: n, addr: RecordAddr::new(8, 24, 1) });
                held.push((e, n));
            } else {
                let (e, key) = held.swap_remove(rng.below(held.len() as u64) as usize);
                assert!(arena.slots(e).iter().all(|s| s.key == key), "nobody else wrote there");
                arena.release(e);
            }
        }
        held.into_iter().for_each(|(e, _)| arena.release(e));
        assert!(arena.free.len() <= arena.chunks.len(), "everything joined");
        assert_eq!(arena.free.len(), arena.sizes.len());
    }
}
