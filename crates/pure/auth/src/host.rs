// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's end of an authentication: of one queue.

use saker_nvme::fabrics::dhchap::{
    Challenge, Explanation, Failure, GroupId, HashId, Negotiate, Reply, Success1, Success2, auth_id,
    auth_type, kind_of,
};
use thiserror::Error;

use crate::Randomness;
use crate::group::Private;
use crate::hash::{Hidden, are_same};
use crate::response::{Asked, Names, Role, respond};
use crate::secret::Secret;

/// What a host knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostSecrets {
    /// Its own secret.
    pub host: Secret,
    /// The controller's, if it is to authenticate as well.
    pub controller: Option<Secret>,
}

/// Why an authentication did not come about.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// The controller refuses.
    #[error("the target refuses to authenticate this host: {0}")]
    Refused(Explanation),
    /// The controller is not who it should be, or does not keep to the protocol. The message tells it so.
    #[error("{why}")]
    Distrusted {
        /// What is wrong.
        why: &'static str,
        /// AUTH_Failure2.
        farewell: Vec<u8>,
    },
}

/// The host's end. Its calls are made in the order in which they stand here.
#[derive(Debug)]
pub struct Host<'a> {
    names: &'a Names,
    secrets: &'a HostSecrets,
    randomness: &'a Randomness,
    transaction: u16,
    /// From the challenge on: its hash, and the response that is expected to our own.
    expected: Option<(HashId, Option<Hidden>)>,
}

impl<'a> Host<'a> {
    /// One for a queue; `transaction` is a number that its other authentications do not have.
    #[must_use]
    pub const fn new(
        names: &'a Names,
        secrets: &'a HostSecrets,
        randomness: &'a Randomness,
        transaction: u16,
    ) -> Self {
        Self { names, secrets, randomness, transaction, expected: None }
    }

    /// AUTH_Negotiate: everything we have.
    #[must_use]
    pub fn negotiate(&self) -> Vec<u8> {
        let (hashes, groups) = (HashId::ALL.to_vec(), GroupId::ALL.to_vec());
        Negotiate { transaction: self.transaction, secure_channel: 0, hashes, groups }.encode()
    }

    /// Takes the challenge and gives the reply to it.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn reply(&mut self, message: &[u8]) -> Result<Vec<u8>, HostError> {
        self.refusal(message)?;
        let asked = Challenge::parse(message).map_err(|why| self.distrust(why, BROKEN))?;
        if asked.transaction != self.transaction {
            return Err(self.distrust(Explanation::IncorrectPayload, BROKEN));
        }
        let private = Private::new(&self.randomness.private);
        let shared = private.shared(asked.group, &asked.public);
        let shared = shared.ok_or_else(|| self.distrust(Explanation::IncorrectPayload, BROKEN))?;
        let of_controller = Asked {
            hash: asked.hash,
            challenge: &asked.challenge,
            sequence: asked.sequence,
            transaction: asked.transaction,
            shared: &shared,
        };
        let response = respond(Role::Host, &self.secrets.host, self.names, &of_controller).to_vec();
        let challenge = self.challenge(&of_controller)?;
        Ok(Reply { transaction: self.transaction, response, challenge, public: private.public(asked.group) }
            .encode())
    }

    /// Our own challenge, and what the controller has to respond.
    fn challenge(&mut self, theirs: &Asked<'_>) -> Result<Option<(u32, Vec<u8>)>, HostError> {
        let Some(secret) = &self.secrets.controller else {
            self.expected = Some((theirs.hash, None));
            return Ok(None);
        };
        let challenge: Vec<u8> =
            self.randomness.challenge.iter().copied().take(theirs.hash.bytes()).collect();
        if challenge == theirs.challenge {
            return Err(self.distrust(Explanation::IncorrectPayload, BROKEN));
        }
        let sequence = self.randomness.sequence();
        let ours = Asked { challenge: &challenge, sequence, ..*theirs };
        let expected = respond(Role::Controller, secret, self.names, &ours);
        self.expected = Some((theirs.hash, Some(expected)));
        Ok(Some((sequence, challenge)))
    }

    /// Takes the controller's success; what to tell it, if it has authenticated as well.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn success(&mut self, message: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        self.refusal(message)?;
        let Some((hash, expected)) = self.expected.take() else {
            return Err(self.distrust(Explanation::IncorrectMessage, BROKEN));
        };
        let success = Success1::parse(message, hash).map_err(|why| self.distrust(why, BROKEN))?;
        if success.transaction != self.transaction {
            return Err(self.distrust(Explanation::IncorrectPayload, BROKEN));
        }
        match (expected, success.response) {
            (None, None) => Ok(None),
            (None, Some(_)) => Err(self.distrust(Explanation::IncorrectPayload, BROKEN)),
            (Some(expected), Some(response)) if are_same(&expected, &response) => {
                Ok(Some(Success2 { transaction: self.transaction }.encode()))
            }
            (Some(_), _) => Err(self.distrust(Explanation::Failed, IMPOSTOR)),
        }
    }

    /// AUTH_Failure1 instead of what was expected.
    fn refusal(&self, message: &[u8]) -> Result<(), HostError> {
        if kind_of(message) != Some((auth_type::COMMON, auth_id::FAILURE1)) {
            return Ok(());
        }
        let told =
            Failure::parse(message, auth_id::FAILURE1).map_or(Explanation::Failed, |told| told.explanation);
        Err(HostError::Refused(told))
    }

    fn distrust(&self, explanation: Explanation, why: &'static str) -> HostError {
        let farewell = Failure { transaction: self.transaction, explanation }.encode(auth_id::FAILURE2);
        HostError::Distrusted { why, farewell }
    }
}

const BROKEN: &str = "the target does not keep to the authentication protocol";
const IMPOSTOR: &str =
    "the target does not prove who it is: it has another secret than ctrl_secret_file, or none";
