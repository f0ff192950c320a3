// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device as a cache: pairs leave by a policy instead of being refused. Made for blocks of attention state of language models,
//! which are large, are asked for by prefixes, and are stored by whoever computed them first.

mod reads;
mod room;
mod settings;
mod stats;

pub use stats::KvCacheStats;

use crate::error::Error;
use crate::kv::Kv;
use saker_host::retention::{Retention, RetentionOptions};
use saker_host::{HostError, check_storable};
use saker_nvme::Key;
use saker_sim::{Duration, Instant};

/// A device as a cache. One thread at a time uses it, and it is the device's only writer. Keys have 1 to 16 bytes.
///
/// ```
/// use saker::{KvCache, RetentionOptions};
/// let options = RetentionOptions { bytes_max: Some(64 << 20), ..RetentionOptions::default() };
/// let mut cache = KvCache::open("mem:?size=512MiB", options)?;
/// let (prompt, block): ([&[u8]; 2], _) = ([&[1; 16], &[2; 16]], vec![7; 1 << 20]);
/// cache.put_if_absent(&prompt[0], &block)?;
/// assert_eq!(cache.prefix(&prompt)?, 1, "one block of the prompt is there");
/// let mut buffer = vec![0; 1 << 20];
/// assert_eq!(cache.get_into(&prompt[0], &mut buffer)?, Some(1 << 20));
/// cache.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KvCache {
    kv: Kv,
    kept: Retention,
    begun: std::time::Instant,
    stats: KvCacheStats,
    /// The size was not given: it follows what the namespace has room for.
    is_measured: bool,
    /// Bytes of the longest pair so far.
    longest: u64,
}

impl KvCache {
    /// Opens the device of a URL (see [`crate::url`]). Pairs that are there already count as stored now, in the device's
    /// order. Without `bytes_max` the cache takes 80 % of the room of the namespace ([`Kv::capacity_bytes`]), as it is with pairs as long as the
    /// longest: pairs that go leave gaps, and a device that has no room between them writes many times what is stored.
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// use saker::{KvCache, RetentionOptions, RetentionOrder};
    /// let options = RetentionOptions {
    ///     bytes_max: Some(1 << 20), // of keys and values
    ///     order: RetentionOrder::Fifo,
    ///     ttl: Some(std::time::Duration::from_secs(3600).into()),
    /// };
    /// let mut cache = KvCache::open("mem:?size=4MiB&profile=tiny", options)?;
    /// # cache.put_if_absent(b"block", b"data")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str, options: RetentionOptions) -> Result<Self, Error> {
        let (kv, kept, begun) = (Kv::open(url)?, Retention::new(options), std::time::Instant::now());
        let is_measured = options.bytes_max.is_none();
        let mut cache = Self { kv, kept, begun, stats: KvCacheStats::default(), is_measured, longest: 0 };
        cache.take_stock()?;
        Ok(cache)
    }

    fn now(&self) -> Instant {
        let nanos = u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Instant::ZERO + Duration::from_nanos(nanos)
    }

    /// Stores a pair if its key is not there; whether it was stored. What has to go for it goes.
    ///
    /// # Errors
    /// [`HostError`]; `ValueLength` for a value larger than the whole cache.
    ///
    /// ```
    /// use saker::{HostError, KvCache, RetentionOptions};
    /// let options = RetentionOptions { bytes_max: Some(10_000), ..RetentionOptions::default() };
    /// let mut cache = KvCache::open("mem:?size=4MiB&profile=tiny", options)?;
    /// for n in 0..5 {
    ///     assert!(cache.put_if_absent(&[n], &[7; 3000])?); // the oldest go
    /// }
    /// assert_eq!(cache.exists(&[&[1], &[2], &[3], &[4]])?, [false, true, true, true]);
    /// let error = cache.put_if_absent(b"large", &[7; 20_000]).unwrap_err();
    /// assert_eq!(error, HostError::ValueLength { bytes: 20_000, bytes_max: 9_995 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool, HostError> {
        check_storable(key)?;
        let key = name(key)?;
        let bytes = pair_bytes(&key, value.len());
        if !self.kept.admits(bytes) {
            return Err(HostError::ValueLength { bytes: value.len(), bytes_max: self.value_bytes_max(&key) });
        }
        self.expire()?;
        if self.kept.holds(&key, self.now()) {
            self.stats.present += 1;
            return Ok(false);
        }
        while let Some(victim) = self.kept.victim(bytes) {
            self.evict(&victim)?;
        }
        self.store(&key, value)?;
        self.kept.stored(&key, bytes, self.now());
        self.stats.stored += 1;
        self.measure(bytes)?;
        Ok(true)
    }

    /// Deletes what is too old.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// use saker::{KvCache, RetentionOptions};
    /// let ttl = std::time::Duration::from_millis(1);
    /// let options = RetentionOptions { ttl: Some(ttl.into()), ..RetentionOptions::default() };
    /// let mut cache = KvCache::open("mem:?size=4MiB&profile=tiny", options)?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// std::thread::sleep(2 * ttl);
    /// cache.expire()?; // frees its room now instead of at the next put
    /// assert_eq!((cache.bytes(), cache.stats().expired), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expire(&mut self) -> Result<(), HostError> {
        while let Some(key) = self.kept.expired(self.now()) {
            self.remove(&key)?;
            self.stats.expired += 1;
        }
        Ok(())
    }

    /// Bytes of keys and values that are kept.
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", &[7; 1000])?;
    /// assert_eq!(cache.bytes(), 1005, "the key counts");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.kept.bytes()
    }

    /// What it has done.
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// assert_eq!((cache.stats().stored, cache.stats().present), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn stats(&self) -> KvCacheStats {
        self.stats
    }

    /// Everything countable of the device, as [`Kv::stats`].
    ///
    /// ```
    /// # let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny", saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", &[7; 1000])?;
    /// let stats = cache.device_stats().expect("the device is on this thread");
    /// assert_eq!(stats.namespaces[0].store.pairs, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn device_stats(&mut self) -> Option<saker_device::Stats> {
        self.kv.stats()
    }

    /// Closes the device in order: see [`Kv::close`].
    ///
    /// # Errors
    /// [`enum@Error`].
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # let url = format!("file:{}", path.display());
    /// let mut cache = saker::KvCache::open(&url, saker::RetentionOptions::default())?;
    /// cache.put_if_absent(b"block", b"data")?;
    /// cache.close()?;
    /// let mut again = saker::KvCache::open(&url, saker::RetentionOptions::default())?;
    /// assert_eq!(again.prefix(&[b"block"])?, 1, "a file keeps it");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(self) -> Result<(), Error> {
        self.kv.close()
    }
}

fn name(key: &[u8]) -> Result<Key, HostError> {
    Key::new(key).map_err(HostError::from)
}

const fn pair_bytes(key: &Key, value_bytes: usize) -> u64 {
    (key.len() + value_bytes) as u64
}
