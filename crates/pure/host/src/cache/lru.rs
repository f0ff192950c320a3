// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Least recently used, by bytes: the library's list and table, our count.

use std::fmt;
use std::sync::Arc;

use ::lru::LruCache;

use super::slot::{PassedHash, Slot};
use super::weight;

pub(super) struct Lru {
    entries: LruCache<Slot, Arc<[u8]>, PassedHash>,
    bytes: usize,
    bytes_max: usize,
}

impl fmt::Debug for Lru {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lru").field("entries", &self.entries.len()).field("bytes", &self.bytes).finish()
    }
}

impl Lru {
    pub fn new(bytes_max: usize) -> Self {
        let entries = LruCache::unbounded_with_hasher(PassedHash::default());
        Self { entries, bytes: 0, bytes_max }
    }

    #[inline]
    pub fn get(&mut self, slot: &Slot) -> Option<&Arc<[u8]>> {
        self.entries.get(slot)
    }

    pub fn contains(&self, slot: &Slot) -> bool {
        self.entries.contains(slot)
    }

    /// What is there of the key goes, whether the new value fits or not.
    pub fn insert(&mut self, slot: Slot, value: Arc<[u8]>) {
        self.remove(&slot);
        if weight(&value) > self.bytes_max {
            return;
        }
        self.bytes += weight(&value);
        self.entries.push(slot, value);
        self.shrink();
    }

    /// A write is no use: the entry keeps its place.
    pub fn replace(&mut self, slot: &Slot, value: Arc<[u8]>) {
        let Some(old) = self.entries.peek_mut(slot) else { return };
        self.bytes = self.bytes - weight(old) + weight(&value);
        *old = value;
        self.shrink();
    }

    pub fn remove(&mut self, slot: &Slot) -> bool {
        let removed = self.entries.pop(slot);
        removed.inspect(|value| self.bytes -= weight(value)).is_some()
    }

    fn shrink(&mut self) {
        while self.bytes > self.bytes_max {
            let (_, value) = self.entries.pop_lru().expect("bytes belong to entries");
            self.bytes -= weight(&value);
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.bytes = 0;
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub const fn bytes(&self) -> usize {
        self.bytes
    }
}
