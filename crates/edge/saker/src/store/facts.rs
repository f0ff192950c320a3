// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a store tells of its device, and what concerns all of it.

use super::{Store, StoreError};
use crate::settings::NamedSetting;
use saker_device::Stats;

impl Store {
    /// Returns when everything completed so far survives a power cut, that of other spaces too.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("order:1", "paid")?; // survives the death of this process, in an image
    /// store.flush()?; // and now a power cut as well
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn flush(&self) -> Result<(), StoreError> {
        self.with(crate::Kv::flush)
    }

    /// Deletes everything: a device is formatted, all or nothing; of a space pair by pair.
    ///
    /// # Errors
    /// [`StoreError`]: of a space some pairs may be there.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("key", "value")?;
    /// store.clear()?;
    /// assert_eq!(store.iter()?.count(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) -> Result<(), StoreError> {
        if self.prefix.is_space() { self.empty() } else { self.with(crate::Kv::format) }
    }

    /// The name of the device's profile.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// assert_eq!(saker::Store::open("mem:?size=4MiB&profile=tiny")?.profile()?, "tiny");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn profile(&self) -> Result<String, StoreError> {
        self.with(|kv| Ok(kv.profile().to_owned()))
    }

    /// Settings of the device's engine: see [`Kv::settings`](crate::Kv::settings).
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// assert!(store.settings()?.iter().any(|setting| setting.name == "write_buffer_size"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settings(&self) -> Result<Vec<NamedSetting>, StoreError> {
        self.with(crate::Kv::settings)
    }

    /// Changes a live setting.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=64MiB&profile=tiny&engine=lsm")?;
    /// store.set_setting("level0_slowdown_writes_trigger", "8")?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_setting(&self, name: &str, value: &str) -> Result<(), StoreError> {
        let outcome = self.kv.with(|kv| kv.set_setting(name, value));
        Ok(outcome??)
    }

    /// What was counted; `None` where the device is not on the caller's thread.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("key", "value")?;
    /// assert_eq!(store.stats()?.expect("it is on this thread").namespaces[0].store.pairs, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn stats(&self) -> Result<Option<Stats>, StoreError> {
        self.with(|kv| Ok(kv.stats()))
    }
}
