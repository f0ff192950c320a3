// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DH-HMAC-CHAP_Success1, the controller's, and DH-HMAC-CHAP_Success2, the host's.

use super::reader::{Reader, begin};
use super::{Explanation, HashId, auth_id, auth_type};

const KIND_1: (u8, u8) = (auth_type::DHCHAP, auth_id::SUCCESS1);
const KIND_2: (u8, u8) = (auth_type::DHCHAP, auth_id::SUCCESS2);
/// Reserved bytes behind RVALID, and behind T_ID of Success2.
const RESERVED_1: usize = 7;
const RESERVED_2: usize = 10;

/// DH-HMAC-CHAP_Success1: the host is who it says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Success1 {
    /// T_ID.
    pub transaction: u16,
    /// HL.
    pub hash: HashId,
    /// RVALID and RVAL, R2: the controller's response to the host's challenge.
    pub response: Option<Vec<u8>>,
}

impl Success1 {
    /// Reads a message; what follows it is not looked at: a controller fills the room that the host has offered.
    ///
    /// # Errors
    /// What [`Failure`](super::Failure) is to tell.
    pub fn parse(message: &[u8], hash: HashId) -> Result<Self, Explanation> {
        let (mut reader, transaction) = Reader::open(message, KIND_1)?;
        let hl = reader.byte()?;
        reader.zeros(1)?;
        let has_response = reader.flag()?;
        reader.zeros(RESERVED_1)?;
        if usize::from(hl) != hash.bytes() {
            return Err(Explanation::HashUnusable);
        }
        let response = if has_response { Some(reader.bytes(hash.bytes())?.to_vec()) } else { None };
        Ok(Self { transaction, hash, response })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut message = begin(KIND_1, self.transaction);
        message.extend_from_slice(&[self.hash.bytes() as u8, 0, u8::from(self.response.is_some())]);
        message.extend_from_slice(&[0; RESERVED_1]);
        message.extend_from_slice(self.response.as_deref().unwrap_or_default());
        message
    }
}

/// DH-HMAC-CHAP_Success2: the controller is who it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Success2 {
    /// T_ID.
    pub transaction: u16,
}

impl Success2 {
    /// Reads a message.
    ///
    /// # Errors
    /// What [`Failure`](super::Failure) is to tell.
    pub fn parse(message: &[u8]) -> Result<Self, Explanation> {
        let (mut reader, transaction) = Reader::open(message, KIND_2)?;
        reader.zeros(RESERVED_2)?;
        reader.end()?;
        Ok(Self { transaction })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut message = begin(KIND_2, self.transaction);
        message.extend_from_slice(&[0; RESERVED_2]);
        message
    }
}
