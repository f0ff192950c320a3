//! Commands of authentication, as a subsystem takes them.

use saker_auth::{Randomness, Worked};
use saker_nvme::fabrics::{self, FabricsCommand, fctype};
use saker_nvme::{Sqe, Status};
use saker_sim::Instant;

use super::Subsystem;
use crate::authentication::AuthReaction;
use crate::{Answer, ConnectionId};

impl Subsystem {
    /// Whether the command goes to [`Subsystem::authenticate`].
    #[must_use]
    pub fn is_authentication(sqe: &Sqe) -> bool {
        sqe.opcode == fabrics::OPCODE && matches!(sqe.fctype(), fctype::AUTH_SEND | fctype::AUTH_RECEIVE)
    }

    /// Authentication Send with its data, or Authentication Receive with room for `room` bytes.
    pub fn authenticate(
        &mut self,
        connection: ConnectionId,
        sqe: &Sqe,
        (data, room): (&[u8], u32),
        randomness: &Randomness,
        now: Instant,
    ) -> AuthReaction {
        self.hear(connection, now);
        let Some(auth) = self.auth_of(connection) else {
            // Of a host that need not authenticate.
            return AuthReaction::Complete(Answer::status(Status::INVALID_OPCODE));
        };
        let reaction = match FabricsCommand::decode(sqe) {
            Ok(FabricsCommand::Authenticate(command)) => auth.message(command, data, room, randomness),
            Ok(_) => AuthReaction::Complete(Answer::status(Status::INVALID_FIELD)),
            Err(status) => AuthReaction::Complete(Answer::status(status)),
        };
        self.follow(connection, &reaction);
        reaction
    }

    /// The work of [`AuthReaction::Work`] is done; `None` if the connection is gone.
    pub fn authentication_worked(
        &mut self,
        connection: ConnectionId,
        worked: Worked,
        now: Instant,
    ) -> Option<AuthReaction> {
        self.hear(connection, now);
        let reaction = self.auth_of(connection)?.worked(worked);
        self.follow(connection, &reaction);
        Some(reaction)
    }

    fn follow(&mut self, connection: ConnectionId, reaction: &AuthReaction) {
        match reaction {
            AuthReaction::Admit(_) => self.bar(connection, false),
            AuthReaction::CompleteAndClose(_) => self.bar(connection, true),
            AuthReaction::Complete(_) | AuthReaction::Work(_) => {}
        }
    }
}
