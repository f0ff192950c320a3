// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ICReq and ICResp (NVMe/TCP 1.0, sections 3.6.2.2 and 3.6.2.3).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommonHeader, pdu_type};

/// DGST bit 0: header digests.
pub const HEADER_DIGEST: u8 = 1 << 0;
/// DGST bit 1: data digests.
pub const DATA_DIGEST: u8 = 1 << 1;

/// Initialize Connection Request, 128 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IcReq {
    /// Common header.
    pub ch: CommonHeader,
    /// PFV: format version 0.
    pub pfv: U16,
    /// HPDA: alignment of data sent to the host, in dwords, 0's based, 0 to 31.
    pub hpda: u8,
    /// DGST: digests the host wants.
    pub dgst: u8,
    /// MAXR2T: outstanding R2Ts per command, 0's based.
    pub maxr2t: U32,
    /// Reserved.
    pub reserved_16: [u8; 112],
}

layout!(IcReq, 128, ch @ 0, pfv @ 8, hpda @ 10, dgst @ 11, maxr2t @ 12, reserved_16 @ 16);

impl IcReq {
    /// A request without alignment and with one R2T at a time, as Linux sends it.
    #[must_use]
    pub const fn new(dgst: u8) -> Self {
        let ch = CommonHeader::new(pdu_type::IC_REQ, 128);
        Self { ch, pfv: U16::ZERO, hpda: 0, dgst, maxr2t: U32::ZERO, reserved_16: [0; 112] }
    }
}

/// Initialize Connection Response, 128 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct IcResp {
    /// Common header.
    pub ch: CommonHeader,
    /// PFV: format version 0.
    pub pfv: U16,
    /// CPDA: alignment of data sent to the controller, in dwords, 0's based. Linux takes only 0.
    pub cpda: u8,
    /// DGST: digests granted.
    pub dgst: u8,
    /// MAXH2CDATA: the most data of an H2CData PDU in bytes, a multiple of 4 and at least 4096.
    pub maxh2cdata: U32,
    /// Reserved.
    pub reserved_16: [u8; 112],
}

layout!(IcResp, 128, ch @ 0, pfv @ 8, cpda @ 10, dgst @ 11, maxh2cdata @ 12, reserved_16 @ 16);

impl IcResp {
    /// A response without alignment.
    #[must_use]
    pub const fn new(dgst: u8, maxh2cdata: u32) -> Self {
        let ch = CommonHeader::new(pdu_type::IC_RESP, 128);
        Self { ch, pfv: U16::ZERO, cpda: 0, dgst, maxh2cdata: U32::new(maxh2cdata), reserved_16: [0; 112] }
    }
}
