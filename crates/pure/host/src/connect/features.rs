// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Features, log pages and Format NVM.

use saker_nvme::admin::feature::{CommandSetProfile, FeatureSelect, NumberOfQueues, fid};
use saker_nvme::admin::{self, FormatNvm, GetFeatures, GetLogPage, SetFeatures};
use saker_nvme::csi;

use super::Connection;
use crate::driver::Driver;
use crate::error::{HostError, ProtocolError};

const KV_BIT: u64 = 1 << csi::KV;

impl Connection {
    /// Set Features: `value` is CDW11. Returns DW0 of the completion.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn set_feature(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
        fid: u8,
        value: u32,
    ) -> Result<u32, HostError> {
        let command = SetFeatures { nsid, fid, save: false, cdw11: value };
        Ok(self.execute_admin(driver, admin::build::set_features(&command))?.result_dw0())
    }

    /// Get Features: the value that `select` names.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_feature(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
        fid: u8,
        select: FeatureSelect,
    ) -> Result<u32, HostError> {
        let command = GetFeatures { nsid, fid, select, cdw11: 0 };
        Ok(self.execute_admin(driver, admin::build::get_features(&command))?.result_dw0())
    }

    /// Removes every pair of namespace `nsid` (Format NVM with format 0).
    ///
    /// # Errors
    /// [`HostError`].
    pub fn format(&mut self, driver: &mut impl Driver, nsid: u32) -> Result<(), HostError> {
        let command = FormatNvm { nsid, format_index: 0, secure_erase: 0 };
        self.execute_admin(driver, admin::build::format_nvm(&command)).map(drop)
    }

    /// The first `bytes` bytes (rounded up to a multiple of 4, at least 4) of log page `lid` for key-value namespaces.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_log(
        &mut self,
        driver: &mut impl Driver,
        nsid: u32,
        lid: u8,
        bytes: u32,
    ) -> Result<Vec<u8>, HostError> {
        let bytes = (bytes.max(1) as usize).next_multiple_of(4);
        let command = GetLogPage {
            nsid,
            lid,
            lsp: 0,
            retain_event: false,
            bytes: bytes as u64,
            lsi: 0,
            offset: 0,
            offset_is_index: false,
            uuid_index: 0,
            csi: csi::KV,
        };
        let mut page = vec![0; bytes];
        self.read_admin(driver, admin::build::get_log_page(&command), &mut page)?;
        Ok(page)
    }

    /// Set Features 07h: asks for `wanted` queue pairs, returns how many there are.
    pub(super) fn request_queues(&mut self, driver: &mut impl Driver, wanted: u16) -> Result<u16, HostError> {
        // 0's based; FFFFh is reserved.
        let count = wanted.clamp(1, u16::MAX) - 1;
        let ask = NumberOfQueues::default().with_submission(count).with_completion(count);
        let granted = NumberOfQueues(self.set_feature(driver, 0, fid::NUMBER_OF_QUEUES, ask.0)?);
        Ok(granted.submission().min(granted.completion()).min(count) + 1)
    }

    /// Makes the key-value command set usable. Combination 0 is in force after a reset, and the only one that hosts like
    /// Linux know; another one is chosen only if 0 lacks the set.
    pub(super) fn choose_command_sets(&mut self, driver: &mut impl Driver) -> Result<(), HostError> {
        let combinations = self.identify_command_sets(driver)?;
        match combinations.iter().position(|vector| vector & KV_BIT != 0) {
            Some(0) => Ok(()),
            Some(index) => {
                let profile = CommandSetProfile::default().with_combination(index as u16);
                self.set_feature(driver, 0, fid::COMMAND_SET_PROFILE, profile.0).map(drop)
            }
            None => Err(ProtocolError::NoKvCommandSet.into()),
        }
    }
}
