// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DH-HMAC-CHAP_Reply: the host's response, and its own challenge if the controller is to authenticate as well.

use super::reader::{Reader, begin};
use super::{Explanation, GroupId, HashId, auth_id, auth_type};

const KIND: (u8, u8) = (auth_type::DHCHAP, auth_id::REPLY);

/// The message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// T_ID.
    pub transaction: u16,
    /// RVAL, R1: as long as the hash.
    pub response: Vec<u8>,
    /// CVALID: SEQNUM (S2, never 0) and CVAL (C2).
    pub challenge: Option<(u32, Vec<u8>)>,
    /// DHV: the host's public value.
    pub public: Vec<u8>,
}

impl Reply {
    /// Reads the reply to a challenge of this hash and group.
    ///
    /// # Errors
    /// What [`Failure`](super::Failure) is to tell. Without a challenge its sequence number means nothing: Linux 6.12 sends one all the
    /// same (drivers/nvme/host/auth.c, `nvme_auth_set_dhchap_reply_data`). A challenge with sequence number 0 is for a secure channel only, which nobody
    /// has negotiated.
    pub fn parse(message: &[u8], hash: HashId, group: GroupId) -> Result<Self, Explanation> {
        let (mut reader, transaction) = Reader::open(message, KIND)?;
        let hl = reader.byte()?;
        reader.zeros(1)?;
        let has_challenge = reader.flag()?;
        reader.zeros(1)?;
        let dhvlen = usize::from(reader.word()?);
        let sequence = reader.double_word()?;
        if (usize::from(hl), dhvlen) != (hash.bytes(), group.bytes()) || (has_challenge && sequence == 0) {
            return Err(Explanation::IncorrectPayload);
        }
        let response = reader.bytes(hash.bytes())?.to_vec();
        let challenge = if has_challenge {
            Some((sequence, reader.bytes(hash.bytes())?.to_vec()))
        } else {
            reader.zeros(hash.bytes())?;
            None
        };
        let public = reader.bytes(dhvlen)?.to_vec();
        reader.end()?;
        Ok(Self { transaction, response, challenge, public })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let hl = self.response.len();
        let (sequence, challenge) = match &self.challenge {
            Some((sequence, challenge)) => (*sequence, challenge.as_slice()),
            None => (0, &[][..]),
        };
        let mut message = begin(KIND, self.transaction);
        message.extend_from_slice(&[hl as u8, 0, u8::from(self.challenge.is_some()), 0]);
        message.extend_from_slice(&(self.public.len() as u16).to_le_bytes());
        message.extend_from_slice(&sequence.to_le_bytes());
        message.extend_from_slice(&self.response);
        message.extend_from_slice(challenge);
        message.resize(message.len() + hl - challenge.len(), 0);
        message.extend_from_slice(&self.public);
        message
    }
}
