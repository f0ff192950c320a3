// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Log pages (Base, Get Log Page command).

mod access;
mod effects;
mod pages;

pub use access::{AccessGroup, AccessHeader, GROUPS_ONLY, access_state};
pub use effects::{CommandEffects, EffectsLog};
pub use pages::{ErrorEntry, FirmwareSlots, Smart, SupportedLogs};

/// Log Page Identifiers.
pub mod lid {
    /// [`SupportedLogs`](super::SupportedLogs).
    pub const SUPPORTED: u8 = 0x00;
    /// [`ErrorEntry`](super::ErrorEntry)s, the latest first.
    pub const ERROR: u8 = 0x01;
    /// [`Smart`](super::Smart).
    pub const SMART: u8 = 0x02;
    /// [`FirmwareSlots`](super::FirmwareSlots).
    pub const FIRMWARE: u8 = 0x03;
    /// Changed namespaces: laid out as [`ActiveNamespaces`](crate::identify::ActiveNamespaces).
    pub const CHANGED_NAMESPACES: u8 = 0x04;
    /// [`EffectsLog`](super::EffectsLog) of the command's CSI.
    pub const EFFECTS: u8 = 0x05;
    /// [`AccessHeader`](super::AccessHeader) and [`AccessGroup`](super::AccessGroup)s.
    pub const ASYMMETRIC_ACCESS: u8 = 0x0C;
    /// [`DiscoveryHeader`](crate::fabrics::DiscoveryHeader) and its records.
    pub const DISCOVERY: u8 = 0x70;
}
