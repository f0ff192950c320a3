//! Queues that have to authenticate: which messages they exchange, and what they may do before.
//!
//! Until its host has authenticated, a queue carries Authentication Send and Authentication Receive; any other command of it
//! gets Authentication Required (Base 2.0, section 6.3, "AUTHREQ"), properties included.

use std::sync::Arc;

use saker_auth::{Controller, Names, Outcome, Randomness, Work, Worked};
use saker_nvme::fabrics::dhchap::MESSAGE_BYTES_MAX;
use saker_nvme::fabrics::{self, AuthCommand, AuthDirection, FabricsCommand, fctype};
use saker_nvme::{Sqe, Status};
use saker_sim::Instant;

use crate::policy::HostPolicy;
use crate::subsystem::Subsystem;
use crate::{Answer, ConnectionId};

/// Bytes of the longest message that is taken or given: hosts offer 4 KiB (torvalds/linux, drivers/nvme/host/auth.c,
/// CHAP_BUF_SIZE).
pub const AUTH_BYTES_MAX: u32 = 8 << 10;
const _: () = assert!(MESSAGE_BYTES_MAX <= AUTH_BYTES_MAX as usize);

/// What becomes of a message of authentication.
#[derive(Debug)]
pub enum AuthReaction {
    /// It completes now.
    Complete(Answer),
    /// It completes, and the queue may do everything from now on.
    Admit(Answer),
    /// It completes, then the connection ends: authentication has failed.
    CompleteAndClose(Answer),
    /// It completes with what [`Subsystem::authentication_worked`] says about the work once it is done.
    Work(Work),
}

/// One queue's authentication.
#[derive(Debug)]
pub(crate) struct QueueAuth {
    controller: Controller,
    /// Bytes that the command under way is to be answered with.
    room: u32,
    is_at_work: bool,
}

impl QueueAuth {
    /// That of a queue of `host`, if the policy asks for it.
    pub fn of(policy: &HostPolicy, host: &str, subsystem: &str) -> Option<Self> {
        let credentials = Arc::clone(policy.credentials.as_ref()?);
        let names = Names { host: host.into(), subsystem: subsystem.into() };
        Some(Self { controller: Controller::new(names, credentials), room: 0, is_at_work: false })
    }

    /// Secrets have changed.
    pub fn renew(&mut self, policy: &HostPolicy) {
        if let Some(credentials) = &policy.credentials {
            self.controller.renew(Arc::clone(credentials));
        }
    }

    fn message(
        &mut self,
        command: AuthCommand,
        data: &[u8],
        room: u32,
        randomness: &Randomness,
    ) -> AuthReaction {
        let held = match command.direction {
            AuthDirection::Send => data.len(),
            AuthDirection::Receive => room as usize,
        };
        let is_sound = command.bytes <= AUTH_BYTES_MAX && held == command.bytes as usize;
        if self.is_at_work || !is_sound {
            let status = if is_sound { Status::COMMAND_SEQUENCE_ERROR } else { Status::INVALID_FIELD };
            return AuthReaction::Complete(Answer::status(status));
        }
        self.room = if command.direction == AuthDirection::Receive { command.bytes } else { 0 };
        let outcome = match command.direction {
            AuthDirection::Send => self.controller.send(data),
            AuthDirection::Receive => self.controller.receive(randomness),
        };
        self.react(outcome)
    }

    fn worked(&mut self, worked: Worked) -> AuthReaction {
        self.is_at_work = false;
        let outcome = self.controller.finish(worked);
        self.react(outcome)
    }

    fn react(&mut self, outcome: Outcome) -> AuthReaction {
        match outcome {
            Outcome::Done(message) => match self.answer(message) {
                Ok(answer) => AuthReaction::Complete(answer),
                // A message that is lost cannot be asked for again.
                Err(status) => AuthReaction::CompleteAndClose(Answer::status(status)),
            },
            Outcome::Authenticated(message) => match self.answer(message) {
                Ok(answer) => AuthReaction::Admit(answer),
                Err(status) => AuthReaction::CompleteAndClose(Answer::status(status)),
            },
            Outcome::Ended(message) => {
                AuthReaction::CompleteAndClose(self.answer(message).unwrap_or_else(Answer::status))
            }
            Outcome::Work(work) => {
                self.is_at_work = true;
                AuthReaction::Work(work)
            }
        }
    }

    /// The message and zeros, as many bytes as the host has asked for.
    fn answer(&self, mut message: Vec<u8>) -> Result<Answer, Status> {
        if message.len() > self.room as usize {
            return Err(Status::INVALID_FIELD);
        }
        message.resize(self.room as usize, 0);
        Ok(Answer { data: message, ..Answer::result(0) })
    }
}

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
