// SPDX-License-Identifier: Apache-2.0 OR MIT
//! I/O commands become operations of the store, and their outcomes completions.

use super::Served;
use crate::main_tree::MainTree;
use saker_engine::KvError;
use saker_host::Driver;
use saker_host::host_kv::{Answer, Op, Outcome, Ticket, Work};
use saker_link::{gather, prp_pieces, scatter};
use saker_nvme::group::is_group;
use saker_nvme::kv::{StoreOptions, opcode};
use saker_nvme::kv_list::ListWriter;
use saker_nvme::vendor_specific::is_iterator;
use saker_nvme::{Key, KvCommand, NSID_ALL, Sqe, Status};
use std::collections::BTreeMap;

/// Commands that are carried out at once: as many operations of the store.
const FLIGHTS_MAX: usize = 1024;
/// Keys that List asks the store for at once.
const LIST_KEYS: u32 = 128;

/// Pieces of the host's memory.
pub(super) type Pieces = Vec<(u64, u32)>;

/// What a command does with the outcome.
#[derive(Debug)]
pub(super) enum Then {
    /// Nothing but tell it.
    Tell,
    /// A delete: whether there was anything need not be told.
    Deleted,
    /// The value goes to the host, as much as there is room for.
    Value(Pieces),
    /// A Store that depends on whether the pair is there: the put that follows.
    Check { key: Key, value: Vec<u8>, must_exist: bool },
    /// Keys go to the host.
    Keys { pieces: Pieces, bytes: u32 },
    /// A view for an iterator.
    Opened(super::wanted::Wanted),
    /// Pairs of an iterator.
    Pairs(super::ranges::Asked),
    /// Nobody waits.
    Nobody,
}

/// A command on its way.
#[derive(Debug)]
pub(super) struct Flight {
    pub queue: usize,
    pub sqe: Sqe,
    pub then: Then,
}

/// All commands on their way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    by_ticket: BTreeMap<Ticket, Flight>,
    ended: Vec<(Flight, Outcome)>,
    /// What a group waits for.
    pub awaited: BTreeMap<Ticket, Option<Outcome>>,
    /// One whose outcome decides what it writes is alone.
    is_alone: bool,
}

impl Flights {
    pub fn is_empty(&self) -> bool {
        self.by_ticket.is_empty() && self.ended.is_empty()
    }

    pub fn ended(&mut self, ticket: Ticket, outcome: Outcome) {
        if let Some(awaited) = self.awaited.get_mut(&ticket) {
            *awaited = Some(outcome);
        } else if let Some(flight) = self.by_ticket.remove(&ticket) {
            self.ended.push((flight, outcome));
        }
    }

    fn has_room(&self) -> bool {
        self.by_ticket.len() < FLIGHTS_MAX && !self.is_alone
    }
}

/// What a failure is to the host.
pub(super) fn status_of(error: KvError) -> Status {
    match error {
        KvError::CapacityExceeded => Status::CAPACITY_EXCEEDED,
        KvError::NotFound => Status::KEY_DOES_NOT_EXIST,
        KvError::Exists => Status::KEY_EXISTS,
        KvError::KeySize => Status::INVALID_KEY_SIZE,
        KvError::ValueSize => Status::INVALID_VALUE_SIZE,
        // The device below takes no writes any more.
        KvError::Unrecovered(why) if why.is_of_host() => Status::INTERNAL_ERROR,
        KvError::Unrecovered(_) | KvError::Corrupt => Status::UNRECOVERED_ERROR,
        KvError::Transfer => Status::DATA_TRANSFER_ERROR,
        KvError::Unsupported(_) => Status::INVALID_OPCODE,
    }
}

impl<T: Driver, M: MainTree> Served<T, M> {
    pub(super) fn fetch_all(&mut self) {
        for n in 0..self.front.queues() {
            while (n == 0 || self.flights.has_room())
                && let Some(sqe) = self.front.fetch(n)
            {
                if n == 0 { self.admin(&sqe) } else { self.io(n, &sqe) }
            }
        }
    }

    fn io(&mut self, queue: usize, sqe: &Sqe) {
        let is_flush_of_all = sqe.opcode == opcode::FLUSH && sqe.nsid.get() == NSID_ALL;
        let begun = match sqe.nsid.get() == self.made.pairs || is_flush_of_all {
            false => Err(Status::INVALID_NAMESPACE_OR_FORMAT),
            true if is_iterator(sqe.opcode) => self.begin_range(queue, sqe),
            true if is_group(sqe.opcode) => self.begin_group(queue, sqe),
            true => self.begin(queue, sqe),
        };
        if let Err(status) = begun {
            self.front.complete(queue, sqe, status, 0);
        }
    }

