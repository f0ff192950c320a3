// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Protocol data units of NVMe/TCP (NVMe/TCP Transport 1.0, section 3.6), without their digests.
//!
//! On the wire a PDU is: header (HLEN bytes), header digest (4 bytes, if agreed), padding up to PDO, data, data digest (4
//! bytes, if agreed and there is data). Digests are CRC32C in little-endian order; see the crate `saker-nvme-tcp`.

mod capsule;
mod data;
mod init;
mod term;

pub use capsule::{CapsuleCmd, CapsuleResp};
pub use data::{DataPdu, R2t};
pub use init::{DATA_DIGEST, HEADER_DIGEST, IcReq, IcResp};
pub use term::{FatalError, TermReq};

use zerocopy::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a digest.
pub const DIGEST_BYTES: usize = 4;
/// Bytes of the longest header.
pub const HEADER_BYTES_MAX: usize = 128;

/// PDU types, byte 0.
pub mod pdu_type {
    /// Initialize Connection Request.
    pub const IC_REQ: u8 = 0x00;
    /// Initialize Connection Response.
    pub const IC_RESP: u8 = 0x01;
    /// Host to Controller Terminate Connection Request.
    pub const H2C_TERM_REQ: u8 = 0x02;
    /// Controller to Host Terminate Connection Request.
    pub const C2H_TERM_REQ: u8 = 0x03;
    /// Command Capsule.
    pub const CAPSULE_CMD: u8 = 0x04;
    /// Response Capsule.
    pub const CAPSULE_RESP: u8 = 0x05;
    /// Host to Controller Data.
    pub const H2C_DATA: u8 = 0x06;
    /// Controller to Host Data.
    pub const C2H_DATA: u8 = 0x07;
    /// Ready to Transfer.
    pub const R2T: u8 = 0x09;
}

/// FLAGS, byte 1.
pub mod flag {
    /// HDGSTF: a header digest follows the header.
    pub const HEADER_DIGEST: u8 = 1 << 0;
    /// DDGSTF: a data digest follows the data.
    pub const DATA_DIGEST: u8 = 1 << 1;
    /// LAST_PDU: the last of a sequence of data PDUs.
    pub const LAST: u8 = 1 << 2;
    /// SUCCESS: no response capsule will follow.
    pub const SUCCESS: u8 = 1 << 3;
}

/// The common header, 8 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub struct CommonHeader {
    /// PDU-Type: see [`pdu_type`].
    pub pdu_type: u8,
    /// FLAGS: see [`flag`].
    pub flags: u8,
    /// HLEN: bytes of the header, without its digest.
    pub hlen: u8,
    /// PDO: where data begins, from byte 0 of the PDU; 0 without data.
    pub pdo: u8,
    /// PLEN: bytes of the PDU with digests and padding.
    pub plen: U32,
}

layout!(CommonHeader, 8, pdu_type @ 0, flags @ 1, hlen @ 2, pdo @ 3, plen @ 4);

impl CommonHeader {
    /// Bytes of the common header.
    pub const BYTES: usize = 8;

    /// A header without data, digests and padding.
    #[must_use]
    pub const fn new(pdu_type: u8, hlen: u8) -> Self {
        Self { pdu_type, flags: 0, hlen, pdo: 0, plen: U32::new(hlen as u32) }
    }

    /// HLEN that the type demands; `None` for an unknown type.
    #[must_use]
    pub const fn hlen_of(pdu_type: u8) -> Option<u8> {
        match pdu_type {
            pdu_type::IC_REQ | pdu_type::IC_RESP => Some(128),
            pdu_type::CAPSULE_CMD => Some(72),
            pdu_type::H2C_TERM_REQ
            | pdu_type::C2H_TERM_REQ
            | pdu_type::CAPSULE_RESP
            | pdu_type::H2C_DATA
            | pdu_type::C2H_DATA
            | pdu_type::R2T => Some(24),
            _ => None,
        }
    }
}
