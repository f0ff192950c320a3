// SPDX-License-Identifier: Apache-2.0 OR MIT
//! H2CTermReq and C2HTermReq (NVMe/TCP 1.0, sections 3.6.2.4 and 3.6.2.5).

use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{CommonHeader, pdu_type};

/// Header of a request to end the connection, 24 bytes; a copy of the offending header may follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct TermReq {
    /// Common header.
    pub ch: CommonHeader,
    /// FES: what was wrong; see [`FatalError`].
    pub fes: U16,
    /// FEI: more about it.
    pub fei: U32,
    /// Reserved.
    pub reserved_14: [u8; 10],
}

layout!(TermReq, 24, ch @ 0, fes @ 8, fei @ 10, reserved_14 @ 14);

impl TermReq {
    /// The most bytes of the offending header that are copied.
    pub const COPY_BYTES_MAX: usize = 128;

    /// From the controller, with `copied` bytes to follow.
    #[must_use]
    pub const fn from_controller(error: FatalError, copied: u32) -> Self {
        Self::new(pdu_type::C2H_TERM_REQ, error, copied)
    }

    /// From the host, with `copied` bytes to follow.
    #[must_use]
    pub const fn from_host(error: FatalError, copied: u32) -> Self {
        Self::new(pdu_type::H2C_TERM_REQ, error, copied)
    }

    const fn new(kind: u8, error: FatalError, copied: u32) -> Self {
        let mut ch = CommonHeader::new(kind, 24);
        ch.plen = U32::new(24 + copied);
        Self { ch, fes: U16::new(error.fes()), fei: U32::new(error.fei()), reserved_14: [0; 10] }
    }
}

/// Why a connection cannot go on (NVMe/TCP 1.0, Figures "FES" of the two PDUs).
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FatalError {
    /// 1: a field of the header has a value that it must not have.
    #[error("invalid PDU header field at byte {0}")]
    HeaderField(u32),
    /// 2: a PDU of this kind must not come now.
    #[error("PDU sequence error")]
    Sequence,
    /// 3: the header digest does not match; the digest that was received.
    #[error("header digest error")]
    HeaderDigest(u32),
    /// 4: data outside of what was asked for.
    #[error("data transfer out of range")]
    OutOfRange,
    /// 5: to the host, more data in a PDU than MAXH2CDATA; to the controller, more R2Ts than MAXR2T.
    #[error("limit exceeded")]
    Limit,
    /// 6: a parameter that is not supported, at this byte of the header.
    #[error("unsupported parameter at byte {0}")]
    Unsupported(u32),
}

impl FatalError {
    /// FES.
    #[must_use]
    pub const fn fes(self) -> u16 {
        match self {
            Self::HeaderField(_) => 1,
            Self::Sequence => 2,
            Self::HeaderDigest(_) => 3,
            Self::OutOfRange => 4,
            Self::Limit => 5,
            Self::Unsupported(_) => 6,
        }
    }

    /// FEI.
    #[must_use]
    pub const fn fei(self) -> u32 {
        match self {
            Self::HeaderField(n) | Self::HeaderDigest(n) | Self::Unsupported(n) => n,
            Self::Sequence | Self::OutOfRange | Self::Limit => 0,
        }
    }
}
