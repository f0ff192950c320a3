// SPDX-License-Identifier: Apache-2.0 OR MIT
//! H2CData, C2HData and R2T (NVMe/TCP 1.0, sections 3.6.2.8 to 3.6.2.10).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommonHeader, pdu_type};

/// Header of H2CData and C2HData, 24 bytes; data follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct DataPdu {
    /// Common header.
    pub ch: CommonHeader,
    /// CCCID: CID of the command.
    pub cccid: U16,
    /// TTAG: tag of the R2T that is answered; reserved in C2HData.
    pub ttag: U16,
    /// DATAO: offset of the data in the command's data.
    pub datao: U32,
    /// DATAL: bytes of data.
    pub datal: U32,
    /// Reserved.
    pub reserved_20: [u8; 4],
}

layout!(DataPdu, 24, ch @ 0, cccid @ 8, ttag @ 10, datao @ 12, datal @ 16, reserved_20 @ 20);

impl DataPdu {
    /// Data to the controller, without flags, PDO and PLEN.
    #[must_use]
    pub const fn h2c(cccid: u16, ttag: u16, datao: u32, datal: u32) -> Self {
        Self::new(pdu_type::H2C_DATA, cccid, ttag, datao, datal)
    }

    /// Data to the host, without flags, PDO and PLEN.
    #[must_use]
    pub const fn c2h(cccid: u16, datao: u32, datal: u32) -> Self {
        Self::new(pdu_type::C2H_DATA, cccid, 0, datao, datal)
    }

    const fn new(kind: u8, cccid: u16, ttag: u16, datao: u32, datal: u32) -> Self {
        Self {
            ch: CommonHeader::new(kind, 24),
            cccid: U16::new(cccid),
            ttag: U16::new(ttag),
            datao: U32::new(datao),
            datal: U32::new(datal),
            reserved_20: [0; 4],
        }
    }
}

/// Ready to Transfer, 24 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct R2t {
    /// Common header.
    pub ch: CommonHeader,
    /// CCCID: CID of the command.
    pub cccid: U16,
    /// TTAG: tag that the data must carry.
    pub ttag: U16,
    /// R2TO: offset in the command's data.
    pub r2to: U32,
    /// R2TL: bytes asked for.
    pub r2tl: U32,
    /// Reserved.
    pub reserved_20: [u8; 4],
}

layout!(R2t, 24, ch @ 0, cccid @ 8, ttag @ 10, r2to @ 12, r2tl @ 16, reserved_20 @ 20);

impl R2t {
    /// A request for `r2tl` bytes from `r2to` on.
    #[must_use]
    pub const fn new(cccid: u16, ttag: u16, r2to: u32, r2tl: u32) -> Self {
        Self {
            ch: CommonHeader::new(pdu_type::R2T, 24),
            cccid: U16::new(cccid),
            ttag: U16::new(ttag),
            r2to: U32::new(r2to),
            r2tl: U32::new(r2tl),
            reserved_20: [0; 4],
        }
    }
}
