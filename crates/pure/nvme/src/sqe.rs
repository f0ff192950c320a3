// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The submission queue entry (Base, Common Command Format).

use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::bits::field;
use crate::status::Status;

/// A submission queue entry: 64 bytes, in the layout of the wire.
///
/// The fields carry the specification's names; the command sets give `cdw2`, `cdw3` and `cdw10`..`cdw15` their meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct Sqe {
    /// OPC, CDW0 bits 7:0.
    pub opcode: u8,
    /// FUSE in bits 1:0, PSDT in bits 7:6 (CDW0 bits 15:8).
    pub flags: u8,
    /// CID, CDW0 bits 31:16: opaque to the controller, echoed in the completion.
    pub cid: U16,
    /// NSID, CDW1.
    pub nsid: U32,
    /// Command specific; key bytes 0-3 in the Key Value command set.
    pub cdw2: U32,
    /// Command specific; key bytes 4-7 in the Key Value command set.
    pub cdw3: U32,
    /// MPTR, CDW4-5: metadata pointer.
    pub mptr: U64,
    /// DPTR, CDW6-7: PRP Entry 1, or the first half of an SGL descriptor.
    pub prp1: U64,
    /// DPTR, CDW8-9: PRP Entry 2, or the second half of an SGL descriptor.
    pub prp2: U64,
    /// Command specific.
    pub cdw10: U32,
    /// Command specific.
    pub cdw11: U32,
    /// Command specific.
    pub cdw12: U32,
    /// Command specific.
    pub cdw13: U32,
    /// Command specific; key bytes 8-11 in the Key Value command set.
    pub cdw14: U32,
    /// Command specific; key bytes 12-15 in the Key Value command set.
    pub cdw15: U32,
}

layout!(
    Sqe, 64, opcode @ 0, flags @ 1, cid @ 2, nsid @ 4, cdw2 @ 8, cdw3 @ 12, mptr @ 16, prp1 @ 24, prp2 @ 32,
    cdw10 @ 40, cdw11 @ 44, cdw12 @ 48, cdw13 @ 52, cdw14 @ 56, cdw15 @ 60,
);

/// PSDT, the kind of data pointer in DPTR (Base, Figure "Command Dword 0").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Psdt {
    /// 00b: PRP entries.
    Prp,
    /// 01b: an SGL descriptor; MPTR is the address of a plain buffer.
    Sgl,
    /// 10b: an SGL descriptor; MPTR is the address of an SGL segment.
    SglMetadataSgl,
    /// 11b.
    Reserved,
}

/// Which data pointers a transport admits. A decoder refuses the others with [`Status::INVALID_FIELD`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PointerRule {
    /// Only PSDT 00b: admin queues over PCIe, and controllers without SGL support.
    #[default]
    Prp,
    /// Only PSDT 01b or 10b: every command over Fabrics.
    Sgl,
    /// PSDT 00b, 01b or 10b.
    Any,
}

/// Direction of data, told by opcode bits 1:0 (Base, Figure "Command Dword 0").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// 00b.
    None,
    /// 01b.
    HostToController,
    /// 10b.
    ControllerToHost,
    /// 11b.
    Bidirectional,
}

impl Direction {
    /// The direction that `opcode` announces.
    #[inline]
    pub const fn of(opcode: u8) -> Self {
        match opcode & 0b11 {
            0b00 => Self::None,
            0b01 => Self::HostToController,
            0b10 => Self::ControllerToHost,
            _ => Self::Bidirectional,
        }
    }
}

impl Sqe {
    /// Bytes of an entry (CC.IOSQES = 6).
    pub const BYTES: usize = 64;

    /// An entry with all but opcode and NSID zero: no fuse, PRP pointers, CID 0.
    #[inline]
    #[must_use]
    pub const fn new(opcode: u8, nsid: u32) -> Self {
        const ZERO: U32 = U32::ZERO;
        Self {
            opcode,
            flags: 0,
            cid: U16::ZERO,
            nsid: U32::new(nsid),
            cdw2: ZERO,
            cdw3: ZERO,
            mptr: U64::ZERO,
            prp1: U64::ZERO,
            prp2: U64::ZERO,
            cdw10: ZERO,
            cdw11: ZERO,
            cdw12: ZERO,
            cdw13: ZERO,
            cdw14: ZERO,
            cdw15: ZERO,
        }
    }

    /// The entry with command identifier `cid`.
    #[inline]
    #[must_use]
    pub const fn with_cid(mut self, cid: u16) -> Self {
        self.cid = U16::new(cid);
        self
    }

    /// The entry with PSDT 00b and the two PRP entries.
    #[inline]
    #[must_use]
    pub const fn with_prp(mut self, prp1: u64, prp2: u64) -> Self {
        self.flags &= 0x3F;
        self.prp1 = U64::new(prp1);
        self.prp2 = U64::new(prp2);
        self
    }

    /// The FUSE field: 0 for a normal command.
    #[inline]
    #[must_use]
    pub const fn fuse(&self) -> u8 {
        self.flags & 0b11
    }

    /// The PSDT field.
    #[inline]
    #[must_use]
    pub const fn psdt(&self) -> Psdt {
        match self.flags >> 6 {
            0b00 => Psdt::Prp,
            0b01 => Psdt::Sgl,
            0b10 => Psdt::SglMetadataSgl,
            _ => Psdt::Reserved,
        }
    }

    /// Refuses fused commands and data pointers that `rule` does not admit, with [`Status::INVALID_FIELD`].
    ///
    /// No command set here has fused operations (KV, section "Fused Operations"; FUSES is zero in Identify Controller).
    #[inline]
    pub const fn check_flags(&self, rule: PointerRule) -> Result<(), Status> {
        let admitted = match self.psdt() {
            Psdt::Prp => matches!(rule, PointerRule::Prp | PointerRule::Any),
            Psdt::Sgl | Psdt::SglMetadataSgl => matches!(rule, PointerRule::Sgl | PointerRule::Any),
            Psdt::Reserved => false,
        };
        if admitted && self.fuse() == 0 { Ok(()) } else { Err(Status::INVALID_FIELD) }
    }

    /// The low byte of CDW11: KL in the Key Value command set.
    #[inline]
    #[must_use]
    pub(crate) const fn kl(&self) -> u32 {
        field(self.cdw11.get(), 0, 8)
    }
}
