// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is asked of a cache.

use super::{KvCache, name};
use saker_host::HostError;
use saker_nvme::Key;

impl KvCache {
    /// Whether the keys are there, in their order: asked in batches.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block 2", b"data")?;
    /// assert_eq!(cache.exists(&[b"block 1", b"block 2"])?, [false, true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        let now = self.now();
        let names = keys.iter().map(|key| name(key)).collect::<Result<Vec<_>, _>>()?;
        let there = self.kv.multi_exist(keys)?;
        Ok(names.iter().zip(there).map(|(key, there)| there && self.kept.holds(key, now)).collect())
    }

    /// How many of the keys are there from the first on, without a gap.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// for key in [b"block 1", b"block 2", b"block 4"] {
    ///     cache.put_if_absent(key, b"data")?;
    /// }
    /// let prompt: [&[u8]; 4] = [b"block 1", b"block 2", b"block 3", b"block 4"];
    /// assert_eq!(cache.prefix(&prompt)?, 2, "block 3 is missing");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&mut self, keys: &[&[u8]]) -> Result<usize, HostError> {
        Ok(self.exists(keys)?.into_iter().take_while(|there| *there).count())
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", &[7; 100])?;
    /// let mut buffer = [0; 64];
    /// assert_eq!(cache.get_into(b"block", &mut buffer)?, Some(100), "64 of 100 bytes were read");
    /// assert_eq!(cache.get_into(b"other", &mut buffer)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let name = name(key)?;
        let found = if self.kept.holds(&name, self.now()) { self.kv.get_into(key, buffer)? } else { None };
        self.count(&name, found.is_some());
        Ok(found)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// assert_eq!((cache.get(b"block")?, cache.get(b"other")?), (Some(b"data".to_vec()), None));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        let name = name(key)?;
        let found = if self.kept.holds(&name, self.now()) { self.kv.get(key)? } else { None };
        self.count(&name, found.is_some());
        Ok(found)
    }

    /// Counts a read, which makes its pair the one that was used last.
    fn count(&mut self, name: &Key, is_hit: bool) {
        if is_hit {
            self.kept.used(name);
            self.stats.hits += 1;
        } else {
            self.stats.misses += 1;
        }
    }
}