    fn begin(&mut self, queue: usize, sqe: &Sqe) -> Result<(), Status> {
        let pieces = |bytes| prp_pieces(sqe, bytes, self.front.space());
        let (op, then) = match KvCommand::decode(sqe)? {
            KvCommand::Store { key, value_bytes, options } => {
                let value = match value_bytes {
                    0 => Vec::new(),
                    bytes => gather(&pieces(bytes)?, self.front.space())?,
                };
                match must_exist(options) {
                    None => (Op::Put(key.as_bytes().to_vec(), value), Then::Tell),
                    Some(must_exist) => {
                        // Alone, so that nothing is written between the question and the put.
                        self.settle();
                        self.flights.is_alone = true;
                        (Op::Exists(key.as_bytes().to_vec()), Then::Check { key, value, must_exist })
                    }
                }
            }
            KvCommand::Retrieve { key, buffer_bytes, .. } => {
                let room = if buffer_bytes > 0 { pieces(buffer_bytes)? } else { Vec::new() };
                (Op::Get(key.as_bytes().to_vec()), Then::Value(room))
            }
            KvCommand::Delete { key } => (Op::Delete(key.as_bytes().to_vec()), Then::Deleted),
            KvCommand::Exist { key } => (Op::Exists(key.as_bytes().to_vec()), Then::Tell),
            KvCommand::List { start, buffer_bytes: bytes } => {
                let from = start.map_or(Vec::new(), |key| key.as_bytes().to_vec());
                let then = Then::Keys { pieces: pieces(bytes)?, bytes };
                (Op::Scan { from, backwards: false, entries: LIST_KEYS, snapshot: None }, then)
            }
            KvCommand::Flush => (Op::Flush, Then::Tell),
        };
        self.submit(Flight { queue, sqe: *sqe, then }, op);
        Ok(())
    }

    pub(super) fn submit(&mut self, flight: Flight, op: Op) {
        match self.store.submit(op, Work::Free) {
            Ok(outcome) => self.flights.ended.push((flight, outcome)),
            Err(ticket) => _ = self.flights.by_ticket.insert(ticket, flight),
        }
    }

    /// Completes what has ended.
    pub(super) fn finish_ended(&mut self) {
        while let Some((flight, outcome)) = self.flights.ended.pop() {
            let Flight { queue, sqe, then } = flight;
            let told = match then {
                Then::Nobody => continue,
                Then::Tell => outcome.map(|_| 0).map_err(status_of),
                Then::Deleted => match outcome {
                    Err(KvError::NotFound) if !self.delete_tells => Ok(0),
                    outcome => outcome.map(|_| 0).map_err(status_of),
                },
                Then::Value(pieces) => self.told_value(&pieces, outcome),
                Then::Check { key, value, must_exist } => match self.checked(outcome, must_exist) {
                    Ok(()) => {
                        let flight = Flight { queue, sqe, then: Then::Tell };
                        self.submit(flight, Op::Put(key.as_bytes().to_vec(), value));
                        continue;
                    }
                    Err(status) => Err(status),
                },
                Then::Keys { pieces, bytes } => self.told_keys(&pieces, bytes, outcome),
                Then::Opened(wanted) => self.opened(queue, wanted, outcome),
                Then::Pairs(asked) => self.told_pairs(queue, asked, outcome),
            };
            let (status, result) = told.map_or_else(|status| (status, 0), |result| (Status::SUCCESS, result));
            self.front.complete(queue, &sqe, status, result);
        }
    }

    /// Whether a Store that depends on the pair goes on. It is not alone any more: the put is the next write of that key.
    fn checked(&mut self, outcome: Outcome, must_exist: bool) -> Result<(), Status> {
        self.flights.is_alone = false;
        let is_there = match outcome {
            Ok(_) => true,
            Err(KvError::NotFound) => false,
            Err(why) => return Err(status_of(why)),
        };
        match (is_there, must_exist) {
            (true, false) => Err(Status::KEY_EXISTS),
            (false, true) => Err(Status::KEY_DOES_NOT_EXIST),
            _ => Ok(()),
        }
    }

    fn told_value(&self, pieces: &Pieces, outcome: Outcome) -> Result<u64, Status> {
        match outcome.map_err(status_of)? {
            Answer::Value(value) => {
                let room: u32 = pieces.iter().map(|(_, bytes)| bytes).sum();
                let fits = value.len().min(room as usize);
                scatter(pieces, self.front.space(), value.get(..fits).unwrap_or_default())?;
                Ok(value.len() as u64)
            }
            _ => Err(Status::INTERNAL_ERROR),
        }
    }

    fn told_keys(&self, pieces: &Pieces, bytes: u32, outcome: Outcome) -> Result<u64, Status> {
        let Answer::Pairs(payload) = outcome.map_err(status_of)? else { return Err(Status::INTERNAL_ERROR) };
        let mut page = vec![0; bytes as usize];
        let mut writer = ListWriter::new(&mut page).map_err(|_| Status::INVALID_FIELD)?;
        for (key, _) in saker_nvme::group::pairs_of(&payload) {
            let key = Key::new(key).map_err(|_| Status::INTERNAL_ERROR)?;
            if writer.push(&key).is_err() {
                break;
            }
        }
        let bytes = writer.bytes();
        scatter(pieces, self.front.space(), page.get(..bytes).unwrap_or_default())?;
        Ok(0)
    }
}

fn must_exist(options: StoreOptions) -> Option<bool> {
    if options.contains(StoreOptions::MUST_EXIST) {
        Some(true)
    } else {
        options.contains(StoreOptions::MUST_NOT_EXIST).then_some(false)
    }
}
