// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DH-HMAC-CHAP_Challenge: the controller's choice and its challenge.

use super::reader::{Reader, begin};
use super::{Explanation, GroupId, HashId, auth_id, auth_type};

const KIND: (u8, u8) = (auth_type::DHCHAP, auth_id::CHALLENGE);

/// The message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Challenge {
    /// T_ID.
    pub transaction: u16,
    /// HashID.
    pub hash: HashId,
    /// DHgID.
    pub group: GroupId,
    /// SEQNUM, S1.
    pub sequence: u32,
    /// CVAL, C1: as long as the hash.
    pub challenge: Vec<u8>,
    /// DHV: the controller's public value, as long as the group's prime.
    pub public: Vec<u8>,
}

impl Challenge {
    /// Reads a message; what follows it is not looked at: a controller fills the room that the host has offered.
    ///
    /// # Errors
    /// What [`Failure`](super::Failure) is to tell.
    pub fn parse(message: &[u8]) -> Result<Self, Explanation> {
        let (mut reader, transaction) = Reader::open(message, KIND)?;
        let hl = reader.byte()?;
        reader.zeros(1)?;
        let hash = HashId::of(reader.byte()?).ok_or(Explanation::HashUnusable)?;
        let group = GroupId::of(reader.byte()?).ok_or(Explanation::GroupUnusable)?;
        let dhvlen = usize::from(reader.word()?);
        if usize::from(hl) != hash.bytes() {
            return Err(Explanation::HashUnusable);
        }
        if dhvlen != group.bytes() {
            return Err(Explanation::GroupUnusable);
        }
        let sequence = reader.double_word()?;
        let challenge = reader.bytes(hash.bytes())?.to_vec();
        let public = reader.bytes(dhvlen)?.to_vec();
        Ok(Self { transaction, hash, group, sequence, challenge, public })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut message = begin(KIND, self.transaction);
        message.extend_from_slice(&[self.challenge.len() as u8, 0, self.hash as u8, self.group as u8]);
        message.extend_from_slice(&(self.public.len() as u16).to_le_bytes());
        message.extend_from_slice(&self.sequence.to_le_bytes());
        message.extend_from_slice(&self.challenge);
        message.extend_from_slice(&self.public);
        message
    }
}
