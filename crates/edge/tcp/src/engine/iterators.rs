// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Iterators of connections. The device has one queue for all hosts, so it does not know whose an iterator is, nor when a host has gone:
//! what its iterators hold would stay held, and a full device writes nothing that they could time out by.

use std::collections::BTreeMap;

use saker_nvme::vendor_specific::{IteratorCommand, is_iterator, opcode};
use saker_nvme::{Sqe, Status};
use saker_target::{ConnectionId, HostId, IoCommand};

use super::{Engine, Flight, Purpose};
use crate::limits::{ITERATORS_COMMON, ITERATORS_PER_CONNECTION, ITERATORS_PER_HOST};

/// An open iterator: its namespace and its number.
type Iterator = (u32, u32);

/// Iterators of a connection.
#[derive(Debug)]
struct Mine {
    host: HostId,
    /// Those that it has opened. The device may have ended some.
    open: Vec<Iterator>,
    /// Those that it has asked to end.
    ending: Vec<Iterator>,
    /// Namespaces in which the device is about to open one.
    opening: Vec<u32>,
}

impl Mine {
    const fn of(host: HostId) -> Self {
        Self { host, open: Vec::new(), ending: Vec::new(), opening: Vec::new() }
    }

    fn has(&self, nsid: u32) -> usize {
        let opening = self.opening.iter().filter(|at| **at == nsid).count();
        opening + self.open.iter().filter(|(at, _)| *at == nsid).count()
    }
}

/// Which iterators each connection has.
#[derive(Debug, Default)]
pub(super) struct Iterators(BTreeMap<ConnectionId, Mine>);

impl Iterators {
    /// A connection of a host has a command for an iterator. `is_open` knows which ones the device has.
    fn admit(
        &mut self,
        (host, id): (HostId, ConnectionId),
        sqe: &Sqe,
        is_open: impl Fn(&Iterator) -> bool,
    ) -> Result<(), Status> {
        // What cannot be decoded the device refuses.
        let Ok(command) = IteratorCommand::decode(sqe) else { return Ok(()) };
        let nsid = sqe.nsid.get();
        let asked = match command {
            IteratorCommand::Open { beside, .. } => beside,
            IteratorCommand::Next { iterator, .. }
            | IteratorCommand::Piece { iterator, .. }
            | IteratorCommand::Close { iterator } => Some(iterator),
        };
        let mine = self.0.entry(id).or_insert_with(|| Mine::of(host));
        // Others' iterators do not exist for it.
        if asked.is_some_and(|number| !mine.open.contains(&(nsid, number))) {
            return Err(Status::KEY_DOES_NOT_EXIST);
        }
        match command {
            IteratorCommand::Open { beside, .. } => {
                self.open(id, nsid, if beside.is_some() { 2 } else { 1 }, is_open)
            }
            IteratorCommand::Close { iterator } => {
                mine.open.retain(|open| *open != (nsid, iterator));
                mine.ending.push((nsid, iterator));
                Ok(())
            }
            IteratorCommand::Next { .. } | IteratorCommand::Piece { .. } => Ok(()),
        }
    }

    /// Notes that the device is about to open one. Those beside others have `times` as many places.
    fn open(
        &mut self,
        id: ConnectionId,
        nsid: u32,
        times: usize,
        is_open: impl Fn(&Iterator) -> bool,
    ) -> Result<(), Status> {
        if !self.has_place(id, nsid, times) {
            // The device has ended some by itself, perhaps.
            let host = self.0.get(&id).map(|mine| mine.host);
            let of_host = self.0.values_mut().filter(|mine| Some(mine.host) == host);
            of_host.for_each(|mine| mine.open.retain(&is_open));
        }
        if !self.has_place(id, nsid, times) {
            return Err(Status::CAPACITY_EXCEEDED);
        }
        if let Some(mine) = self.0.get_mut(&id) {
            mine.opening.push(nsid);
        }
        Ok(())
    }

    fn has_place(&self, id: ConnectionId, nsid: u32, times: usize) -> bool {
        let Some(mine) = self.0.get(&id) else { return false };
        mine.has(nsid) < times * ITERATORS_PER_CONNECTION
            && self.of_host(mine.host, nsid) < times * self.share(mine.host, nsid)
    }

    fn of_host(&self, host: HostId, nsid: u32) -> usize {
        self.0.values().filter(|mine| mine.host == host).map(|mine| mine.has(nsid)).sum()
    }

    /// What a host may have.
    fn share(&self, host: HostId, nsid: u32) -> usize {
        let mut others: BTreeMap<HostId, usize> = BTreeMap::new();
        for mine in self.0.values().filter(|mine| mine.host != host) {
            *others.entry(mine.host).or_default() += mine.has(nsid);
        }
        let taken: usize = others.values().map(|has| has.saturating_sub(ITERATORS_PER_HOST)).sum();
        ITERATORS_PER_HOST + ITERATORS_COMMON.saturating_sub(taken) / 2
    }

    /// The device has opened one, or refused to.
    fn opened(&mut self, id: ConnectionId, nsid: u32, number: Option<u32>) {
        let Some(mine) = self.0.get_mut(&id) else { return };
        if let Some(at) = mine.opening.iter().position(|opening| *opening == nsid) {
            mine.opening.swap_remove(at);
        }
        mine.open.extend(number.map(|number| (nsid, number)));
    }

    /// The device has ended the one that was to be ended first: it carries out what a connection asks of iterators in order.
    /// If it could not, that one goes on.
    fn ended(&mut self, id: ConnectionId, nsid: u32, status: Status) {
        let Some(mine) = self.0.get_mut(&id) else { return };
        if let Some(at) = mine.ending.iter().position(|(at, _)| *at == nsid) {
            let iterator = mine.ending.remove(at);
            let is_gone = status.is_success() || status.is(Status::KEY_DOES_NOT_EXIST);
            mine.open.extend((!is_gone).then_some(iterator));
        }
    }

    /// What a connection leaves behind: also what was to be ended, since that may not have come to the device.
    fn take(&mut self, id: ConnectionId) -> Vec<Iterator> {
        let Some(mine) = self.0.remove(&id) else { return Vec::new() };
        [mine.open, mine.ending].concat()
    }
}

impl Engine {
    /// Whether a command goes to the device: one for an iterator only if that is its connection's, and one that opens another only if
    /// it has not as many as it may.
    pub(super) fn admit_iterator(&mut self, id: ConnectionId, sqe: &Sqe) -> Result<(), Status> {
        if !is_iterator(sqe.opcode) {
            return Ok(());
        }
        let (Some(local), Some(peer)) = (&self.local, self.peers.get(&id)) else { return Ok(()) };
        let is_open = |(nsid, number): &Iterator| local.shared().clocked.has_iterator(*nsid, *number);
        self.iterators.admit((peer.host, id), sqe, is_open)
    }

    /// A command has ended: if it opened an iterator, its connection has that, or nobody if it is gone by now.
    pub(super) fn note_iterator(&mut self, flight: &Flight, status: Status, result: u64) {
        let (code, nsid, _) = flight.entry;
        if code == opcode::ITERATOR_CLOSE && flight.purpose == Purpose::Io {
            return self.iterators.ended(flight.connection, nsid, status);
        }
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
