// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Authentication Send and Authentication Receive (Base 2.0, sections 6.1 and 6.2; the place of each field is that of
//! `nvmf_auth_send_command` in torvalds/linux, include/linux/nvme.h).

use zerocopy::little_endian::U32;

use super::{entry, fctype};
use crate::bits::field;
use crate::sqe::Sqe;
use crate::status::Status;

/// SECP of the authentication protocols of NVMe (SPC-5, "security protocols").
pub const PROTOCOL: u8 = 0xE9;
/// SPSP0 and SPSP1: the only ones that are defined.
const SPECIFIC: u8 = 1;

/// Whether the message goes to the controller or comes from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthDirection {
    /// Authentication Send.
    Send,
    /// Authentication Receive.
    Receive,
}

/// A decoded command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthCommand {
    /// Which of the two.
    pub direction: AuthDirection,
    /// TL or AL: bytes of the message, or of the room for one.
    pub bytes: u32,
}

impl AuthCommand {
    /// # Errors
    /// 02h for a protocol other than DH-HMAC-CHAP's, and for no bytes at all.
    pub(super) fn decode(sqe: &Sqe, direction: AuthDirection) -> Result<Self, Status> {
        let (cdw10, bytes) = (sqe.cdw10.get(), sqe.cdw11.get());
        let (low, high) = (field(cdw10, 8, 8) as u8, field(cdw10, 16, 8) as u8);
        let is_ours = (field(cdw10, 24, 8) as u8, low, high) == (PROTOCOL, SPECIFIC, SPECIFIC);
        if is_ours && bytes > 0 { Ok(Self { direction, bytes }) } else { Err(Status::INVALID_FIELD) }
    }

    /// The entry, without CID and data pointer.
    #[must_use]
    pub fn encode(&self) -> Sqe {
        let mut sqe = entry(match self.direction {
            AuthDirection::Send => fctype::AUTH_SEND,
            AuthDirection::Receive => fctype::AUTH_RECEIVE,
        });
        let specific = u32::from(SPECIFIC) << 8 | u32::from(SPECIFIC) << 16;
        sqe.cdw10 = U32::new(u32::from(PROTOCOL) << 24 | specific);
        sqe.cdw11 = U32::new(self.bytes);
        sqe
    }
}

/// AUTHREQ in DW0 of the completion of Connect (Base 2.0, section 6.3).
pub mod auth_required {
    /// ATR: the host has to authenticate before anything else.
    pub const TRANSACTION: u32 = 1 << 17;
    /// ASCR: ... and to make a secure channel out of it.
    pub const SECURE_CHANNEL: u32 = 1 << 18;
}
