// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Supported logs (00h), error information (01h), SMART / health (02h), firmware slots (03h) (Base).

use zerocopy::little_endian::{U16, U32, U64, U128};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::status::Status;

/// Supported Log Pages, 1024 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SupportedLogs {
    /// By log page identifier: bit 0 LSUPP.
    pub pages: [U32; 256],
}

layout!(SupportedLogs, 1024, pages @ 0);

impl SupportedLogs {
    /// These pages with LSUPP set.
    #[must_use]
    pub fn new(lids: &[u8]) -> Self {
        let mut log = Self::new_zeroed();
        for lid in lids {
            if let Some(page) = log.pages.get_mut(usize::from(*lid)) {
                *page = U32::new(1);
            }
        }
        log
    }

    /// Whether LSUPP of a page is set.
    #[must_use]
    pub fn contains(&self, lid: u8) -> bool {
        self.pages.get(usize::from(lid)).is_some_and(|page| page.get() & 1 != 0)
    }
}

/// An entry of the Error Information log page, 64 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct ErrorEntry {
    /// Counts errors over the controller's life from 1; 0 marks an invalid entry.
    pub error_count: U64,
    /// SQID of the command, FFFFh if there is none.
    pub sqid: U16,
    /// CID of the command, FFFFh if there is none.
    pub cid: U16,
    /// Bytes 14-15 of the completion.
    pub status_word: U16,
    /// Where in the entry the fault is: byte in bits 7:0, bit in 10:8; FFFFh if nowhere.
    pub parameter_location: U16,
    /// First LBA; reserved for the Key Value command set.
    pub lba: U64,
    /// Namespace.
    pub nsid: U32,
    /// Log page with vendor specific information, 0 none.
    pub vendor: u8,
    /// TRTYPE: 0 not of a transport, 3 TCP.
    pub trtype: u8,
    /// Command set of the command.
    pub csi: u8,
    /// Opcode of the command.
    pub opcode: u8,
    /// Command specific information.
    pub command_specific: U64,
    /// Transport specific information.
    pub transport_specific: U16,
    /// Reserved.
    pub reserved_42: [u8; 21],
    /// Version of this entry: 1 where `csi` and `opcode` are valid.
    pub version: u8,
}

layout!(
    ErrorEntry, 64, error_count @ 0, sqid @ 8, cid @ 10, status_word @ 12, parameter_location @ 14, lba @ 16,
    nsid @ 24, vendor @ 28, trtype @ 29, csi @ 30, opcode @ 31, command_specific @ 32, transport_specific @ 40,
    reserved_42 @ 42, version @ 63,
);

impl ErrorEntry {
    /// Parameter Error Location that names no byte.
    pub const NO_LOCATION: u16 = 0xFFFF;

    /// The `error_count`-th error: `status` of a command, at no particular byte.
    #[must_use]
    pub fn new(error_count: u64, sqid: u16, cid: u16, nsid: u32, status: Status) -> Self {
        let mut entry = Self::new_zeroed();
        entry.error_count = U64::new(error_count);
        entry.sqid = U16::new(sqid);
        entry.cid = U16::new(cid);
        entry.nsid = U32::new(nsid);
        entry.status_word = U16::new(status.to_word(false));
        entry.parameter_location = U16::new(Self::NO_LOCATION);
        entry
    }
}

/// SMART / Health Information, 512 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Smart {
    /// Bit 0 spare low, 1 temperature, 2 reliability, 3 read only, 4 backup failed.
    pub critical_warning: u8,
    /// Composite temperature, Kelvin.
    pub temperature_kelvin: U16,
    /// Available spare, percent.
    pub spare_percent: u8,
    /// Threshold of available spare, percent.
    pub spare_threshold_percent: u8,
    /// Percentage of life used; may pass 100.
    pub used_percent: u8,
    /// Critical warnings of endurance groups.
    pub endurance_warning: u8,
    /// Reserved.
    pub reserved_7: [u8; 25],
    /// Thousands of 512-byte units that hosts read, rounded up; Retrieve counts (KV, section 1.4.2).
    pub data_units_read: U128,
    /// Thousands of 512-byte units that hosts wrote, rounded up; Store counts.
    pub data_units_written: U128,
    /// Read commands; Retrieve counts.
    pub read_commands: U128,
    /// Write commands; Store counts.
    pub write_commands: U128,
    /// Minutes with commands outstanding.
    pub busy_minutes: U128,
    /// Power cycles.
    pub power_cycles: U128,
    /// Power-on hours.
    pub power_on_hours: U128,
    /// Losses of power without a shutdown notification.
    pub unsafe_shutdowns: U128,
    /// Unrecovered data integrity errors.
    pub media_errors: U128,
    /// Entries of the Error Information log over the controller's life.
    pub error_entries: U128,
    /// Minutes above WCTEMP.
    pub warning_minutes: U32,
    /// Minutes above CCTEMP.
    pub critical_minutes: U32,
    /// Temperature sensors 1 to 8, Kelvin; 0 absent.
    pub sensors_kelvin: [U16; 8],
    /// Thermal management counts and times.
    pub thermal_management: [U32; 4],
    /// Reserved.
    pub reserved_232: [u8; 280],
}

layout!(
    Smart, 512, critical_warning @ 0, temperature_kelvin @ 1, spare_percent @ 3, spare_threshold_percent @ 4,
    used_percent @ 5, data_units_read @ 32, data_units_written @ 48, read_commands @ 64, write_commands @ 80,
    busy_minutes @ 96, power_cycles @ 112, power_on_hours @ 128, unsafe_shutdowns @ 144, media_errors @ 160,
    error_entries @ 176, warning_minutes @ 192, sensors_kelvin @ 200, thermal_management @ 216, reserved_232 @ 232,
);

impl Smart {
    /// Data units for a number of bytes: thousands of 512-byte units, rounded up.
    #[must_use]
    pub const fn data_units(bytes: u128) -> u128 {
        bytes.div_ceil(512 * 1000)
    }
}

/// Firmware Slot Information, 512 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct FirmwareSlots {
    /// AFI: active slot in bits 2:0, slot of the next reset in bits 6:4.
    pub afi: u8,
    /// Reserved.
    pub reserved_1: [u8; 7],
    /// FRS1 to FRS7: revisions, ASCII; zeros in an empty slot.
    pub revisions: [[u8; 8]; 7],
    /// Reserved.
    pub reserved_64: [u8; 448],
}

layout!(FirmwareSlots, 512, afi @ 0, reserved_1 @ 1, revisions @ 8, reserved_64 @ 64);

impl FirmwareSlots {
    /// One revision, active in slot 1.
    #[must_use]
    pub fn single(revision: [u8; 8]) -> Self {
        let mut log = Self::new_zeroed();
        log.afi = 1;
        let [first, ..] = &mut log.revisions;
        *first = revision;
        log
    }
}
