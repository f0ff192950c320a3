// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands on their way to the device, in the order of their hosts' turns and within their limits, and back.

use std::sync::Arc;

use saker_host::SubmitError;
use saker_nvme::Status;
use saker_sim::Instant;
use saker_target::{Answer, Charge, ConnectionId, HostId, IoCommand, Window};

use super::splits::of_anothers;
use super::{Engine, Flight, Purpose, taken};
use crate::turn::Turn;

/// The cost of a command that takes long.
const LONG: u64 = 64 << 10;
/// What a device without time has at once where one host asks.
const ALONE: Window = Window { all: 1 << 20, each: u64::MAX, long: u64::MAX };
/// And where several do: what takes about as long as a turn of the sockets. What takes longer begins while the others have to think.
const CROWDED: Window = Window { all: 64 << 10, each: u64::MAX, long: LONG };
/// What a device that keeps time has of each host where several ask: enough to have its flash busy, not so much that another host's
/// command waits behind a whole queue.
const CROWDED_TIMED: Window = Window { all: u64::MAX, each: 256 << 10, long: LONG };

/// How much the device has at once.
const fn window(is_timed: bool, is_crowd: bool) -> Window {
    match (is_timed, is_crowd) {
        (true, true) => CROWDED_TIMED,
        (true, false) => Window::OPEN,
        (false, true) => CROWDED,
        (false, false) => ALONE,
    }
}

/// Bytes that a command brings or asks for.
fn bytes_of(command: &IoCommand) -> u64 {
    if command.room > 0 { command.room.into() } else { command.data.len() as u64 }
}

impl Engine {
    pub(super) fn enqueue(&mut self, flight: Flight, command: IoCommand) {
        if self.local.is_none() {
            return self.answer(flight.connection, flight.token, Answer::status(Status::INVALID_OPCODE));
        }
        let host = self.note_outstanding(&flight);
        let (of, what) = ((host, flight.connection), (flight.entry.1, bytes_of(&command)));
        self.traffic.push(of, what, (flight, command), flight.asked);
    }

    /// Whose command it is; its connection has one more that is not answered, if anybody is told.
    fn note_outstanding(&mut self, flight: &Flight) -> HostId {
        let is_own = matches!(flight.purpose, Purpose::Leave | Purpose::Cleanup);
        let peer = self.peers.get_mut(&flight.connection).filter(|_| !is_own);
        let host = peer.map_or(HostId::OWN, |peer| {
            peer.outstanding += 1;
            peer.host
        });
        if flight.purpose == Purpose::Io { host } else { HostId::OWN }
    }

    /// Commands of connections that are gone end first, for the same reason as in [`Self::closed`].
    pub(super) fn submit_waiting(&mut self) {
        if !self.leaving.is_empty() || self.traffic.waiting() == 0 {
            return;
        }
        let now = self.now();
        self.traffic.begin_round();
        while let Some((charge, (flight, mut command))) = self.traffic.next(now) {
            let mut flight = Flight { begun: if charge.was_held { now } else { flight.asked }, ..flight };
            if let Some(status) = self.judge_split(&mut flight, &mut command) {
                self.traffic.finished(charge, 0, now);
                self.count_finished(&flight, status, now);
                self.finished(flight, Answer::status(status));
                continue;
            }
            let Some(local) = &mut self.local else { return };
            match local.submit(command) {
                Ok(slot) => {
                    self.flights[usize::from(slot)] = Some((flight, charge));
                    self.in_flight += 1;
                }
                Err((SubmitError::Full, command)) => return self.traffic.put_back(charge, (flight, command)),
                Err(_) => {
                    self.traffic.finished(charge, 0, now);
                    self.finished(flight, Answer::status(Status::INTERNAL_ERROR));
                }
            }
        }
    }

    /// Whether there is nothing to do but to wait: for requests, or for what a limit lets through later.
    pub(super) const fn is_idle(&self) -> bool {
        self.in_flight == 0 && (self.traffic.waiting() == 0 || self.traffic.deadline().is_some())
    }

    /// Lets the device work and takes what it has completed.
    pub(super) fn drive(&mut self) {
        let Some(local) = &mut self.local else { return };
        if self.in_flight > 0 {
            local.queue.ring();
        }
        let mut shared = local.shared();
        // Redis clients let it work themselves: a turn between two of their commands is no pause.
        let by_redis = std::mem::take(&mut shared.has_served_redis) && !shared.clocked.is_timed();
        let has_worked = (!by_redis || self.in_flight > 0) && shared.clocked.advance();
        let goes_on = has_worked || self.catches_up && shared.clocked.is_computing();
        self.catches_up = goes_on && !by_redis && !self.was_asked && self.in_flight == 0;
        drop(shared);
        let now = self.now();
        loop {
            let Some(local) = &mut self.local else { return };
            let Some(done) = local.queue.poll(taken) else { return };
            let Ok((slot, answer)) = done else { continue };
            if let Some((flight, charge)) = self.flights[usize::from(slot)].take() {
                self.completed(flight, charge, answer, now);
            }
        }
    }

    fn completed(&mut self, flight: Flight, charge: Charge, answer: Answer, now: Instant) {
        self.in_flight -= 1;
        let is_of_anothers = flight.purpose == Purpose::Outcome;
        let answer = if is_of_anothers { of_anothers(&flight, answer) } else { answer };
        // What was not asked back was brought.
        let moved = if flight.is_read { answer.data.len() as u64 } else { u64::MAX };
        self.traffic.finished(charge, moved, now);
        self.watch.finished(&flight, answer.status, now);
        self.count_finished(&flight, answer.status, now);
        self.finished(flight, answer);
    }

    /// Other limits of hosts and namespaces hold from now on.
    pub(super) fn follow_limits(&mut self) {
        let (now, subsystem) = (self.now(), &self.subsystem);
        self.traffic.set_rates(|host| subsystem.policy_of(host).rates, subsystem.namespace_rates(), now);
        for (id, peer) in &self.peers {
            let memory_max =
                self.subsystem.host(*id).and_then(|(_, host)| subsystem.policy_of(host).memory_max);
            // A connection that is gone has nobody to tell; `Closed` follows.
            let _ = peer.replies.send(crate::connection::messages::Reply::Memory(memory_max));
        }
    }

    /// The server stops: nothing waits for a limit any more.
    pub(super) fn lift_limits(&mut self) {
        let now = self.now();
        self.traffic.set_rates(|_| Default::default(), &Default::default(), now);
    }

    /// The host of a connection, among those that ask, and its turns.
    pub(super) fn join(&mut self, id: ConnectionId) -> (HostId, Arc<Turn>) {
        let (now, subsystem) = (self.now(), &self.subsystem);
        let host = subsystem
            .host(id)
            .map_or(HostId::OWN, |(_, host)| self.traffic.join(host, subsystem.policy_of(host).rates, now));
        let known = self.peers.values().find(|peer| peer.host == host);
        (host, known.map_or_else(|| Turn::new(self.crowd.clone()), |peer| Arc::clone(&peer.turn)))
    }

    /// Whether several hosts are there: then each gets less at once, so that the others get their turns sooner.
    pub(super) fn look_at_crowd(&mut self) {
        let is_crowd = self.traffic.is_shared(self.now());
        self.crowd.set(is_crowd);
        let is_timed = self.local.as_ref().is_some_and(|local| local.shared().clocked.is_timed());
        self.traffic.set_window(window(is_timed, is_crowd));
    }

    /// Who has begun to wait for a limit.
    pub(super) fn tell_limits(&mut self) {
        for (host, limit) in self.traffic.news() {
            self.watch.limited(&host, limit);
        }
    }
}
