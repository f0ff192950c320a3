// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The read cache of a [`Kv`](super::Kv): of keys that the device has as they are.

use saker_host::long_keys::is_enveloped;
use saker_host::{CacheOptions, CacheStats, ReadCache};
use saker_nvme::Key;
use saker_sim::Free;

#[derive(Debug)]
pub(super) struct PairCache(Option<ReadCache>);

impl PairCache {
    pub fn new(options: CacheOptions) -> Self {
        Self(ReadCache::new(options))
    }

    pub const fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The cache and the key's name in it.
    #[inline]
    fn at(&self, key: &[u8]) -> Option<(&ReadCache, Key)> {
        let cache = self.0.as_ref()?;
        if is_enveloped(key) { None } else { Some((cache, Key::new(key).ok()?)) }
    }

    #[inline]
    pub fn get<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let (cache, key) = self.at(key)?;
        cache.get(&key, &mut Free, read)
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        self.at(key).is_some_and(|(cache, key)| cache.contains(&key))
    }

    /// The whole value was read.
    pub fn read(&self, key: &[u8], value: Option<&[u8]>) {
        if let (Some((cache, key)), Some(value)) = (self.at(key), value) {
            cache.insert(&key, value, &mut Free);
        }
    }

    /// A value, or a delete, was written; what is there afterwards is not known if that did not go well.
    #[inline]
    pub fn wrote(&self, key: &[u8], write: Option<&[u8]>, went_well: bool) {
        let Some((cache, key)) = self.at(key) else { return };
        cache.update(&key, write.filter(|_| went_well), &mut Free);
    }

    pub fn clear(&self) {
        if let Some(cache) = &self.0 {
            cache.clear();
        }
    }

    pub fn stats(&self) -> CacheStats {
        self.0.as_ref().map_or_else(CacheStats::default, ReadCache::stats)
    }
}
