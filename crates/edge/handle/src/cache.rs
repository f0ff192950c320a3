// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device as a cache.

use crate::Fault;
use saker::{HostError, KvCache, KvCacheStats, RetentionOptions, Shared, Stats};

/// Counters of a cache.
pub use saker::KvCacheStats as CacheStats;

/// A device as a cache that threads share: see [`KvCache`].
#[derive(Clone, Debug)]
pub struct Cache {
    cache: Shared<KvCache>,
}

impl Cache {
    /// Opens the device of a URL, and takes stock of what is there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn open(url: &str, options: RetentionOptions) -> Result<Self, Fault> {
        Ok(Self { cache: Shared::new(KvCache::open(url, options)?) })
    }

    fn with<R>(&self, work: impl FnOnce(&mut KvCache) -> Result<R, HostError>) -> Result<R, Fault> {
        Ok(self.cache.with(work)??)
    }

    /// Closes it in order. Closing it again does nothing.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn close(&self) -> Result<(), Fault> {
        match self.cache.take()? {
            Some(cache) => Ok(cache.close()?),
            None => Ok(()),
        }
    }

    /// Whether it was closed, or is another process's.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.cache.is_closed()
    }

    /// Stores a pair if its key is not there; whether it was stored.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn put_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        self.with(|cache| cache.put_if_absent(key, value))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        self.with(|cache| cache.get(key))
    }

    /// Reads a value into `buffer`; its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn get_into(&self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        self.with(|cache| cache.get_into(key, buffer))
    }

    /// Whether the keys are there, in their order.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn exists(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Fault> {
        self.with(|cache| cache.exists(keys))
    }

    /// How many of the keys are there from the first on, without a gap.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn prefix(&self, keys: &[&[u8]]) -> Result<usize, Fault> {
        self.with(|cache| cache.prefix(keys))
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        self.with(|cache| cache.delete(key))
    }

    /// Deletes what is too old.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn expire(&self) -> Result<(), Fault> {
        self.with(KvCache::expire)
    }

    /// Deletes everything.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn clear(&self) -> Result<(), Fault> {
        self.with(KvCache::clear)
    }

    /// Bytes of keys and values.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn bytes(&self) -> Result<u64, Fault> {
        self.with(|cache| Ok(cache.bytes()))
    }

    /// What the cache has counted, and its device where that is on the caller's thread.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn stats(&self) -> Result<(KvCacheStats, Option<Stats>), Fault> {
        self.with(|cache| Ok((cache.stats(), cache.device_stats())))
    }
}
