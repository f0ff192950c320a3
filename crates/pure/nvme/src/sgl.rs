// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scatter Gather List descriptors: the data pointer of PSDT 01b and 10b (Base, section "SGL").

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::sqe::Sqe;

/// Byte 15 of a descriptor: type in bits 7:4, sub-type in bits 3:0.
pub mod kind {
    /// Data block at an absolute address.
    pub const DATA_BLOCK: u8 = 0x00;
    /// Data block at an offset into the data of the capsule (Fabrics).
    pub const DATA_BLOCK_IN_CAPSULE: u8 = 0x01;
    /// Bit bucket: bytes to the host that are thrown away.
    pub const BIT_BUCKET: u8 = 0x10;
    /// The next array of descriptors, whose last may name a further one.
    pub const SEGMENT: u8 = 0x20;
    /// The last array of descriptors.
    pub const LAST_SEGMENT: u8 = 0x30;
    /// Transport data block: the transport knows where the data goes (NVMe/TCP).
    pub const TRANSPORT_DATA_BLOCK: u8 = 0x5A;
}

/// An SGL descriptor: 16 bytes, in the layout of the wire (not the keyed form).
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct SglDescriptor {
    /// Address, or offset into the capsule, or zero.
    pub address: U64,
    /// Length in bytes.
    pub length: U32,
    /// Reserved.
    pub reserved: [u8; 3],
    /// Type and sub-type: see [`kind`].
    pub kind: u8,
}

layout!(SglDescriptor, 16, address @ 0, length @ 8, reserved @ 12, kind @ 15);

impl SglDescriptor {
    /// A descriptor of one of the [`kind`]s.
    #[inline]
    #[must_use]
    pub const fn new(kind: u8, address: u64, length: u32) -> Self {
        Self { address: U64::new(address), length: U32::new(length), reserved: [0; 3], kind }
    }
}

/// PSDT 01b in the flags byte.
const PSDT_SGL: u8 = 0x40;

impl Sqe {
    /// The entry with PSDT 01b and the descriptor in DPTR.
    #[inline]
    #[must_use]
    pub const fn with_sgl(mut self, descriptor: &SglDescriptor) -> Self {
        self.flags = self.flags & 0x3F | PSDT_SGL;
        self.prp1 = descriptor.address;
        let [a, b, c] = descriptor.reserved;
        let tail =
            descriptor.length.get() as u64 | (u32::from_le_bytes([a, b, c, descriptor.kind]) as u64) << 32;
        self.prp2 = U64::new(tail);
        self
    }

    /// DPTR read as an SGL descriptor; [`Sqe::psdt`] tells whether it is one.
    #[inline]
    #[must_use]
    pub const fn sgl(&self) -> SglDescriptor {
        let tail = self.prp2.get();
        let [a, b, c, kind] = ((tail >> 32) as u32).to_le_bytes();
        SglDescriptor { address: self.prp1, length: U32::new(tail as u32), reserved: [a, b, c], kind }
    }
}
