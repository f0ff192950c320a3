// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The in-memory index of the hash store: key to place in the log.
//!
//! Keys are mixed by a bijection, so an entry *is* its key: no second copy, no false hits, no flash read to
//! decide whether a pair exists. Keys of up to 8 bytes take 16-byte entries, longer ones 24. Entries lie in
//! leaves split by hash prefix, and in them near where their mixed keys belong, so the index itself is the order in
//! which List goes through the pairs.

mod arena;
mod growth;
mod leaf;
mod moves;
mod table;

pub use crate::mix::{IndexKey, MixedKey, Mixer};
pub use saker_value_log::RecordAddr;

use saker_engine_api::Memory;
use saker_sim::Meter;
use table::Table;

/// The index: one table per class of keys.
#[derive(Clone, Debug)]
pub struct Index {
    mixer: Mixer,
    short: Table<u64>,
    long: Table<[u64; 2]>,
}

impl Index {
    /// An empty index. The seed decides the order of List and belongs to the image.
    pub fn new(seed: u64) -> Self {
        Self { mixer: Mixer::new(seed), short: Table::default(), long: Table::default() }
    }

    /// Where a key belongs. `None` for keys that are empty or longer than 16 bytes.
    #[inline]
    pub fn place(&self, key: &[u8]) -> Option<IndexKey> {
        self.mixer.place(key)
    }

    /// The key of a place.
    pub fn key(&self, place: IndexKey) -> ([u8; 16], usize) {
        self.mixer.key(place)
    }

    /// The pair's place in the log.
    #[inline]
    pub fn get(&self, place: IndexKey) -> Option<RecordAddr> {
        match place.mixed() {
            MixedKey::Short(k) => self.short.get(k, place.key_bytes()),
            MixedKey::Long(k) => self.long.get(k, place.key_bytes()),
        }
    }

    /// Enters a pair; returns where its previous version is.
    // Each put ends here; whether it is inlined must not hang on who else calls it.
    #[inline(always)]
    pub fn insert(&mut self, place: IndexKey, addr: RecordAddr) -> Option<RecordAddr> {
        match place.mixed() {
            MixedKey::Short(k) => self.short.insert(k, addr),
            MixedKey::Long(k) => self.long.insert(k, addr),
        }
    }

    /// Removes a pair; returns where it was.
    pub fn remove(&mut self, place: IndexKey) -> Option<RecordAddr> {
        match place.mixed() {
            MixedKey::Short(k) => self.short.remove(k, place.key_bytes()),
            MixedKey::Long(k) => self.long.remove(k, place.key_bytes()),
        }
    }

    /// Number of pairs.
    pub fn len(&self) -> u64 {
        self.short.len() + self.long.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first entry at or after `from` (or the very first one), and the following ones, until `visit`
    /// says stop (false). The order is total over all possible keys: short ones first, then by mixed key,
    /// then by length.
    pub fn visit(&self, from: Option<IndexKey>, mut visit: impl FnMut(IndexKey, RecordAddr) -> bool) {
        let (short, long) = match from.map(|place| (place.mixed(), place.key_bytes())) {
            None => (Some(None), None),
            Some((MixedKey::Short(k), len)) => (Some(Some((k, len))), None),
            Some((MixedKey::Long(k), len)) => (None, Some((k, len))),
        };
        let all_short = short.is_none_or(|from| {
            self.short.visit(from, |k, addr| visit(IndexKey::new(MixedKey::Short(k), addr.key_bytes()), addr))
        });
        if all_short {
            self.long.visit(long, |k, addr| visit(IndexKey::new(MixedKey::Long(k), addr.key_bytes()), addr));
        }
    }

    /// Brings in memory for so many pairs to come, whatever the length of their keys. The first pair of a class then lays out the
    /// leaves for all of them, so that none is moved later. Nothing else changes.
    pub fn reserve(&mut self, pairs: usize) {
        self.short.reserve(pairs);
        self.long.reserve(pairs);
    }

    /// Asks the processor to fetch the lines of a place that will soon be looked up.
    #[inline]
    pub fn touch<W: Meter>(&self, place: IndexKey, w: &mut W) {
        match place.mixed() {
            MixedKey::Short(k) => self.short.touch(k, w),
            MixedKey::Long(k) => self.long.touch(k, w),
        }
    }

    /// Says what contradicts itself, if anything does.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.short.check().map_err(|e| format!("short keys: {e}"))?;
        self.long.check().map_err(|e| format!("long keys: {e}"))
    }

    /// Modelled memory: entries and directory.
    pub fn memory(&self) -> Memory {
        Memory {
            index_bytes: self.short.entry_bytes() + self.long.entry_bytes(),
            directory_bytes: self.short.directory_bytes() + self.long.directory_bytes(),
            segment_bytes: 0,
        }
    }
}
