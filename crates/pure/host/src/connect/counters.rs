// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Everything that a device counts: log page C3h of devices that have it.

use saker_nvme::log::{SupportedLogs, lid};
use saker_nvme::vendor_specific::{Counter, CounterEntry, CountersHead, LID_COUNTERS};
use zerocopy::FromBytes;

use super::Connection;
use crate::driver::Driver;
use crate::error::HostError;

/// Most entries that are asked for, whatever a device says it has.
const ENTRIES_MAX: u32 = 1 << 14;
/// Entries that may have come between the two commands: a command of an opcode or a status that was not there before.
const ENTRIES_MORE: u32 = 64;

impl Connection {
    /// Everything that the device counts; `None`: it does not tell.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn counters(&mut self, driver: &mut impl Driver) -> Result<Option<Vec<Counter>>, HostError> {
        let supported = self.whole_log::<SupportedLogs>(driver, lid::SUPPORTED)?;
        if !supported.is_some_and(|page| page.contains(LID_COUNTERS)) {
            return Ok(None);
        }
        let head_bytes = size_of::<CountersHead>() as u32;
        let head = self.get_log(driver, 0, LID_COUNTERS, head_bytes)?;
        let head = CountersHead::read_from_prefix(&head).ok().filter(|(head, _)| head.is_known());
        let Some((head, _)) = head else { return Ok(None) };
        let entries = head.count.get().min(ENTRIES_MAX) + ENTRIES_MORE;
        let page =
            self.get_log(driver, 0, LID_COUNTERS, head_bytes + entries * size_of::<CounterEntry>() as u32)?;
        Ok(Counter::of_page(&page))
    }
}
