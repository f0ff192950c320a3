// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which methods of transfer a device has: Identify Controller tells of SGLs, a vendor log page of the rest.

use saker_nvme::NSID_ALL;
use saker_nvme::log::{SupportedLogs, lid};
use saker_nvme::vendor_specific::{Capabilities, LID_CAPABILITIES};
use zerocopy::{FromBytes, Immutable, KnownLayout};

use super::Connection;
use crate::driver::Driver;
use crate::error::HostError;
use crate::kv_queue::KvQueue;
use crate::transfer::{Available, TransferOptions};

/// SGLS bits 1:0: SGLs in I/O commands.
const SGLS_SUPPORT: u32 = 0b11;

impl Connection {
    /// Lets `queue` send values as `options` say, as far as the device can; without vendor commands by PRPs.
    ///
    /// # Errors
    /// [`HostError`] if the device's log pages cannot be read.
    pub fn set_transfer(
        &mut self,
        driver: &mut impl Driver,
        queue: &mut KvQueue,
        options: TransferOptions,
    ) -> Result<(), HostError> {
        let available = self.transfer_methods(driver, queue.pair().sq_entries())?;
        queue.set_transfer(options, available);
        Ok(())
    }

    /// The methods of transfer that the device has for a queue of `sq_entries` entries.
    ///
    /// # Errors
    /// [`HostError`] if the device's log pages cannot be read.
    pub fn transfer_methods(
        &mut self,
        driver: &mut impl Driver,
        sq_entries: u32,
    ) -> Result<Available, HostError> {
        let sgl = self.controller.sgls.get() & SGLS_SUPPORT != 0;
        let without = Available { sgl, sq_entries, ..Available::default() };
        let supported = self.whole_log::<SupportedLogs>(driver, lid::SUPPORTED)?;
        if !supported.is_some_and(|page| page.contains(LID_CAPABILITIES)) {
            return Ok(without);
        }
        let page = self.whole_log::<Capabilities>(driver, LID_CAPABILITIES)?;
        Ok(page.map_or(without, |page| Available::new(&page, sgl, sq_entries)))
    }

    /// A log page; `None` if the controller does not have it.
    pub(super) fn whole_log<L: FromBytes + KnownLayout + Immutable>(
        &mut self,
        driver: &mut impl Driver,
        lid: u8,
    ) -> Result<Option<L>, HostError> {
        match self.get_log(driver, NSID_ALL, lid, size_of::<L>() as u32) {
            Ok(bytes) => Ok(L::read_from_prefix(&bytes).ok().map(|(page, _)| page)),
            Err(HostError::Status(_)) => Ok(None),
            Err(broken) => Err(broken),
        }
    }
}
