//! Messages of authentication.

use saker_auth::{Randomness, Worked};
use saker_initiator::random_bytes;
use saker_nvme_tcp::target::Command;
use saker_target::{AuthReaction, ConnectionId};

use super::Engine;
use crate::connection::messages::Reply;

impl Engine {
    pub(super) fn authenticate(&mut self, id: ConnectionId, command: &Command) {
        let randomness = Randomness::new(&random_bytes());
        let data = (command.data.as_slice(), command.room);
        let now = self.now();
        let reaction = self.subsystem.authenticate(id, &command.sqe, data, &randomness, now);
        self.follow_authentication((id, command.token), reaction);
    }

    /// The work for an authentication is done.
    pub(super) fn worked(&mut self, id: ConnectionId, token: u16, worked: Worked) {
        let now = self.now();
        if let Some(reaction) = self.subsystem.authentication_worked(id, worked, now) {
            self.follow_authentication((id, token), reaction);
        }
    }

    fn follow_authentication(&mut self, (id, token): (ConnectionId, u16), reaction: AuthReaction) {
        match reaction {
            AuthReaction::Complete(answer) => self.answer(id, token, answer),
            AuthReaction::Admit(answer) => {
                self.answer(id, token, answer);
                if let Some(peer) = self.peers.get(&id) {
                    // A connection that is gone has nobody to tell; `Closed` follows.
                    let _ = peer.replies.send(Reply::Admitted);
                }
            }
            AuthReaction::CompleteAndClose(answer) => {
                self.answer(id, token, answer);
                self.send_answers();
                self.close(id);
            }
            AuthReaction::Work(work) => self.authenticator.submit((id, token), work, &self.requests),
        }
    }
}
