// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of the namespace's engine.

use super::Kv;
use crate::error::Error;
use crate::settings::{self, NamedSetting};
use saker_host::HostError;

impl Kv {
    /// Every setting of the namespace's engine with its value. Empty: the engine has none, or the device does not tell.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// for setting in kv.settings()? {
    ///     println!("{} = {} ({})", setting.name, setting.value, setting.kind);
    /// }
    /// # assert_eq!(kv.settings()?.len(), saker::EngineKind::LSM.settings().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn settings(&mut self) -> Result<Vec<NamedSetting>, HostError> {
        settings::settings_of(&mut self.connection, self.store.native().driver_mut(), self.nsid)
    }

    /// Changes a setting that is live, for as long as the device is open: what has begun ends as it began, what is stored
    /// stays as it is. It is the namespace's: all its hosts have it. The next opening has what its URL says.
    ///
    /// # Errors
    /// [`Error::Setting`] for a setting that the engine does not have, that is not live, or that does not take the value: a
    /// line that says what to do.
    ///
    /// ```
    /// let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// kv.set_setting("level0_slowdown_writes_trigger", "8")?;
    /// kv.set_setting("slowdown", "off")?;
    /// let refused = kv.set_setting("write_buffer_size", "1MiB").unwrap_err().to_string();
    /// assert!(refused.starts_with("setting `write_buffer_size` is chosen when the device is opened; change one of"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_setting(&mut self, name: &str, value: &str) -> Result<(), Error> {
        settings::change(&mut self.connection, self.store.native().driver_mut(), self.nsid, (name, value))
    }
}
