// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller's end of an authentication: of one queue.
//!
//! ```text
//! Idle --Negotiate--> Negotiated --receive: Challenge--> Challenged --Reply--> Proved --receive: Success1--> Idle, authenticated
//!                                                                              `--receive: Success1--> Asked --Success2--> Idle, authenticated
//! ```
//!
//! Anything else fails: the next receive tells why, and the queue ends. An authenticated queue can authenticate again; it stays
//! authenticated while it does.

use std::sync::Arc;

use saker_nvme::fabrics::dhchap::{
    Challenge, Explanation, Failure, GroupId, HashId, Negotiate, Reply, Success1, Success2, auth_id,
    auth_type, kind_of,
};

use crate::Randomness;
use crate::group::Private;
use crate::response::{Asked, Names, Role, is_right, respond};
use crate::secret::Secret;

/// What a controller knows of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Secrets of the host: any of them is right, so that a new one can be handed out before the old one is gone.
    pub host: Vec<Secret>,
    /// The controller's secret, for hosts that ask for it.
    pub controller: Option<Secret>,
    /// Hashes that may be used, best first.
    pub hashes: Vec<HashId>,
    /// Groups that may be used, best first.
    pub groups: Vec<GroupId>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Idle,
    Negotiated(u16, HashId, GroupId),
    /// Work is under way.
    Busy(u16),
    Challenged(Box<Challenged>),
    /// The host has proved who it is; the controller's response, if the host wants one.
    Proved(u16, HashId, Option<Vec<u8>>),
    Asked(u16),
    Failed(u16, Explanation),
}

/// A challenge that the host has to respond to.
struct Challenged {
    challenge: Challenge,
    private: Private,
}

impl core::fmt::Debug for Challenged {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Challenged")
    }
}

/// What a command leads to.
#[derive(Debug)]
pub enum Outcome {
    /// It completes with success; a receive with this message.
    Done(Vec<u8>),
    /// As [`Outcome::Done`], and the queue is authenticated from now on.
    Authenticated(Vec<u8>),
    /// As [`Outcome::Done`], and the connection ends: this message says why, or the host has said so.
    Ended(Vec<u8>),
    /// It completes when the work is done and [`Controller::finish`] has been told.
    Work(Work),
}

/// What takes long. It can be done anywhere.
#[derive(Debug)]
pub struct Work(Box<Task>);

/// What has come of it.
#[derive(Debug)]
pub struct Worked(Result<Reached, Explanation>);

#[derive(Debug)]
enum Task {
    Challenge(Box<Challenged>),
    Check { challenged: Box<Challenged>, reply: Reply, names: Names, credentials: Arc<Credentials> },
}

#[derive(Debug)]
enum Reached {
    Challenged(Box<Challenged>),
    Proved(u16, HashId, Option<Vec<u8>>),
}

impl Work {
    /// Does it.
    #[must_use]
    pub fn run(self) -> Worked {
        Worked(match *self.0 {
            Task::Challenge(mut challenged) => {
                challenged.challenge.public = challenged.private.public(challenged.challenge.group);
                Ok(Reached::Challenged(challenged))
            }
            Task::Check { challenged, reply, names, credentials } => {
                check(&challenged, &reply, &names, &credentials)
            }
        })
    }
}

fn check(
    challenged: &Challenged,
    reply: &Reply,
    names: &Names,
    credentials: &Credentials,
) -> Result<Reached, Explanation> {
    let Challenge { transaction, hash, group, sequence, challenge, public } = &challenged.challenge;
    // Our own value and challenge sent back to us would have us prove to ourselves who we are.
    let is_mirror = (*group != GroupId::Null && reply.public == *public)
        || reply.challenge.as_ref().is_some_and(|(_, theirs)| theirs == challenge);
    if is_mirror {
        return Err(Explanation::IncorrectPayload);
    }
    let shared = challenged.private.shared(*group, &reply.public).ok_or(Explanation::IncorrectPayload)?;
    let asked =
        Asked { hash: *hash, challenge, sequence: *sequence, transaction: *transaction, shared: &shared };
    if !is_right(Role::Host, credentials.host.iter(), names, &asked, &reply.response) {
        return Err(Explanation::Failed);
    }
    let response = match (&reply.challenge, &credentials.controller) {
        (None, _) => None,
        (Some(_), None) => return Err(Explanation::Failed),
        (Some((sequence, challenge)), Some(secret)) => {
            let asked = Asked { challenge, sequence: *sequence, ..asked };
            Some(respond(Role::Controller, secret, names, &asked).to_vec())
        }
    };
    Ok(Reached::Proved(*transaction, *hash, response))
}

/// The controller's end.
#[derive(Debug)]
pub struct Controller {
    names: Names,
    credentials: Arc<Credentials>,
    state: State,
}

impl Controller {
    /// One that has heard nothing yet.
    #[must_use]
    pub fn new(names: Names, credentials: Arc<Credentials>) -> Self {
        Self { names, credentials, state: State::Idle }
    }

    /// What the controller knows has changed: the next authentication goes by it.
    pub fn renew(&mut self, credentials: Arc<Credentials>) {
        self.credentials = credentials;
    }

