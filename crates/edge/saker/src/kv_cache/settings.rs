// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the namespace's engine.

use super::KvCache;
use crate::error::Error;
use crate::settings::NamedSetting;
use saker_host::HostError;

impl KvCache {
    /// Every setting of the namespace's engine with its value ([`Kv::settings`](crate::Kv::settings)).
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny&engine=hash_plus", Default::default())?;
    /// assert!(cache.settings()?.iter().any(|setting| setting.name == "grain_bytes"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settings(&mut self) -> Result<Vec<NamedSetting>, HostError> {
        self.kv.settings()
    }

    /// Changes a setting that is live ([`Kv::set_setting`](crate::Kv::set_setting)).
    ///
    /// # Errors
    /// [`Error::Setting`].
    ///
    /// ```
    /// let mut cache = saker::KvCache::open("mem:?size=4MiB&profile=tiny&engine=hash_plus", Default::default())?;
    /// cache.set_setting("cache_bytes", "1MiB")?;
    /// assert!(cache.set_setting("grain_bytes", "128").is_err(), "it is chosen when a namespace is made");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_setting(&mut self, name: &str, value: &str) -> Result<(), Error> {
        self.kv.set_setting(name, value)
    }
}
