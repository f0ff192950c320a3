// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The error log and the counters of the health log (Base 2.0, sections 5.16.1.2 and 5.16.1.3).

use std::collections::VecDeque;

use crate::stats::HealthCounters;

use saker_nvme::log::{ErrorEntry, Smart};
use saker_nvme::vendor_specific::Counter;
use saker_nvme::{Sqe, Status};
use zerocopy::{FromZeros, IntoBytes};

/// Entries of the error log; ELPE is one less.
pub(super) const ERROR_ENTRIES: usize = 16;

/// WCTEMP: 70 degrees Celsius in Kelvin.
pub(super) const WARNING_KELVIN: u16 = 343;
/// CCTEMP: 80 degrees Celsius in Kelvin.
pub(super) const CRITICAL_KELVIN: u16 = 353;
/// What the composite temperature always is: there is no hardware to warm up.
const TEMPERATURE_KELVIN: u16 = 313;

const SECONDS_OF_AN_HOUR: u64 = 3600;

/// Version of an error entry whose CSI and opcode are valid.
const ENTRY_VERSION: u8 = 1;

/// What has happened since the controller was made. Resets leave it alone.
#[derive(Debug, Default)]
pub(super) struct Health {
    /// The latest first.
    errors: VecDeque<ErrorEntry>,
    error_count: u64,
    counters: HealthCounters,
    /// Log page C3h, as it was last asked for.
    counted: Vec<Counter>,
}

impl Health {
    pub fn note_error(&mut self, sqid: u16, sqe: &Sqe, csi: u8, status: Status) {
        self.error_count += 1;
        let mut entry = ErrorEntry::new(self.error_count, sqid, sqe.cid.get(), sqe.nsid.get(), status);
        entry.csi = csi;
        entry.opcode = sqe.opcode;
        entry.version = ENTRY_VERSION;
        self.errors.truncate(ERROR_ENTRIES - 1);
        self.errors.push_front(entry);
    }

    /// What the device has done by now.
    pub const fn note_counters(&mut self, counters: HealthCounters) {
        self.counters = counters;
    }

    /// Everything countable by now, by name.
    pub fn note_counted(&mut self, counted: Vec<Counter>) {
        self.counted = counted;
    }

    /// Log page C3h.
    pub fn counters_page(&self) -> Vec<u8> {
        Counter::page(&self.counted)
    }

    /// Log page 01h: as many entries as ELPE says, zeros where there was no error yet.
    pub fn error_page(&self) -> Vec<u8> {
        let mut page: Vec<u8> = self.errors.iter().flat_map(|entry| entry.as_bytes()).copied().collect();
        page.resize(ERROR_ENTRIES * size_of::<ErrorEntry>(), 0);
        page
    }

    /// Log page 02h.
    pub fn smart_page(&self) -> Smart {
        let mut smart = Smart::new_zeroed();
        smart.temperature_kelvin = TEMPERATURE_KELVIN.into();
        smart.spare_percent = 100;
        smart.spare_threshold_percent = 10;
        let counters = &self.counters;
        smart.data_units_read = Smart::data_units(counters.bytes_read.into()).into();
        smart.data_units_written = Smart::data_units(counters.bytes_written.into()).into();
        smart.read_commands = u128::from(counters.reads).into();
        smart.write_commands = u128::from(counters.writes).into();
        smart.used_percent = counters.life.percent_used;
        smart.power_cycles = u128::from(counters.life.power_cycles).into();
        smart.power_on_hours = u128::from(counters.life.power_on_seconds / SECONDS_OF_AN_HOUR).into();
        smart.unsafe_shutdowns = u128::from(counters.life.unsafe_shutdowns).into();
        smart.media_errors = u128::from(counters.media_errors).into();
        smart.error_entries = u128::from(self.error_count).into();
        smart
    }
}
