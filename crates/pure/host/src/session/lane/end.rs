// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From completions to writes that have come to their end.

use std::num::NonZeroU32;

use saker_nvme::Status;
use saker_nvme::group::Op;
use saker_nvme::group::results::ResultsReader;

use super::super::shared::Shared;
use super::super::wire::Answer;
use super::{Book, Flight, Sent, State};
use crate::error::{HostError, KvError, check};

/// Stripes whose lines are asked for ahead of the one that is locked: other writes have used the cache since.
const AHEAD: usize = 8;

impl Book {
    /// A command has completed.
    pub(super) fn completed(&mut self, shared: &Shared, answer: &Answer<'_>) {
        self.stats.completions += 1;
        let flight = std::mem::replace(&mut self.flights[usize::from(answer.slot)], Flight::None);
        match flight {
            Flight::None => unreachable!("the wire answers commands in flight only"),
            Flight::Group(id, group) => self.group_ended(shared, id, group, answer),
            Flight::Results(id) => self.results_came(shared, id, answer),
            Flight::Single(id, piece) => self.single_ended(shared, id, piece, answer.status),
            Flight::Call(call) => self.calls.answered(call, answer),
            Flight::Flush => shared.flusher.lock().ended(check(answer.status)),
        }
    }

    fn position(&self, id: NonZeroU32) -> usize {
        let found = self.sent.iter().position(|sent| sent.container.id == id);
        found.expect("a container stays until its last command has completed")
    }

    #[inline]
    fn group_ended(&mut self, shared: &Shared, id: NonZeroU32, group: u64, answer: &Answer<'_>) {
        let n = self.position(id);
        self.sent[n].out -= 1;
        if answer.status.is_success() && answer.dw0 == 0 {
            return self.retire_if_over(shared, n);
        }
        if answer.status.is_success() {
            self.sent[n].state = State::Fetch(group, answer.dw1);
        } else if answer.status.is(Status::CAPACITY_EXCEEDED) {
            // Alone, some of them may still find room.
            self.sent[n].state = State::Singles(0);
        } else if answer.status.is(Status::INVALID_OPCODE) {
            // The device takes groups, but not this namespace's engine: it is asked no more.
            self.groups = false;
            self.sent[n].state = State::Singles(0);
        } else {
            self.all_failed(shared, n, &HostError::from(answer.status));
        }
    }

    fn results_came(&mut self, shared: &Shared, id: NonZeroU32, answer: &Answer<'_>) {
        let n = self.position(id);
        self.sent[n].out -= 1;
        let count = self.sent[n].container.len();
        let results = ResultsReader::new(answer.data).filter(|_| answer.status.is_success());
        let statuses: Vec<Status> = results.into_iter().flatten().map(|result| result.status).collect();
        if statuses.len() != count {
            return self.outcome_unknown(shared, n);
        }
        for (piece, status) in statuses.into_iter().enumerate() {
            self.note(n, piece as u16, status);
        }
        self.retire_if_over(shared, n);
    }

    fn single_ended(&mut self, shared: &Shared, id: NonZeroU32, piece: u16, status: Status) {
        let n = self.position(id);
        self.sent[n].out -= 1;
        self.note(n, piece, status);
        self.retire_if_over(shared, n);
    }

    /// Notes how write `piece` ended. Deleting what is not there is no failure.
    #[inline]
    fn note(&mut self, n: usize, piece: u16, status: Status) {
        let sent = &mut self.sent[n];
        if status.is_success() {
            return;
        }
        let is_delete = sent.container.pieces()[usize::from(piece)].op == Op::Delete;
        if !is_delete || !status.is(Status::KEY_DOES_NOT_EXIST) {
            sent.failures.push((piece, status.into()));
        }
    }

    /// The group was carried out, but which of its writes failed cannot be learnt.
    pub(super) fn outcome_unknown(&mut self, shared: &Shared, n: usize) {
        self.all_failed(shared, n, &KvError::OutcomeUnknown.into());
    }

