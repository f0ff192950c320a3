// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From closed containers to commands.

use saker_nvme::Key;

use super::super::container::Container;
use super::super::shared::Shared;
use super::super::wire::{Command, Wire};
use super::{Book, CHECKED_EVERY, Flight, Lane, Sent, State};
use crate::error::HostError;
use crate::kv_queue::SubmitError;

/// Whether to go on submitting.
type Room = bool;

impl<W: Wire> Lane<W> {
    /// Submits as much as there are slots for.
    pub fn send(&mut self, shared: &Shared) {
        if self.book.broken.is_some() {
            return;
        }
        let is_due = self.book.has_closed() && self.book.next_container.get().is_multiple_of(CHECKED_EVERY);
        if cfg!(debug_assertions) && is_due {
            self.book.assert_sound(shared.options.container_bytes);
        }
        self.book.move_on(shared);
        if !self.go_on(shared) {
            return;
        }
        while let Some(container) = self.book.closed.pop_front() {
            if !self.begin(shared, container) {
                return;
            }
            self.book.move_on(shared);
        }
    }

    /// Further commands of containers in flight.
    fn go_on(&mut self, shared: &Shared) -> Room {
        let mut n = 0;
        while n < self.book.sent.len() {
            let (id, before) = (self.book.sent[n].container.id, self.book.sent.len());
            let room = match self.book.sent[n].state {
                State::Wait => true,
                State::Singles(from) => self.singles(shared, n, from),
                State::Fetch(group, bytes) => self.fetch(shared, n, group, bytes),
            };
            if !room {
                return false;
            }
            // One that could not be sent at all is over by now.
            if self.book.sent.len() == before && self.book.sent[n].container.id == id {
                n += 1;
            }
        }
        true
    }

    /// Sends a closed container as one group, or its writes one by one.
    fn begin(&mut self, shared: &Shared, mut container: Container) -> Room {
        let (id, group) = (container.id, self.book.next_group);
        if !self.book.groups || container.len() < 2 {
            let sent = Sent { container, state: State::Singles(0), out: 0, failures: Vec::new() };
            self.book.sent.push(sent);
            return self.singles(shared, self.book.sent.len() - 1, 0);
        }
        let name = group_name(self.book.name, group);
        let (form, payload) = container.payload();
        let bytes = payload.len() as u64;
        match self.wire.submit(Command::Group { form, id: name, payload }) {
            Ok(slot) => {
                self.book.next_group += 1;
                self.book.stats.groups += 1;
                self.book.sent.push(Sent { container, state: State::Wait, out: 1, failures: Vec::new() });
                self.book.flying(slot, Flight::Group(id, group), bytes);
                true
            }
            Err(error) if self.may_wait(error) => {
                self.book.closed.push_front(container);
                false
            }
            Err(error) => {
                let count = container.len() as u16;
                let failures = (0..count).map(|n| (n, HostError::Submit(error))).collect();
                self.book.retire(shared, Sent { container, state: State::Wait, out: 0, failures });
                true
            }
        }
    }

    /// Sends the writes of container `n` from number `from` on.
    fn singles(&mut self, shared: &Shared, n: usize, from: u16) -> Room {
        let mut at = from;
        while usize::from(at) < self.book.sent[n].container.len() {
            let sent = &self.book.sent[n];
            let (key, write, id) = (sent.container.key(at), sent.container.write(at), sent.container.id);
            let bytes = write.map_or(0, <[u8]>::len) as u64;
            let command = write.map_or(Command::Delete(&key), |value| Command::Store(&key, value));
            match self.wire.submit(command) {
                Ok(slot) => {
                    self.book.sent[n].out += 1;
                    self.book.flying(slot, Flight::Single(id, at), bytes);
                }
                Err(error) if self.may_wait(error) => {
                    self.book.sent[n].state = State::Singles(at);
                    return false;
                }
                Err(error) => self.book.sent[n].failures.push((at, HostError::Submit(error))),
            }
            at += 1;
        }
        self.book.sent[n].state = State::Wait;
        self.book.retire_if_over(shared, n);
        true
    }

    /// Fetches the results of container `n`.
    fn fetch(&mut self, shared: &Shared, n: usize, group: u64, bytes: u32) -> Room {
        let name = group_name(self.book.name, group);
        match self.wire.submit(Command::Results { id: name, bytes }) {
            Ok(slot) => {
                let sent = &mut self.book.sent[n];
                (sent.state, sent.out) = (State::Wait, 1);
                let id = sent.container.id;
                self.book.flying(slot, Flight::Results(id), 0);
                true
            }
            Err(error) if self.may_wait(error) => false,
            Err(_) => {
                self.book.sent[n].state = State::Wait;
                self.book.outcome_unknown(shared, n);
                true
            }
        }
    }

    /// Whether a completion can make room for what was refused.
    fn may_wait(&self, error: SubmitError) -> bool {
        let in_flight = self.book.flights.iter().any(|flight| *flight != Flight::None);
        error == SubmitError::Full || error == SubmitError::Windows && in_flight
    }
}

impl Book {
    pub(super) fn flying(&mut self, slot: u16, flight: Flight, bytes: u64) {
        debug_assert_eq!(self.flights[usize::from(slot)], Flight::None, "a slot has one command");
        self.flights[usize::from(slot)] = flight;
        self.unrung = true;
        self.stats.commands += 1;
        self.stats.bytes += bytes;
    }

    /// A call, or a flush, has been submitted.
    pub fn calling(&mut self, slot: u16, call: Option<super::CallId>) {
        self.flying(slot, call.map_or(Flight::Flush, Flight::Call), 0);
    }

    /// Puts parked writes whose turn it is into containers, as long as there is room for them.
    fn move_on(&mut self, shared: &Shared) {
        while self.has_room(shared) {
            let Some((stripe_number, key)) = self.ready.pop_front() else { return };
            let mut stripe = shared.index.lock(stripe_number);
            let entry = stripe.find(&key).expect("a key that is to be moved on has an entry");
            let parked = entry.parked.take().expect("it waits with a write");
            let packed = self.pack(shared, stripe_number, &key, parked.write());
            entry.place = Some(packed.place);
            drop(stripe);
            *shared.parked_bytes.lock() -= parked.bytes();
            self.stats.moved += 1;
            let piece = packed.place.piece;
            let container = self.packed_into(packed);
            container.waiting.extend(parked.tickets.into_iter().map(|ticket| (piece, ticket)));
            self.close_if_full(shared);
        }
    }

    /// Closes the open container once it holds a batch.
    #[inline]
    pub fn close_if_full(&mut self, shared: &Shared) {
        if self.open.len() >= usize::from(shared.options.batch.max(1)) {
            self.close_open(shared);
        }
    }
}

impl Book {
    /// A name for a group of somebody else's; `None` where the device takes none.
    pub fn name_group(&mut self) -> Option<Key> {
        let name = self.groups.then(|| group_name(self.name, self.next_group));
        self.next_group += 1;
        name
    }

    /// The device takes no groups, whatever it says.
    pub fn has_no_groups(&mut self) {
        self.groups = false;
    }
}

/// Under what the results of a group are kept: a name that no other group of this queue has, nor one of another queue.
fn group_name(queue: u16, group: u64) -> Key {
    let mut name = [0; 10];
    name[..2].copy_from_slice(&queue.to_le_bytes());
    name[2..].copy_from_slice(&group.to_le_bytes());
    Key::new(&name).expect("a name has ten bytes")
}
