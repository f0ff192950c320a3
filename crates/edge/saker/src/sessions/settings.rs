// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the namespace's engine.

use super::Saker;
use crate::error::Error;
use crate::settings::{self, NamedSetting};
use saker_host::HostError;

impl Saker {
    /// Every setting of the namespace's engine with its value ([`Kv::settings`](crate::Kv::settings)).
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny&engine=tree", saker::SakerOptions::default())?;
    /// let settings = saker.settings()?;
    /// assert_eq!(settings.iter().map(|s| &s.name[..]).collect::<Vec<_>>(), ["cache_bytes", "write_buffer_size"]);
    /// saker.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settings(&self) -> Result<Vec<NamedSetting>, HostError> {
        let mut driver = self.inner.driver.clone();
        settings::settings_of(&mut self.inner.connection(), &mut driver, self.inner.nsid)
    }

    /// Changes a setting that is live ([`Kv::set_setting`](crate::Kv::set_setting)). Sessions may be at work meanwhile.
    ///
    /// # Errors
    /// [`Error::Setting`].
    ///
    /// ```
    /// let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny&engine=tree", saker::SakerOptions::default())?;
    /// saker.set_setting("cache_bytes", "64KiB")?;
    /// let refused = saker.set_setting("cash_bytes", "64KiB").unwrap_err().to_string();
    /// assert_eq!(refused, "engine tree has no setting `cash_bytes`; change one of cache_bytes");
    /// saker.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_setting(&self, name: &str, value: &str) -> Result<(), Error> {
        let mut driver = self.inner.driver.clone();
        settings::change(&mut self.inner.connection(), &mut driver, self.inner.nsid, (name, value))
    }
}
