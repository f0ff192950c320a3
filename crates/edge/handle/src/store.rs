// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device of pairs.

use crate::{Fault, image};
use saker::{NamedSetting, Stats, WriteBatch};
use std::path::Path;

/// A key-value SSD that threads share. Each call waits until those of other threads have ended.
///
/// ```
/// let store = saker_handle::Store::open("mem:?size=4MiB&profile=tiny")?;
/// store.put(b"key", b"value")?;
/// assert_eq!(store.get(b"key")?, Some(b"value".to_vec()));
/// store.close()?;
/// assert_eq!(store.get(b"key").unwrap_err().class, saker_handle::Class::Closed);
/// # Ok::<(), saker_handle::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) store: saker::Store,
}

impl Store {
    /// Opens the device of a URL.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn open(url: &str) -> Result<Self, Fault> {
        Ok(Self { store: saker::Store::open(url)? })
    }

    /// Opens an image, which is made if it is not there, and grows if it is smaller than `size`.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn open_or_create(path: &Path, size: &str, profile: &str, engine: &str) -> Result<Self, Fault> {
        let plan = image::plan(size, profile, engine, 1)?;
        Ok(Self { store: saker::Store::open_or_create(path, &plan)? })
    }

    /// Closes it in order: everything is flushed, an image is marked clean. Closing it again does nothing.
    ///
    /// # Errors
    /// [`Fault`]: it is closed all the same.
    pub fn close(&self) -> Result<(), Fault> {
        Ok(self.store.close()?)
    }

    /// Whether it was closed, or is another process's.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.store.is_closed()
    }

    /// Stores a pair.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        Ok(self.store.put(key, value)?)
    }

    /// Stores a pair if its key is not there; whether it was stored.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn put_if_absent(&self, key: &[u8], value: &[u8]) -> Result<bool, Fault> {
        Ok(self.store.put_if_absent(key, value)?)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        Ok(self.store.get(key)?)
    }

    /// Reads a value into `buffer`; its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn get_into(&self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, Fault> {
        Ok(self.store.get_into(key, buffer)?)
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn delete(&self, key: &[u8]) -> Result<bool, Fault> {
        Ok(self.store.delete(key)?)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn exists(&self, key: &[u8]) -> Result<bool, Fault> {
        Ok(self.store.exists(key)?)
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn multi_get(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, Fault> {
        Ok(self.store.multi_get(keys)?)
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn multi_exist(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Fault> {
        Ok(self.store.multi_exist(keys)?)
    }

    /// Carries a batch out.
    ///
    /// # Errors
    /// [`Fault`] of the first write that failed, with its key.
    pub fn write(&self, batch: &WriteBatch) -> Result<(), Fault> {
        Ok(self.store.write(batch)?)
    }

    /// Stores pairs that need not be kept together, many commands at a time. When it returns all of them are stored.
    ///
    /// # Errors
    /// [`Fault`] of the first that failed, with its key: others may be stored.
    pub fn put_many<'p>(&self, pairs: impl Iterator<Item = (&'p [u8], &'p [u8])>) -> Result<(), Fault> {
        Ok(self.store.put_many(pairs)?)
    }

    /// Returns when everything completed so far survives a power cut.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn flush(&self) -> Result<(), Fault> {
        Ok(self.store.flush()?)
    }

    /// Deletes everything.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn format(&self) -> Result<(), Fault> {
        Ok(self.store.clear()?)
    }

    /// The name of the device's profile.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn profile(&self) -> Result<String, Fault> {
        Ok(self.store.profile()?)
    }

    /// Settings of the namespace's engine.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn settings(&self) -> Result<Vec<NamedSetting>, Fault> {
        Ok(self.store.settings()?)
    }

    /// Changes a live setting.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn set_setting(&self, name: &str, value: &str) -> Result<(), Fault> {
        Ok(self.store.set_setting(name, value)?)
    }

    /// What was counted; `None` where the device is not on the caller's thread.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn stats(&self) -> Result<Option<Stats>, Fault> {
        Ok(self.store.stats()?)
    }

    /// Groups that were sent as one command.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn groups(&self) -> Result<u64, Fault> {
        Ok(self.store.with(|kv| Ok(kv.group_stats().groups))?)
    }
}
