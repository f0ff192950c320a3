// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Entries on their way from one extent to others.

use super::leaf::{Entry, Leaf, Mixed};

/// Memory for moving entries, used again and again.
#[derive(Clone, Debug, Default)]
pub struct Mover {
    /// Slots of the entries below the bit, and of the others, in their order. Behind them is what earlier moves have left.
    low: Vec<u32>,
    high: Vec<u32>,
    /// How many there are of each.
    parted: (usize, usize),
    /// Entries in each bucket of the new extent.
    counts: Vec<u8>,
}

/// Which entries of a leaf go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Those without the bit.
    Low,
    /// Those with it.
    High,
}

impl Mover {
    /// Finds the entries in these slots and parts them by a bit of their prefix; all are low without one. How many there are
    /// of each.
    pub fn part<K: Mixed>(&mut self, slots: &[Entry<K>], bit: Option<u32>) -> (usize, usize) {
        let mask = bit.map_or(0, |bit| 1 << bit);
        // They only grow, so that no move clears them: each place is written before it is read.
        if self.low.len() <= slots.len() {
            self.low.resize(slots.len() + 1, 0);
            self.high.resize(slots.len() + 1, 0);
        }
        let (mut low, mut high) = (0, 0);
        for (n, slot) in slots.iter().enumerate() {
            // No branch: which slots are gaps cannot be foreseen.
            let (is_used, is_high) = (!slot.addr.is_none(), slot.key.prefix() & mask != 0);
            self.low[low] = n as u32;
            low += usize::from(is_used & !is_high);
            self.high[high] = n as u32;
            high += usize::from(is_used & is_high);
        }
        self.parted = (low, high);
        self.parted
    }

    /// Puts the entries of a half, which are in the `old` slots, into the empty slots of a leaf. False if its end is too
    /// crowded for them.
    pub fn fill<K: Mixed>(
        &mut self,
        half: Half,
        old: &[Entry<K>],
        leaf: &Leaf,
        new: &mut [Entry<K>],
    ) -> bool {
        self.counts.clear();
        self.counts.resize(new.len() / K::BUCKET, 0);
        let which = match half {
            Half::Low => &self.low[..self.parted.0],
            Half::High => &self.high[..self.parted.1],
        };
        which.iter().all(|slot| {
            let entry = old[*slot as usize];
            let mut bucket = leaf.home(entry.key);
            while self.counts.get(bucket).is_some_and(|n| usize::from(*n) == K::BUCKET) {
                bucket += 1;
            }
            let Some(count) = self.counts.get_mut(bucket) else { return false };
            new[bucket * K::BUCKET + usize::from(*count)] = entry;
            *count += 1;
            true
        })
    }
}
