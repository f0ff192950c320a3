// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs for many threads, by clones of one handle: [`Store`]. Names for parts of a device: [`Spaces`]. For executors: [`AsyncStore`].

mod asynchronous;
mod catalogue;
mod facts;
mod many;
mod pairs;
mod prefix;
mod ranges;
mod spaces;
mod transaction;

pub use asynchronous::{Answer, AsyncStore};
pub use pairs::{Pair, Pairs};
pub use spaces::Spaces;
pub use transaction::StoreTransaction;

use crate::create::ImagePlan;
use crate::error::Error;
use crate::kv::Kv;
use crate::shared::Shared;
use crate::store_error::StoreError;
use prefix::{Prefix, ROOM};
use saker_host::HostError;
use saker_segment_store::header::crc32c;
use std::path::Path;

/// Long enough for any way of the checksum's.
const PAGE_BYTES: usize = 4096;

/// A key-value SSD that threads share by clones. It does one call at a time; for threads that are to overlap on one device there is
/// [`Saker`](crate::Saker). Keys have 1 to 255 bytes, of any type that is bytes.
///
/// ```
/// use saker::Store;
/// let store = Store::open("mem:?size=4MiB&profile=tiny")?;
/// let other = store.clone();
/// std::thread::spawn(move || other.put("greeting", "hello")).join().expect("no panic")?;
/// assert_eq!(store.get("greeting")?, Some(b"hello".to_vec()));
/// store.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    kv: Shared<Kv>,
    prefix: Prefix,
}

impl Store {
    /// Opens the device of a URL (see [`crate::url`]).
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// store.put("key", [1, 2, 3])?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(url: &str) -> Result<Self, Error> {
        Ok(Self::new(Kv::open(url)?))
    }

    /// Opens an image, which is made if it is not there, and grows if it is smaller than the plan: see [`ImagePlan::ensure`].
    ///
    /// # Errors
    /// [`enum@Error`], each a line that says what to do.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// use saker::{ImagePlan, Store};
    /// let store = Store::open_or_create(&path, &ImagePlan::kv(4 << 20, "tiny", 1))?;
    /// store.put("key", "value")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_or_create(path: &Path, plan: &ImagePlan) -> Result<Self, Error> {
        Ok(Self::new(Kv::open_or_create(path, plan)?))
    }

    /// Shares a device that is open.
    ///
    /// ```
    /// let store = saker::Store::new(saker::Kv::open("mem:?size=4MiB&profile=tiny")?);
    /// store.put("key", "value")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn new(kv: Kv) -> Self {
        // The first checksum of a process finds out what the processor has, under a lock. If another thread forked meanwhile, its child would
        // wait for it for good; so it is done before there is a store that a child could have seen.
        std::hint::black_box(crc32c(&[0; PAGE_BYTES]));
        Self { kv: Shared::new(kv), prefix: Prefix::default() }
    }

    /// Closes the device in order for all who share it: everything is flushed, an image is marked clean. Closing it again does nothing.
    ///
    /// # Errors
    /// [`StoreError::Device`]: it is closed all the same.
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.close()?;
    /// store.close()?;
    /// assert!(store.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(&self) -> Result<(), StoreError> {
        match self.kv.take()? {
            Some(kv) => Ok(kv.close()?),
            None => Ok(()),
        }
    }

    /// Whether it was closed, or is another process's.
    ///
    /// ```
    /// assert!(!saker::Store::open("mem:?size=4MiB&profile=tiny")?.is_closed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.kv.is_closed()
    }

    /// Whether it may be used in this process: before a lock of something that uses it is taken.
    ///
    /// # Errors
    /// [`StoreError::Forked`].
    ///
    /// ```
    /// assert!(saker::Store::open("mem:?size=4MiB&profile=tiny")?.check().is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<(), StoreError> {
        self.kv.check()
    }

    /// Does something with the device, alone: whatever [`Kv`] has. Its keys are those of the device: see [`Store::device_key`]. `work` must not
    /// use the store as well: that would wait for itself.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let hits = store.with(|kv| Ok(kv.cache_stats().hits))?;
    /// assert_eq!(hits, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with<R>(&self, work: impl FnOnce(&mut Kv) -> Result<R, HostError>) -> Result<R, StoreError> {
        let outcome = self.kv.with(|kv| {
            self.prefix.check()?;
            work(kv).map_err(|error| self.prefix.told(error))
        });
        outcome?
    }

    /// The key by which the device knows a key of this store: another one if it is a [space](Spaces).
    ///
    /// ```
    /// let spaces = saker::Spaces::open("mem:?size=4MiB&profile=tiny")?;
    /// assert_eq!(spaces.space("users")?.device_key("ada"), b"\x01ada");
    /// assert_eq!(saker::Store::open("mem:?size=4MiB&profile=tiny")?.device_key("ada"), b"ada");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn device_key(&self, key: impl AsRef<[u8]>) -> Vec<u8> {
        self.prefix.key_of(key.as_ref())
    }

    /// Stores a pair.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("text", "text")?;
    /// store.put(b"bytes", vec![0; 1000])?;
    /// store.put(7_u64.to_be_bytes(), String::from("owned"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), StoreError> {
        let value = value.as_ref();
        self.keyed(key.as_ref(), &mut |kv, key| kv.put(key, value))
    }

    /// Stores a pair if its key is not there, in one command; whether it was stored.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(store.put_if_absent("lock", "mine")? && !store.put_if_absent("lock", "yours")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_if_absent(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        let value = value.as_ref();
        self.asked(key.as_ref(), &mut |kv, key| kv.put_if_absent(key, value))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// assert_eq!(store.get("no such key")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>, StoreError> {
        self.got(key.as_ref())
    }

    /// Reads a value into `buffer`; its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("key", "value")?;
    /// let mut buffer = [0; 3];
    /// assert_eq!((store.get_into("key", &mut buffer)?, &buffer), (Some(5), b"val"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_into(&self, key: impl AsRef<[u8]>, buffer: &mut [u8]) -> Result<Option<usize>, StoreError> {
        self.read_into(key.as_ref(), buffer)
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("key", "value")?;
    /// assert!(store.delete("key")? && !store.delete("key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        self.asked(key.as_ref(), &mut |kv, key| kv.delete(key))
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(!store.exists("key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&self, key: impl AsRef<[u8]>) -> Result<bool, StoreError> {
        self.asked(key.as_ref(), &mut |kv, key| kv.exists(key))
    }
}

/// Does something with a key of the device.
type Work<'w, R> = dyn FnMut(&mut Kv, &[u8]) -> Result<R, HostError> + 'w;

/// What is behind the generic doors, compiled once.
impl Store {
    fn keyed(&self, key: &[u8], work: &mut Work<'_, ()>) -> Result<(), StoreError> {
        let mut room = ROOM;
        let key = self.prefix.key(key, &mut room)?;
        self.with(|kv| work(kv, key))
    }

    fn asked(&self, key: &[u8], work: &mut Work<'_, bool>) -> Result<bool, StoreError> {
        let mut answer = false;
        self.keyed(key, &mut |kv, key| {
            answer = work(kv, key)?;
            Ok(())
        })?;
        Ok(answer)
    }

    fn got(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let mut value = None;
        self.keyed(key, &mut |kv, key| {
            value = kv.get(key)?;
            Ok(())
        })?;
        Ok(value)
    }

    fn read_into(&self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, StoreError> {
        let mut length = None;
        self.keyed(key, &mut |kv, key| {
            length = kv.get_into(key, buffer)?;
            Ok(())
        })?;
        Ok(length)
    }
}
