// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of connections. The device has one queue for all hosts, so it does not know whose an iterator is, nor when a host has gone:
//! what its iterators hold would stay held, and a full device writes nothing that they could time out by.

use std::collections::BTreeMap;

use saker_nvme::vendor_specific::{IteratorCommand, is_iterator, opcode};
use saker_nvme::{Sqe, Status};
use saker_target::ConnectionId;

use super::{Engine, Flight, IoCommand, Purpose};

/// Most of a connection in a namespace, as a queue of a device has them; as many again beside others.
const PER_CONNECTION_MAX: usize = 16;

/// An open iterator: its namespace and its number.
type Iterator = (u32, u32);

/// Iterators of a connection.
#[derive(Debug, Default)]
struct Mine {
    /// Those that it has opened. The device may have ended some.
    open: Vec<Iterator>,
    /// Namespaces in which the device is about to open one.
    opening: Vec<u32>,
}

impl Mine {
    fn has(&self, nsid: u32) -> usize {
        let opening = self.opening.iter().filter(|at| **at == nsid).count();
        opening + self.open.iter().filter(|(at, _)| *at == nsid).count()
    }
}

/// Which iterators each connection has.
#[derive(Debug, Default)]
pub(super) struct Iterators(BTreeMap<ConnectionId, Mine>);

impl Iterators {
    /// A connection has a command for an iterator. `is_open` knows which ones the device has.
    fn admit(
        &mut self,
        id: ConnectionId,
        sqe: &Sqe,
        is_open: impl Fn(&Iterator) -> bool,
    ) -> Result<(), Status> {
        // What cannot be decoded the device refuses.
        let Ok(command) = IteratorCommand::decode(sqe) else { return Ok(()) };
        let nsid = sqe.nsid.get();
        let asked = match command {
            IteratorCommand::Open { beside, .. } => beside,
            IteratorCommand::Next { iterator, .. } | IteratorCommand::Close { iterator } => Some(iterator),
        };
        let mine = self.0.entry(id).or_default();
        // Others' iterators do not exist for it.
        if asked.is_some_and(|number| !mine.open.contains(&(nsid, number))) {
            return Err(Status::KEY_DOES_NOT_EXIST);
        }
        let IteratorCommand::Open { beside, .. } = command else { return Ok(()) };
        let most = PER_CONNECTION_MAX * if beside.is_some() { 2 } else { 1 };
        if mine.has(nsid) >= most {
            mine.open.retain(is_open);
        }
        if mine.has(nsid) >= most {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        mine.opening.push(nsid);
        Ok(())
    }

    /// The device has opened one, or refused to.
    fn opened(&mut self, id: ConnectionId, nsid: u32, number: Option<u32>) {
        let mine = self.0.entry(id).or_default();
        if let Some(at) = mine.opening.iter().position(|opening| *opening == nsid) {
            mine.opening.swap_remove(at);
        }
        mine.open.extend(number.map(|number| (nsid, number)));
    }

    fn take(&mut self, id: ConnectionId) -> Vec<Iterator> {
        self.0.remove(&id).map(|mine| mine.open).unwrap_or_default()
    }
}

impl Engine {
    /// Whether a command goes to the device: one for an iterator only if that is its connection's, and one that opens another only if
    /// it has not as many as it may.
    pub(super) fn admit_iterator(&mut self, id: ConnectionId, sqe: &Sqe) -> Result<(), Status> {
        if !is_iterator(sqe.opcode) {
            return Ok(());
        }
        let Some(local) = &self.local else { return Ok(()) };
        let is_open = |(nsid, number): &Iterator| local.shared().clocked.has_iterator(*nsid, *number);
        self.iterators.admit(id, sqe, is_open)
    }

    /// A command has ended: if it opened an iterator, its connection has that, or nobody if it is gone by now.
    pub(super) fn note_iterator(&mut self, flight: &Flight, status: Status, result: u64) {
        let (code, nsid, _) = flight.entry;
        if code != opcode::ITERATOR_OPEN {
            return;
        }
        let number = status.is_success().then_some(result as u32);
        if self.peers.contains_key(&flight.connection) {
            self.iterators.opened(flight.connection, nsid, number);
        } else if let Some(number) = number {
            self.end_iterator(flight.connection, (nsid, number));
        }
    }

    /// A connection is gone, and so are its iterators.
    pub(super) fn end_iterators(&mut self, id: ConnectionId) {
        for iterator in self.iterators.take(id) {
            self.end_iterator(id, iterator);
        }
    }

    fn end_iterator(&mut self, connection: ConnectionId, (nsid, iterator): Iterator) {
        let sqe = IteratorCommand::Close { iterator }.encode(nsid);
        let command = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
        self.enqueue(Flight::of(connection, 0, Purpose::Cleanup, &sqe, self.now()), command);
    }
}
