// SPDX-License-Identifier: Apache-2.0 OR MIT
//! S3-FIFO (Yang et al., SOSP'23) as quick_cache has it: a small queue for what is new, a main queue for what was used again,
//! and keys of what left lately.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::unsync::{Cache, DefaultLifecycle};

use super::ENTRY_BYTES;
use super::slot::{PassedHash, Slot};

#[derive(Clone, Copy, Debug)]
struct ByBytes;

impl Weighter<Slot, Arc<[u8]>> for ByBytes {
    #[inline]
    fn weight(&self, _: &Slot, value: &Arc<[u8]>) -> u64 {
        super::weight(value) as u64
    }
}

/// Length that values are taken to have when tables are dimensioned.
const TYPICAL_BYTES: usize = 256;

#[derive(Debug)]
pub(super) struct S3Fifo {
    entries: Cache<Slot, Arc<[u8]>, ByBytes, PassedHash>,
}

impl S3Fifo {
    pub fn new(bytes_max: usize) -> Self {
        let typical = bytes_max.div_ceil(ENTRY_BYTES + TYPICAL_BYTES);
        let entries = Cache::with(
            typical,
            bytes_max as u64,
            ByBytes,
            PassedHash::default(),
            DefaultLifecycle::default(),
        );
        Self { entries }
    }

    #[inline]
    pub fn get(&self, slot: &Slot) -> Option<&Arc<[u8]>> {
        self.entries.get(slot)
    }

    pub fn contains(&self, slot: &Slot) -> bool {
        self.entries.contains_key(slot)
    }

    pub fn insert(&mut self, slot: Slot, value: Arc<[u8]>) {
        self.entries.insert(slot, value);
    }

    /// A write is no use: it does not count as one.
    pub fn replace(&mut self, slot: Slot, value: Arc<[u8]>) {
        if self.entries.replace(slot, value, true).is_err() {
            debug_assert!(!self.contains(&slot), "only what is here is replaced");
        }
    }

    pub fn remove(&mut self, slot: &Slot) -> bool {
        self.entries.remove(slot).is_some()
    }

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn bytes(&self) -> usize {
        self.entries.weight() as usize
    }
}
