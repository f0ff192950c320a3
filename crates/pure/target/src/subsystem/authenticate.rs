// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of authentication, as a subsystem takes them.

use saker_auth::{Randomness, Worked};
use saker_nvme::fabrics::{self, FabricsCommand, fctype};
use saker_nvme::{Sqe, Status};
use saker_sim::Instant;

use super::Subsystem;
use crate::authentication::{AuthFailure, AuthReaction};
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

    /// That the authentication of a queue has failed, once for each failure.
    pub fn authentication_failure(&mut self, connection: ConnectionId) -> Option<AuthFailure> {
        self.auth_of(connection)?.take_failure()
    }

    /// Controllers whose hosts have not authenticated yet.
    #[must_use]
    pub fn half_open(&self) -> usize {
        self.associations.values().filter(|association| association.is_half_open()).count()
    }

    /// Makes room for a host that wants a controller: of those that have not authenticated at most half of all are kept, and at the limit of
    /// all they go first. The oldest goes. Otherwise who has no secret could keep everybody else out.
    pub(super) fn make_room(&mut self, hostnqn: &str) {
        let must_authenticate = self.policy_of(hostnqn).credentials.is_some();
        let is_full = self.associations.len() >= self.config.controllers_max;
        let has_half = must_authenticate && self.half_open() >= self.config.controllers_max.div_ceil(2);
        if !is_full && !has_half {
            return;
        }
        let half_open = self.associations.values().filter(|association| association.is_half_open());
        if let Some(oldest) = half_open.map(|association| association.admin).min() {
            self.evicted.push(oldest);
            let queues = self.disconnected(oldest);
            debug_assert!(queues.is_empty(), "a controller that is not enabled has no other queues");
        }
    }

    /// Connections that had to make room since this was last asked, to be closed.
    pub fn evicted(&mut self) -> Vec<ConnectionId> {
        std::mem::take(&mut self.evicted)
    }

    fn follow(&mut self, connection: ConnectionId, reaction: &AuthReaction) {
        match reaction {
            AuthReaction::Admit(_) => self.bar(connection, false),
            AuthReaction::CompleteAndClose(_) => self.bar(connection, true),
            AuthReaction::Complete(_) | AuthReaction::Work(_) => {}
        }
    }
}
