// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Queues that have to authenticate: which messages they exchange, and what they may do before.
//!
//! Until its host has authenticated, a queue carries Authentication Send and Authentication Receive; any other command of it
//! gets Authentication Required (Base 2.0, section 6.3, "AUTHREQ"), properties included.

use std::sync::Arc;

use saker_auth::{Controller, Names, Outcome, Randomness, Work, Worked};
use saker_nvme::Status;
use saker_nvme::fabrics::dhchap::{Explanation, Failure, MESSAGE_BYTES_MAX, auth_id};
use saker_nvme::fabrics::{AuthCommand, AuthDirection};

use crate::Answer;
use crate::policy::HostPolicy;

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
    /// It completes with what [`Subsystem::authentication_worked`](crate::Subsystem::authentication_worked) says about the work once it is done.
    Work(Work),
}

/// One queue's authentication.
#[derive(Debug)]
pub(crate) struct QueueAuth {
    controller: Controller,
    /// Bytes that the command under way is to be answered with.
    room: u32,
    is_at_work: bool,
    /// That it has failed, until somebody is told.
    failure: Option<AuthFailure>,
    /// Whether the last message has made it fail.
    has_failed: bool,
}

/// Why an authentication failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthFailure {
    /// The target refuses the host.
    #[error("{0}")]
    Refused(Explanation),
    /// The host refuses the target.
    #[error("the host says that the target does not prove who it is")]
    ByHost,
}

impl QueueAuth {
    /// That of a queue of `host`, if the policy asks for it.
    pub fn of(policy: &HostPolicy, host: &str, subsystem: &str) -> Option<Self> {
        let credentials = Arc::clone(policy.credentials.as_ref()?);
        let names = Names { host: host.into(), subsystem: subsystem.into() };
        Some(Self {
            controller: Controller::new(names, credentials),
            room: 0,
            is_at_work: false,
            failure: None,
            has_failed: false,
        })
    }

    /// Secrets have changed.
    pub fn renew(&mut self, policy: &HostPolicy) {
        if let Some(credentials) = &policy.credentials {
            self.controller.renew(Arc::clone(credentials));
        }
    }

    /// A message of the host, or its wish for one.
    pub fn message(
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

    /// The work of a message is done.
    pub fn worked(&mut self, worked: Worked) -> AuthReaction {
        self.is_at_work = false;
        let outcome = self.controller.finish(worked);
        self.react(outcome)
    }

    /// That it has failed, once.
    pub const fn take_failure(&mut self) -> Option<AuthFailure> {
        self.failure.take()
    }

    fn note_failure(&mut self, outcome: &Outcome) {
        let told = |message: &[u8]| Failure::parse(message, auth_id::FAILURE1).map(|told| told.explanation);
        let failed = self.controller.failed().map(AuthFailure::Refused);
        self.failure = match outcome {
            Outcome::Ended(message) if message.is_empty() => Some(AuthFailure::ByHost),
            // It has been told of before if the host asks why.
            Outcome::Ended(_) if self.has_failed => None,
            Outcome::Ended(message) => told(message).ok().map(AuthFailure::Refused),
            _ => failed,
        };
        self.has_failed = failed.is_some();
    }

    fn react(&mut self, outcome: Outcome) -> AuthReaction {
        self.note_failure(&outcome);
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
