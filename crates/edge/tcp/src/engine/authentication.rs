// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Messages of authentication.

use saker_auth::{Randomness, Worked};
use saker_initiator::random_bytes;
use saker_nvme::vendor_specific::CommandClass;
use saker_nvme_tcp::target::Command;
use saker_sim::Instant;
use saker_target::{Answer, AuthReaction, ConnectionId};

use super::Engine;
use crate::connection::messages::Reply;

/// A command of authentication under way: its type, and when it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    fctype: u8,
    at: Instant,
}

impl Engine {
    pub(super) fn authenticate(&mut self, id: ConnectionId, command: &Command) {
        let randomness = Randomness::new(&random_bytes());
        let data = (command.data.as_slice(), command.room);
        let now = self.now();
        let reaction = self.subsystem.authenticate(id, &command.sqe, data, &randomness, now);
        let begun = Begun { fctype: command.sqe.fctype(), at: now };
        self.follow_authentication((id, command.token), begun, reaction);
    }

    /// The work for an authentication is done.
    pub(super) fn worked(&mut self, id: ConnectionId, token: u16, worked: Worked) {
        let now = self.now();
        let begun = self.authenticating.remove(&id);
        let reaction = self.subsystem.authentication_worked(id, worked, now);
        if let (Some(begun), Some(reaction)) = (begun, reaction) {
            self.follow_authentication((id, token), begun, reaction);
        }
    }

    /// Counts a command of authentication, and answers it.
    fn answer_counted(&mut self, (id, token): (ConnectionId, u16), begun: Begun, answer: Answer) {
        let took = Some(self.now().since(begun.at));
        self.tally.count(CommandClass::Fabrics, begun.fctype, answer.status, took);
        self.answer(id, token, answer);
    }

    fn follow_authentication(&mut self, of: (ConnectionId, u16), begun: Begun, reaction: AuthReaction) {
        let (id, _) = of;
        if let Some(why) = self.subsystem.authentication_failure(id) {
            self.watch.unauthenticated(&self.subsystem, id, why);
        }
        match reaction {
            AuthReaction::Complete(answer) => self.answer_counted(of, begun, answer),
            AuthReaction::Admit(answer) => {
                self.answer_counted(of, begun, answer);
                if let Some(peer) = self.peers.get(&id) {
                    // A connection that is gone has nobody to tell; `Closed` follows.
                    let _ = peer.replies.send(Reply::Admitted);
                }
            }
            AuthReaction::CompleteAndClose(answer) => {
                self.answer_counted(of, begun, answer);
                self.send_answers();
                self.close(id);
            }
            AuthReaction::Work(work) => {
                self.authenticating.insert(id, begun);
                self.authenticator.submit(of, work, &self.requests);
            }
        }
    }
}
