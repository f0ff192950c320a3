// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asymmetric Namespace Access, log page 0Ch (Base 2.0, section 5.16.1.13): how well a controller reaches namespaces.

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Access states, bits 3:0 of a group's descriptor.
pub mod access_state {
    /// ANA Optimized.
    pub const OPTIMIZED: u8 = 0x1;
    /// ANA Non-Optimized.
    pub const NON_OPTIMIZED: u8 = 0x2;
    /// ANA Inaccessible.
    pub const INACCESSIBLE: u8 = 0x3;
    /// ANA Persistent Loss.
    pub const PERSISTENT_LOSS: u8 = 0x4;
    /// ANA Change.
    pub const CHANGE: u8 = 0xF;
}

/// LSP bit 0, RGO: the groups without the NSIDs in them.
pub const GROUPS_ONLY: u8 = 1;

/// The beginning of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct AccessHeader {
    /// CHGCNT: changes of the page.
    pub changes: U64,
    /// NAGD: descriptors that follow.
    pub groups: U16,
    /// Reserved.
    pub reserved_10: [u8; 6],
}

layout!(AccessHeader, 16, changes @ 0, groups @ 8, reserved_10 @ 10);

/// ANA Group Descriptor; the NSIDs of its namespaces follow, in ascending order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct AccessGroup {
    /// AGID: 1 to ANAGRPMAX.
    pub id: U32,
    /// NNV: NSIDs that follow.
    pub namespaces: U32,
    /// CHGCNT: changes of this descriptor.
    pub changes: U64,
    /// Bits 3:0: see [`access_state`].
    pub state: u8,
    /// Reserved.
    pub reserved_17: [u8; 15],
}

layout!(AccessGroup, 32, id @ 0, namespaces @ 4, changes @ 8, state @ 16, reserved_17 @ 17);

impl AccessHeader {
    /// A page of so many groups.
    #[must_use]
    pub fn new(changes: u64, groups: u16) -> Self {
        let mut header = Self::new_zeroed();
        (header.changes, header.groups) = (U64::new(changes), U16::new(groups));
        header
    }
}

impl AccessGroup {
    /// A group with so many NSIDs behind it; `state` is one of [`access_state`].
    #[must_use]
    pub fn new(id: u32, namespaces: u32, changes: u64, state: u8) -> Self {
        let mut group = Self::new_zeroed();
        (group.id, group.namespaces) = (U32::new(id), U32::new(namespaces));
        (group.changes, group.state) = (U64::new(changes), state);
        group
    }
}
