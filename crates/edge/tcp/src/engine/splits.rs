// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transactions in parts of controllers. The device has one queue for all hosts and knows a transaction by its ID alone: parts that two
//! controllers send under one ID would become one transaction. Nor does it know when a host has gone, whose transactions would take memory
//! until they time out. A command is judged when it goes to the device, which carries out those of one ID in that order.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use saker_nvme::group::{SplitAction, SplitCommand, SplitOutcome, TransactionId, asks_for_outcome, is_split};
use saker_nvme::vendor_specific::opcode;
use saker_nvme::{Sqe, Status};
use saker_target::{Answer, ConnectionId, IoCommand};

use super::{Engine, Flight, Purpose};

/// Owners that are there at least before the device is asked which of their transactions it still has.
const OWNERS: usize = 1024;

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
    /// A command of it was refused before the device had it: it ends as soon as the device has been told.
    is_refused: bool,
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

#[derive(Debug)]
pub(super) struct Splits {
    owners: BTreeMap<Split, Owner>,
    asked: BTreeMap<(ConnectionId, u16), Asked>,
    turns: u64,
    /// Before there are more, those are looked for that the device has ended by itself.
    owners_max: usize,
}

impl Default for Splits {
    fn default() -> Self {
        Self { owners: BTreeMap::new(), asked: BTreeMap::new(), turns: 0, owners_max: OWNERS }
    }
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
            self.owners.insert(split, Owner { cntlid, connection, turn: self.turns, is_refused: false });
        }
        match (self.owners.get(&split), command) {
            (Some(owner), _) if owner.cntlid == cntlid && !owner.is_refused => {
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

    /// A command of a controller was refused before the device had it. If it has a transaction by that, whose connection that is, and what
    /// it is.
    fn refused(&mut self, cntlid: u16, sqe: &Sqe) -> Option<(ConnectionId, Split)> {
        let command = SplitCommand::decode(sqe).ok()?;
        let split = (sqe.nsid.get(), command.id());
        let owner = self.owners.get_mut(&split).filter(|owner| owner.cntlid == cntlid)?;
        owner.is_refused = true;
        Some((owner.connection, split))
    }

    /// Forgets owners whose transactions the device has ended by itself: by a Format, or since nobody went on with them.
    fn look(&mut self, is_open: impl Fn(&Split) -> bool) {
        if self.owners.len() < self.owners_max {
            return;
        }
        let Self { owners, asked, .. } = self;
        let on_their_way: BTreeSet<Split> = asked.values().map(|asked| asked.split).collect();
        owners.retain(|split, owner| owner.is_refused || on_their_way.contains(split) || is_open(split));
        self.owners_max = OWNERS.max(2 * self.owners.len());
    }

    fn of(&self, connection: ConnectionId) -> Vec<Split> {
        let mine = self.owners.iter().filter(|(_, owner)| owner.connection == connection);
        mine.map(|(split, _)| *split).collect()
    }

    /// Whether a connection still has a transaction that ends now: it is gone, or a command was refused.
    fn leaves(&mut self, connection: ConnectionId, is_gone: bool, sqe: &Sqe) -> bool {
        let Ok(split) = SplitCommand::decode(sqe).map(|command| (sqe.nsid.get(), command.id())) else {
            return false;
        };
        let ends = |owner: &Owner| owner.connection == connection && (is_gone || owner.is_refused);
        let is_its = self.owners.get(&split).is_some_and(ends);
        if is_its {
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
            Purpose::Leave => {
                let is_gone = !self.peers.contains_key(&connection);
                if !self.splits.leaves(connection, is_gone, &command.sqe) {
                    return Some(Status::SUCCESS);
                }
                flight.purpose = Purpose::Cleanup;
                return None;
            }
            // It was judged before, and the device had no place for it.
            Purpose::Outcome | Purpose::Cleanup | Purpose::Shutdown => return None,
        }
        let bound = self.subsystem.bound(connection)?;
        if let Some(local) = &self.local {
            self.splits.look(|(nsid, id)| local.shared().clocked.has_transaction(*nsid, *id));
        }
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

    /// A command was refused before the device had it. If it is one of a transaction that its controller has, that ends: without it the
    /// others are not what the host wants carried out.
    pub(super) fn split_refused(&mut self, connection: ConnectionId, sqe: &Sqe) {
        if !is_split(sqe.opcode) || asks_for_outcome(sqe) {
            return;
        }
        let Some(bound) = self.subsystem.bound(connection).filter(|bound| !self.subsystem.is_barred(*bound))
        else {
            return;
        };
        // What is said of the data has no part in which transaction it is.
        if let Some((owner, split)) = self.splits.refused(bound.cntlid, &sqe.with_prp(0, 0)) {
            self.end_split(owner, split);
        }
    }

    /// A connection is gone, and so are the transactions that it has begun.
    pub(super) fn end_splits(&mut self, connection: ConnectionId) {
        self.splits.asked.retain(|(asker, _), _| *asker != connection);
        for split in self.splits.of(connection) {
            self.end_split(connection, split);
        }
    }

    fn end_split(&mut self, connection: ConnectionId, (nsid, id): Split) {
        let sqe = SplitCommand::Control { id, action: SplitAction::Abort }.encode(nsid);
        let command = IoCommand { sqe, data: Vec::new(), room: 0, is_value: false };
        self.enqueue(Flight::of(connection, 0, Purpose::Leave, &sqe, self.now()), command);
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
