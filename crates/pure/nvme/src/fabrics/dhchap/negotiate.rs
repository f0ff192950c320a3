// SPDX-License-Identifier: Apache-2.0 OR MIT
//! AUTH_Negotiate: what the host can do.

use super::reader::{Reader, begin};
use super::{Explanation, GroupId, HashId, auth_id, auth_type};

const KIND: (u8, u8) = (auth_type::COMMON, auth_id::NEGOTIATE);
/// AuthID of DH-HMAC-CHAP in a protocol descriptor.
const DHCHAP: u8 = 1;
/// Bytes of the list of hashes in the descriptor, and of that of groups.
const LIST_BYTES: usize = 30;

/// The message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Negotiate {
    /// T_ID: of this and all that follow.
    pub transaction: u16,
    /// SC_C: what secure channel is to be made of it; 0 for none.
    pub secure_channel: u8,
    /// Hashes, each once.
    pub hashes: Vec<HashId>,
    /// Groups, each once.
    pub groups: Vec<GroupId>,
}

impl Negotiate {
    /// Reads a message: one descriptor, of DH-HMAC-CHAP.
    ///
    /// # Errors
    /// What [`Failure`](super::Failure) is to tell.
    pub fn parse(message: &[u8]) -> Result<Self, Explanation> {
        let (mut reader, transaction) = Reader::open(message, KIND)?;
        let secure_channel = reader.byte()?;
        if reader.byte()? != 1 || reader.byte()? != DHCHAP {
            return Err(Explanation::NotUsable);
        }
        reader.zeros(1)?;
        let (halen, dhlen) = (reader.byte()?, reader.byte()?);
        let hashes = list(reader.bytes(LIST_BYTES)?, halen, HashId::of).ok_or(Explanation::HashUnusable)?;
        let groups = list(reader.bytes(LIST_BYTES)?, dhlen, GroupId::of).ok_or(Explanation::GroupUnusable)?;
        reader.end()?;
        Ok(Self { transaction, secure_channel, hashes, groups })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut message = begin(KIND, self.transaction);
        message.extend_from_slice(&[self.secure_channel, 1, DHCHAP, 0]);
        message.extend_from_slice(&[self.hashes.len() as u8, self.groups.len() as u8]);
        let behind = message.len();
        message.extend(self.hashes.iter().map(|hash| *hash as u8));
        message.resize(behind + LIST_BYTES, 0);
        message.extend(self.groups.iter().map(|group| *group as u8));
        message.resize(behind + 2 * LIST_BYTES, 0);
        message
    }
}

/// The first `count` identifiers of a list: known, each once, none behind them.
fn list<T: PartialEq + Copy>(bytes: &[u8], count: u8, of: impl Fn(u8) -> Option<T>) -> Option<Vec<T>> {
    let (used, rest) = bytes.split_at_checked(usize::from(count))?;
    let ids: Vec<T> = used.iter().map(|id| of(*id)).collect::<Option<_>>()?;
    let is_once = ids.iter().enumerate().all(|(n, id)| ids.iter().skip(n + 1).all(|other| other != id));
    (!ids.is_empty() && is_once && rest.iter().all(|byte| *byte == 0)).then_some(ids)
}
