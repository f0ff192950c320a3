// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of connections. The device has one queue for all hosts, so it does not know when a host has gone: what its
//! iterators hold would stay held, and a full device writes nothing that they could time out by.

use std::collections::BTreeMap;

use saker_nvme::vendor_specific::{IteratorCommand, opcode};
use saker_nvme::{Sqe, Status};
use saker_target::ConnectionId;

use super::{Engine, Flight, IoCommand, Purpose};

/// An open iterator: its namespace and its number.
type Iterator = (u32, u32);

/// Which iterators each connection has opened.
#[derive(Debug, Default)]
pub(super) struct Iterators(BTreeMap<ConnectionId, Vec<Iterator>>);

impl Iterators {
    /// A command is on its way: one that it ends is not looked after any more.
    pub fn submitted(&mut self, id: ConnectionId, sqe: &Sqe) {
        if sqe.opcode == opcode::ITERATOR_CLOSE
            && let Ok(IteratorCommand::Close { iterator }) = IteratorCommand::decode(sqe)
            && let Some(open) = self.0.get_mut(&id)
        {
            open.retain(|known| *known != (sqe.nsid.get(), iterator));
        }
    }

    fn opened(&mut self, id: ConnectionId, iterator: Iterator) {
        self.0.entry(id).or_default().push(iterator);
    }

    fn take(&mut self, id: ConnectionId) -> Vec<Iterator> {
        self.0.remove(&id).unwrap_or_default()
    }
}

impl Engine {
    /// A command has ended: if it opened an iterator, its connection has that, or nobody if it is gone by now.
    pub(super) fn note_iterator(&mut self, flight: &Flight, status: Status, result: u64) {
        let (code, nsid, _) = flight.entry;
        if code != opcode::ITERATOR_OPEN || !status.is_success() {
            return;
        }
        let iterator = (nsid, result as u32);
        if self.peers.contains_key(&flight.connection) {
            self.iterators.opened(flight.connection, iterator);
        } else {
            self.end_iterator(flight.connection, iterator);
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
