// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is in the device of a cache, and what leaves it.

use super::{KvCache, name, pair_bytes};
use crate::error::Error;
use saker_host::retention::Retention;
use saker_host::{HostError, KvError};
use saker_nvme::Key;

/// The part of a namespace that a cache takes which was given no size.
const ROOM_PERCENT: u64 = 80;
/// The part that it may have taken already when it is opened: the room is not told to the byte, and no block goes for that.
const FOUND_PERCENT: u64 = 85;

impl KvCache {
    pub(super) fn take_stock(&mut self) -> Result<(), Error> {
        let keys = self.kv.list(None).collect::<Result<Vec<_>, _>>()?;
        for key in keys {
            let Ok(name) = Key::new(&key) else { continue };
            let length = self.kv.get_into(&key, &mut [])?.unwrap_or(0);
            let bytes = pair_bytes(&name, length);
            self.kept.stored(&name, bytes, self.now());
            self.longest = self.longest.max(bytes);
        }
        Ok(self.fit(FOUND_PERCENT)?)
    }

    /// A namespace has less room beside a pair that is longer than all before, because records lie in one piece.
    pub(super) fn measure(&mut self, bytes: u64) -> Result<(), HostError> {
        if bytes <= self.longest {
            return Ok(());
        }
        self.longest = bytes;
        self.fit(ROOM_PERCENT)
    }

    /// Finds out how much there is room for, and deletes what is beyond it. What is there may be a larger part of it; the longest pair is
    /// always let in.
    fn fit(&mut self, percent_max: u64) -> Result<(), HostError> {
        if self.is_measured {
            let percent = self.kv.capacity_bytes()? / 100;
            let found = self.kept.bytes().min(percent * percent_max);
            self.kept.set_bytes_max(found.max(percent * ROOM_PERCENT).max(self.longest));
        }
        while let Some(victim) = self.kept.victim(0) {
            self.evict(&victim)?;
        }
        Ok(())
    }

    /// Stores; a full device loses pairs until it takes the new one.
    pub(super) fn store(&mut self, key: &Key, value: &[u8]) -> Result<(), HostError> {
        loop {
            match self.kv.put(key.as_bytes(), value) {
                Err(HostError::Kv(KvError::Full)) => match self.kept.first() {
                    Some(victim) => self.evict(&victim)?,
                    None => return Err(KvError::Full.into()),
                },
                outcome => return outcome,
            }
        }
    }

    pub(super) fn value_bytes_max(&self, key: &Key) -> usize {
        (0..usize::BITS).rev().fold(0, |sum, bit| {
            let more = sum | 1 << bit;
            if self.kept.admits((more as u64).saturating_add(key.len() as u64)) { more } else { sum }
        })
    }

    pub(super) fn evict(&mut self, key: &Key) -> Result<(), HostError> {
        self.remove(key)?;
        self.stats.evicted += 1;
        Ok(())
    }

    pub(super) fn remove(&mut self, key: &Key) -> Result<(), HostError> {
        self.kv.delete(key.as_bytes())?;
        self.kept.removed(key);
        Ok(())
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// assert!(cache.delete(b"block")? && !cache.delete(b"block")?);
    /// assert_eq!(cache.bytes(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        let name = name(key)?;
        let held = self.kept.holds(&name, self.now());
        self.remove(&name)?;
        Ok(held)
    }

    /// Empties the cache: its namespace is formatted.
    ///
    /// # Errors
    /// [`HostError`]; what is there then is found again when the cache is opened.
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// cache.clear()?;
    /// assert_eq!((cache.get(b"block")?, cache.bytes()), (None, 0));
    /// assert!(cache.put_if_absent(b"block", b"other data")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&mut self) -> Result<(), HostError> {
        self.kv.format()?;
        self.kept = Retention::new(self.kept.options());
        Ok(())
    }
}
