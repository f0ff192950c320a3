// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Settings of a namespace's engine by name: log page C1h and feature C0h of devices that have them.

use saker_nvme::log::{SupportedLogs, lid};
use saker_nvme::vendor_specific::{LID_SETTINGS, SetSetting, SettingEntry, SettingsHead, text_of};
use zerocopy::FromBytes;

use super::Connection;
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError};

/// What a device tells of the settings of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedSettings {
    /// The engine's name.
    pub engine: String,
    /// The settings, each at its place.
    pub entries: Vec<SettingEntry>,
}

impl Connection {
    /// The settings of a Key Value namespace; `None`: the device tells none.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn settings(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
    ) -> Result<Option<NamedSettings>, HostError> {
        let supported = self.whole_log::<SupportedLogs>(driver, lid::SUPPORTED)?;
        if !supported.is_some_and(|page| page.contains(LID_SETTINGS)) {
            return Ok(None);
        }
        let head = self.get_log(driver, nsid, LID_SETTINGS, size_of::<SettingsHead>() as u32)?;
        let Ok((head, _)) = SettingsHead::read_from_prefix(&head) else { return Ok(None) };
        if !head.is_known() {
            return Ok(None);
        }
        let page = self.get_log(driver, nsid, LID_SETTINGS, head.page_bytes())?;
        let entries = page.get(size_of::<SettingsHead>()..).unwrap_or_default();
        let entry = |bytes: &[u8]| SettingEntry::read_from_bytes(bytes).ok();
        let entries = entries.chunks_exact(size_of::<SettingEntry>()).filter_map(entry).collect();
        Ok(Some(NamedSettings { engine: text_of(&head.engine), entries }))
    }

    /// Gives the setting at a place of [`Connection::settings`] another value. The device refuses one that is not live.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn set_setting(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
        place: usize,
        number: u64,
    ) -> Result<(), HostError> {
        let place = u16::try_from(place).map_err(|_| ProtocolError::AdminQueue)?;
        self.execute_admin(driver, SetSetting { nsid, place, number }.encode()).map(drop)
    }
}
