// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The client that is there, those that wait, and who asks from outside.

use std::sync::atomic::Ordering;

use super::{Client, Engine};
use crate::probe::{Counts, Question};
use crate::session::{Session, SessionError};

impl Engine {
    /// Answers who asks from outside.
    pub(super) fn answer(&mut self) {
        for question in self.questions.take() {
            // Who does not wait any more has no use for it.
            match question {
                Question::Pulse(told) => drop(told.send(())),
                Question::Counters(told) => drop(told.send(self.device.counters())),
            }
        }
    }

    pub(super) fn look_at_socket(&mut self) -> bool {
        match &mut self.client {
            None => self.accept(),
            Some(client) if client.session.has_unsent() => {
                let sent = client.session.send_rest();
                self.leave_if_failed(sent.map(|()| false))
            }
            Some(_) => {
                let served = self.serve();
                self.leave_if_failed(served)
            }
        }
    }

    fn leave_if_failed(&mut self, done: Result<bool, SessionError>) -> bool {
        done.unwrap_or_else(|why| {
            if !matches!(why, SessionError::Closed) {
                Counts::add(&self.counts.expelled);
            }
            self.leave(&why);
            true
        })
    }

    /// Serves messages that are there, up to one that the device has to look at.
    fn serve(&mut self) -> Result<bool, SessionError> {
        let mut any = false;
        while let Some(client) = self.client.as_mut().filter(|client| !client.session.has_unsent()) {
            let Some(message) = client.session.receive()? else { break };
            Counts::add(&self.counts.requests);
            any = true;
            if self.request(message)? {
                break;
            }
        }
        Ok(any)
    }

    /// Whether commands of a client that has gone are still on their way.
    pub(super) fn is_leaving(&self) -> bool {
        self.client.is_none() && !self.device.is_disabled()
    }

    fn accept(&mut self) -> bool {
        if self.is_leaving() {
            return false;
        }
        let Ok((socket, _)) = self.listener.accept() else { return false };
        match Session::new(socket) {
            Ok(session) => {
                tracing::info!(socket = self.socket, "a client has connected");
                Counts::add(&self.counts.clients);
                self.counts.is_there.store(true, Ordering::Relaxed);
                self.client = Some(Client { session, is_greeted: false });
            }
            Err(why) => tracing::warn!(socket = self.socket, %why, "a client cannot be served"),
        }
        true
    }
}
