// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts of controllers. The device has one queue for all hosts and knows a transaction by its ID alone: parts that two
//! controllers send under one ID would become one transaction. Nor does it know when a host has gone, whose transactions would take memory
//! until they time out. A command is judged when it goes to the device, which carries out those of one ID in that order.

use std::collections::BTreeMap;

use saker_nvme::group::{SplitAction, SplitCommand, SplitOutcome, TransactionId, is_split};
use saker_nvme::vendor_specific::opcode;
use saker_nvme::{Sqe, Status};
use saker_target::{Answer, ConnectionId, IoCommand};

use super::{Engine, Flight, Purpose};

/// A transaction: its namespace and its ID.
type Split = (u32, TransactionId);

/// Who has begun a transaction that is open.
#[derive(Clone, Copy, Debug)]
struct Owner {
    /// CNTLID. All its queues may go on with it.
    cntlid: u16,
    /// With this one it ends.
    connection: ConnectionId,
    /// Which of all that were begun.
    turn: u64,
}

/// A command that the device has.
#[derive(Clone, Copy, Debug)]
struct Asked {
    split: Split,
    turn: u64,
    /// It ends the transaction, whatever becomes of it.
    ends: bool,
}

/// Where a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Device,
    /// Nowhere: there is nothing to abort.
    Nowhere,
    /// The device is asked for the outcome instead: it also says what it has no transactions in.
    Outcome,
}

#[derive(Debug, Default)]
pub(super) struct Splits {
    owners: BTreeMap<Split, Owner>,
    asked: BTreeMap<(ConnectionId, u16), Asked>,
    turns: u64,
}

impl Splits {
    /// Who begins has the transaction from here on: what another controller has sent of it is forgotten, and for that one there is none.
    fn judge(&mut self, cntlid: u16, (connection, token): (ConnectionId, u16), sqe: &Sqe) -> Way {
        // What cannot be decoded the device refuses.
        let Ok(command) = SplitCommand::decode(sqe) else { return Way::Device };
        let split = (sqe.nsid.get(), command.id());
        let (begins, ends) = match command {
            SplitCommand::Part { begins, commits, .. } => (begins, commits),
            SplitCommand::Control { action: SplitAction::Outcome, .. } => return Way::Device,
            SplitCommand::Control { action, .. } => {
                (action == SplitAction::Begin, action != SplitAction::Begin)
            }
        };
        if begins {
            self.turns += 1;
            self.owners.insert(split, Owner { cntlid, connection, turn: self.turns });
        }
        match (self.owners.get(&split), command) {
            (Some(owner), _) if owner.cntlid == cntlid => {
                self.asked.insert((connection, token), Asked { split, turn: owner.turn, ends });
                Way::Device
            }
            (Some(_), SplitCommand::Control { action: SplitAction::Abort, .. }) => Way::Nowhere,
            (None, SplitCommand::Control { .. }) => Way::Device,
            _ => Way::Outcome,
        }
    }

    /// A command has ended. The transaction has ended with it if the device has refused a part.
    fn ended(&mut self, of: (ConnectionId, u16), status: Status) {
        let Some(Asked { split, turn, ends }) = self.asked.remove(&of) else { return };
        let is_its = self.owners.get(&split).is_some_and(|owner| owner.turn == turn);
        if is_its && (ends || !status.is_success()) {
            self.owners.remove(&split);
        }
    }

    fn of(&self, connection: ConnectionId) -> Vec<Split> {
        let mine = self.owners.iter().filter(|(_, owner)| owner.connection == connection);
        mine.map(|(split, _)| *split).collect()
    }

    /// Whether a connection that is gone still has a transaction, which ends now.
    fn leaves(&mut self, connection: ConnectionId, sqe: &Sqe) -> bool {
        let split = SplitCommand::decode(sqe).map(|command| (sqe.nsid.get(), command.id()));
        let is_its =
            split.is_ok_and(|split| self.owners.get(&split).is_some_and(|o| o.connection == connection));
        if let (true, Ok(split)) = (is_its, split) {
            self.owners.remove(&split);
        }
        is_its
    }
}

impl Engine {
    /// A command goes to the device, or is answered here.
    pub(super) fn judge_split(&mut self, flight: &mut Flight, command: &mut IoCommand) -> Option<Status> {
        if !is_split(flight.entry.0) {
            return None;
        }
        let connection = flight.connection;
        match flight.purpose {
            Purpose::Io => {}
            Purpose::Leave if self.splits.leaves(connection, &command.sqe) => {
                flight.purpose = Purpose::Cleanup;
                return None;
            }
            Purpose::Leave => return Some(Status::SUCCESS),
            // It was judged before, and the device had no place for it.
            Purpose::Outcome | Purpose::Cleanup | Purpose::Shutdown => return None,
        }
        let bound = self.subsystem.bound(connection)?;
        match self.splits.judge(bound.cntlid, (connection, flight.token), &command.sqe) {
            Way::Device => None,
            Way::Nowhere => Some(Status::SUCCESS),
            Way::Outcome => {
                let id = SplitCommand::decode(&command.sqe).ok()?.id();
                let ask = SplitCommand::Control { id, action: SplitAction::Outcome };
                let sqe = ask.encode(command.sqe.nsid.get()).with_cid(command.sqe.cid.get());
                *command = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
                flight.purpose = Purpose::Outcome;
                None
            }
        }
    }

    /// A command has ended.
    pub(super) fn split_ended(&mut self, flight: &Flight, status: Status) {
        if is_split(flight.entry.0) && flight.purpose == Purpose::Io {
            self.splits.ended((flight.connection, flight.token), status);
        }
    }

    /// A connection is gone, and so are the transactions that it has begun.
    pub(super) fn end_splits(&mut self, connection: ConnectionId) {
        for (nsid, id) in self.splits.of(connection) {
            let sqe = SplitCommand::Control { id, action: SplitAction::Abort }.encode(nsid);
            let command = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
            self.enqueue(Flight::of(connection, 0, Purpose::Leave, &sqe, self.now()), command);
        }
    }
}

/// The answer to a part or a commit of a transaction that its controller has not begun, or not as the last one: by its outcome.
pub(super) fn of_anothers(flight: &Flight, outcome: Answer) -> Answer {
    let is_commit = flight.entry.0 == opcode::TRANSACTION_CONTROL;
    let is_done = is_commit && outcome.result == SplitOutcome::DoneBefore as u64;
    if is_done || !outcome.status.is_success() {
        outcome
    } else {
        Answer::status(Status::NO_SUCH_TRANSACTION)
    }
}
