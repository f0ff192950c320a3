// SPDX-License-Identifier: Apache-2.0 OR MIT
//! AUTH_Failure1, the controller's, and AUTH_Failure2, the host's.

use super::auth_type;
use super::reader::{Reader, begin};

/// Reason Code 01h: authentication has failed.
const REASON: u8 = 1;

/// Reason Code Explanation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[repr(u8)]
pub enum Explanation {
    /// A response is wrong.
    #[error("a response is wrong")]
    Failed = 1,
    /// The authentication protocol cannot be used.
    #[error("the authentication protocol cannot be used")]
    NotUsable = 2,
    /// The secure channel that is asked for cannot be made.
    #[error("the secure channel cannot be made")]
    ConcatMismatch = 3,
    /// No hash can be used.
    #[error("no hash function suits both")]
    HashUnusable = 4,
    /// No Diffie-Hellman group can be used.
    #[error("no Diffie-Hellman group suits both")]
    GroupUnusable = 5,
    /// A field has a wrong value.
    #[error("a message has a wrong field")]
    IncorrectPayload = 6,
    /// Another message was expected.
    #[error("a message came out of turn")]
    IncorrectMessage = 7,
}

impl Explanation {
    const ALL: [Self; 7] = [
        Self::Failed,
        Self::NotUsable,
        Self::ConcatMismatch,
        Self::HashUnusable,
        Self::GroupUnusable,
        Self::IncorrectPayload,
        Self::IncorrectMessage,
    ];
}

/// The message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Failure {
    /// T_ID.
    pub transaction: u16,
    /// Why.
    pub explanation: Explanation,
}

impl Failure {
    /// Reads AUTH_Failure1 (`auth_id::FAILURE1`) or AUTH_Failure2. An explanation without a meaning is a failure, too.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(message: &[u8], id: u8) -> Result<Self, Explanation> {
        let (mut reader, transaction) = Reader::open(message, (auth_type::COMMON, id))?;
        let (_, told) = (reader.byte()?, reader.byte()?);
        let known = Explanation::ALL.into_iter().find(|explanation| *explanation as u8 == told);
        Ok(Self { transaction, explanation: known.unwrap_or(Explanation::Failed) })
    }

    /// The message.
    #[must_use]
    pub fn encode(&self, id: u8) -> Vec<u8> {
        let mut message = begin((auth_type::COMMON, id), self.transaction);
        message.extend_from_slice(&[REASON, self.explanation as u8]);
        message
    }
}