    fn all_failed(&mut self, shared: &Shared, n: usize, error: &HostError) {
        let sent = &mut self.sent[n];
        sent.state = State::Wait;
        sent.failures = (0..sent.container.len() as u16).map(|piece| (piece, error.clone())).collect();
        self.retire_if_over(shared, n);
    }

    /// Container `n` has nothing in flight and nothing to send.
    #[inline]
    pub(super) fn retire_if_over(&mut self, shared: &Shared, n: usize) {
        let sent = &self.sent[n];
        if sent.out == 0 && sent.state == State::Wait {
            let sent = self.sent.swap_remove(n);
            self.retire(shared, sent);
        }
    }

    /// The writes of a container have come to their end: readers see the device's value again, or what is parked.
    pub(super) fn retire(&mut self, shared: &Shared, sent: Sent) {
        debug_assert!(
            sent.out == 0 && sent.state == State::Wait,
            "nothing of it is in flight, or to be sent"
        );
        let Sent { mut container, failures, .. } = sent;
        let id = container.id;
        let pieces = container.pieces();
        pieces.iter().take(AHEAD).for_each(|piece| shared.index.touch(piece.stripe));
        for (n, piece) in pieces.iter().enumerate() {
            if let Some(later) = pieces.get(n + AHEAD) {
                shared.index.touch(later.stripe);
            }
            let place = self.place(id, n as u16);
            let mut stripe = shared.index.lock(piece.stripe);
            if failures.iter().any(|(failed, _)| usize::from(*failed) == n) {
                shared.forget(&container.key(n as u16));
            }
            let waiting = stripe.retire(place);
            drop(stripe);
            if let Some(key) = waiting {
                self.ready.push_back((piece.stripe, key));
            }
        }
        self.stats.retired += container.len() as u64;
        for (piece, error) in failures {
            let key = container.key(piece);
            let of_it = container.waiting.iter().filter(|(n, _)| *n == piece).map(|(_, ticket)| ticket);
            container.owner.iter().chain(of_it).for_each(|ticket| ticket.fail(key, error.clone()));
        }
        // The last thing: who waits may go on now.
        let waiting = std::mem::take(&mut container.waiting);
        let tickets = container.owner.take().into_iter().chain(waiting.into_iter().map(|(_, ticket)| ticket));
        tickets.for_each(|ticket| ticket.close(&mut self.to_wake));
        if container.capacity() == shared.options.container_bytes {
            self.spare.push(container);
        } else {
            self.long_bytes -= container.capacity();
        }
    }

    /// The device is broken, or gone: no write that is on its way comes to a good end.
    pub fn break_down(&mut self, shared: &Shared, error: &HostError) {
        self.broken = Some(error.clone());
        self.calls.break_down(error);
        if self.flights.contains(&Flight::Flush) {
            shared.flusher.lock().ended(Err(error.clone()));
        }
        self.flights.fill(Flight::None);
        self.close_open(shared);
        let closed = std::mem::take(&mut self.closed).into_iter();
        let in_flight = std::mem::take(&mut self.sent).into_iter().map(|sent| sent.container);
        for container in in_flight.chain(closed).collect::<Vec<_>>() {
            let failures = (0..container.len() as u16).map(|piece| (piece, error.clone())).collect();
            self.retire(shared, Sent { container, state: State::Wait, out: 0, failures });
        }
        self.give_up_parked(shared, error);
    }

    /// Parked writes that this lane was to move on fail, too.
    fn give_up_parked(&mut self, shared: &Shared, error: &HostError) {
        while let Some((stripe_number, key)) = self.ready.pop_front() {
            let mut stripe = shared.index.lock(stripe_number);
            shared.forget(&key);
            let parked = stripe.give_up(&key);
            drop(stripe);
            *shared.parked_bytes.lock() -= parked.bytes();
            for ticket in parked.tickets {
                ticket.fail(key, error.clone());
                ticket.close(&mut self.to_wake);
            }
        }
    }
}
