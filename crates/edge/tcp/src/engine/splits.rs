// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts of connections. The device has one queue for all hosts: it does not know when a host has gone, whose transactions
//! would take memory until they time out.

use std::collections::{BTreeMap, BTreeSet};

use saker_nvme::Sqe;
use saker_nvme::group::{SplitAction, SplitCommand, TransactionId, is_split};
use saker_target::{ConnectionId, IoCommand};

use super::{Engine, Flight, Purpose};

/// An open transaction: its namespace and its ID.
type Split = (u32, TransactionId);

/// The transactions that each connection has begun.
#[derive(Debug, Default)]
pub(super) struct Splits {
    begun: BTreeMap<ConnectionId, BTreeSet<Split>>,
    /// By connection and token, commands that end one.
    ending: BTreeMap<(ConnectionId, u16), Split>,
}

impl Splits {
    fn note(&mut self, id: ConnectionId, token: u16, sqe: &Sqe) {
        // What cannot be decoded the device refuses.
        let Ok(command) = SplitCommand::decode(sqe) else { return };
        let split = (sqe.nsid.get(), command.id());
        let (begins, ends) = match command {
            SplitCommand::Part { begins, commits, .. } => (begins, commits),
            SplitCommand::Control { action, .. } => {
                (action == SplitAction::Begin, matches!(action, SplitAction::Commit | SplitAction::Abort))
            }
        };
        if begins {
            self.begun.entry(id).or_default().insert(split);
        }
        if ends {
            self.ending.insert((id, token), split);
        }
    }

    /// A command has ended, and the transaction with it, if it was one that ends it.
    fn ended(&mut self, id: ConnectionId, token: u16) {
        let Some(split) = self.ending.remove(&(id, token)) else { return };
        if let Some(begun) = self.begun.get_mut(&id) {
            begun.remove(&split);
        }
    }

    /// What a connection leaves behind.
    fn take(&mut self, id: ConnectionId) -> BTreeSet<Split> {
        self.ending.retain(|(of, _), _| *of != id);
        self.begun.remove(&id).unwrap_or_default()
    }
}

impl Engine {
    /// A command goes to the device.
    pub(super) fn note_split(&mut self, id: ConnectionId, token: u16, sqe: &Sqe) {
        if is_split(sqe.opcode) {
            self.splits.note(id, token, sqe);
        }
    }

    /// A command has ended.
    pub(super) fn split_ended(&mut self, flight: &Flight) {
        if is_split(flight.entry.0) {
            self.splits.ended(flight.connection, flight.token);
        }
    }

    /// A connection is gone, and so are the transactions that it has begun.
    pub(super) fn end_splits(&mut self, connection: ConnectionId) {
        for (nsid, id) in self.splits.take(connection) {
            let sqe = SplitCommand::Control { id, action: SplitAction::Abort }.encode(nsid);
            let command = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
            self.enqueue(Flight::of(connection, 0, Purpose::Cleanup, &sqe, self.now()), command);
        }
    }
}
