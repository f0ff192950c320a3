// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Temperature Threshold, 04h (Base 2.0, section 5.27.1.3). There is no sensor but the composite temperature.

use saker_nvme::Status;

use crate::controller::health::WARNING_KELVIN;

/// TMPSEL Fh: every sensor there is.
const ALL_SENSORS: u32 = 0xF;

/// Thresholds of the composite temperature in Kelvin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::controller) struct Thresholds {
    over: u16,
    under: u16,
}

impl Default for Thresholds {
    /// Over: WCTEMP, as the specification wants. Under: never.
    fn default() -> Self {
        Self { over: WARNING_KELVIN, under: 0 }
    }
}

impl Thresholds {
    /// TMPTH of the threshold that TMPSEL and THSEL of `cdw11` choose.
    pub fn get(mut self, cdw11: u32) -> Result<u32, Status> {
        if sensor(cdw11) != 0 {
            return Err(Status::INVALID_FIELD);
        }
        self.chosen(cdw11).map(|threshold| u32::from(*threshold))
    }

    pub fn set(&mut self, cdw11: u32) -> Result<(), Status> {
        if !matches!(sensor(cdw11), 0 | ALL_SENSORS) {
            return Err(Status::INVALID_FIELD);
        }
        *self.chosen(cdw11)? = cdw11 as u16;
        Ok(())
    }

    /// THSEL, bits 21:20.
    fn chosen(&mut self, cdw11: u32) -> Result<&mut u16, Status> {
        match cdw11 >> 20 & 0b11 {
            0b00 => Ok(&mut self.over),
            0b01 => Ok(&mut self.under),
            _ => Err(Status::INVALID_FIELD),
        }
    }
}

/// TMPSEL, bits 19:16.
const fn sensor(cdw11: u32) -> u32 {
    cdw11 >> 16 & 0xF
}