    /// A message of the host's: Authentication Send.
    pub fn send(&mut self, message: &[u8]) -> Outcome {
        let state = std::mem::take(&mut self.state);
        let next = match (kind_of(message), state) {
            (_, State::Busy(transaction)) => Err((transaction, Explanation::IncorrectMessage)),
            (Some((auth_type::COMMON, auth_id::NEGOTIATE)), State::Idle) => self.negotiate(message),
            (Some((auth_type::DHCHAP, auth_id::REPLY)), State::Challenged(challenged)) => {
                return self.reply(message, challenged);
            }
            (Some((auth_type::DHCHAP, auth_id::SUCCESS2)), State::Asked(transaction)) => {
                match Success2::parse(message) {
                    Ok(success) if success.transaction == transaction => {
                        return Outcome::Authenticated(Vec::new());
                    }
                    Ok(_) => Err((transaction, Explanation::IncorrectPayload)),
                    Err(explanation) => Err((transaction, explanation)),
                }
            }
            (Some((auth_type::COMMON, auth_id::FAILURE2)), _) => return Outcome::Ended(Vec::new()),
            (_, state) => Err((transaction_of(&state), Explanation::IncorrectMessage)),
        };
        self.state = next.unwrap_or_else(|(transaction, why)| State::Failed(transaction, why));
        Outcome::Done(Vec::new())
    }

    fn negotiate(&self, message: &[u8]) -> Result<State, (u16, Explanation)> {
        let asked = Negotiate::parse(message).map_err(|why| (0, why))?;
        let failed = |why| (asked.transaction, why);
        if asked.secure_channel != 0 {
            return Err(failed(Explanation::ConcatMismatch));
        }
        let hash = self.credentials.hashes.iter().find(|hash| asked.hashes.contains(hash));
        let group = self.credentials.groups.iter().find(|group| asked.groups.contains(group));
        let hash = *hash.ok_or_else(|| failed(Explanation::HashUnusable))?;
        let group = *group.ok_or_else(|| failed(Explanation::GroupUnusable))?;
        Ok(State::Negotiated(asked.transaction, hash, group))
    }

    fn reply(&mut self, message: &[u8], challenged: Box<Challenged>) -> Outcome {
        let Challenge { transaction, hash, group, .. } = challenged.challenge;
        let reply = Reply::parse(message, hash, group);
        let why = match reply {
            Ok(reply) if reply.transaction == transaction => {
                self.state = State::Busy(transaction);
                let (names, credentials) = (self.names.clone(), Arc::clone(&self.credentials));
                return Outcome::Work(Work(Box::new(Task::Check { challenged, reply, names, credentials })));
            }
            Ok(_) => Explanation::IncorrectPayload,
            Err(why) => why,
        };
        self.state = State::Failed(transaction, why);
        Outcome::Done(Vec::new())
    }

    /// The host asks for a message: Authentication Receive.
    pub fn receive(&mut self, randomness: &Randomness) -> Outcome {
        match std::mem::take(&mut self.state) {
            State::Negotiated(transaction, hash, group) => {
                self.state = State::Busy(transaction);
                let challenged = challenge((transaction, hash, group), randomness);
                Outcome::Work(Work(Box::new(Task::Challenge(Box::new(challenged)))))
            }
            State::Proved(transaction, hash, response) => {
                let is_asked = response.is_some();
                let message = Success1 { transaction, hash, response }.encode();
                if is_asked {
                    self.state = State::Asked(transaction);
                    return Outcome::Done(message);
                }
                Outcome::Authenticated(message)
            }
            State::Failed(transaction, explanation) => Outcome::Ended(failure(transaction, explanation)),
            state => Outcome::Ended(failure(transaction_of(&state), Explanation::IncorrectMessage)),
        }
    }

    /// Why the authentication has failed, if it has, whether or not the host asks.
    #[must_use]
    pub const fn failed(&self) -> Option<Explanation> {
        match self.state {
            State::Failed(_, why) => Some(why),
            _ => None,
        }
    }

    /// The work of [`Outcome::Work`] is done: the command completes.
    pub fn finish(&mut self, worked: Worked) -> Outcome {
        let State::Busy(transaction) = self.state else {
            // It has failed in the meantime, because of another message.
            return Outcome::Done(Vec::new());
        };
        let (state, message) = match worked.0 {
            Ok(Reached::Challenged(challenged)) => {
                let message = challenged.challenge.encode();
                (State::Challenged(challenged), message)
            }
            Ok(Reached::Proved(transaction, hash, response)) => {
                (State::Proved(transaction, hash, response), Vec::new())
            }
            Err(why) => (State::Failed(transaction, why), Vec::new()),
        };
        self.state = state;
        Outcome::Done(message)
    }
}

fn challenge((transaction, hash, group): (u16, HashId, GroupId), randomness: &Randomness) -> Challenged {
    let bytes = randomness.challenge.iter().copied().take(hash.bytes()).collect();
    let sequence = randomness.sequence();
    let challenge = Challenge { transaction, hash, group, sequence, challenge: bytes, public: Vec::new() };
    Challenged { challenge, private: Private::new(&randomness.private) }
}

fn failure(transaction: u16, explanation: Explanation) -> Vec<u8> {
    Failure { transaction, explanation }.encode(auth_id::FAILURE1)
}

fn transaction_of(state: &State) -> u16 {
    match state {
        State::Idle => 0,
        State::Negotiated(transaction, ..)
        | State::Busy(transaction)
        | State::Proved(transaction, ..)
        | State::Asked(transaction)
        | State::Failed(transaction, _) => *transaction,
        State::Challenged(challenged) => challenged.challenge.transaction,
    }
}
