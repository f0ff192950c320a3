// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device in the state of another one, for runs that begin where a long preparation has ended.

use crate::config::DeviceConfig;
use crate::device::{Attachment, Device};
use crate::timed::{Costs, Timed};
use saker_flash::Timings;

impl<T> Device<T> {
    /// A device that keeps time, at its beginning, with a copy of this one's flash and stores, and a host of its own. What the
    /// stores hold in memory is there as well.
    ///
    /// # Panics
    /// When something is outstanding in the flash ([`saker_flash::Flash::is_quiet`]).
    pub fn fork_timed(&self, timings: Timings, costs: Costs, host: Attachment) -> Device<Timed> {
        let config: DeviceConfig = self.config();
        let mut device = Device::timed(self.flash.fork(Some(timings)), config, host, costs);
        device.namespaces.clone_from(&self.namespaces);
        device.note_boot();
        device
    }
}
