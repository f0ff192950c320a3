// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What both trees answer, and whose it is.

use super::flight::Flight;
use super::{Hybrid, again};
use crate::device::DeviceDone;
use crate::main_tree::MainTree;
use saker_engine::KvError;
use saker_host::host_kv::{Op, Outcome, Ticket, Work};

impl<M: MainTree> Hybrid<M> {
    pub(super) fn take_mains(&mut self, w: &mut Work<'_>) -> bool {
        let mut ended = Vec::new();
        let any = self.main.advance(again(w), &mut |ticket, outcome| ended.push((ticket, outcome)));
        let more = !ended.is_empty();
        for (ticket, outcome) in ended {
            if let Some(id) = self.by_ticket.remove(&ticket) {
                self.main_ended(id, outcome, w);
            }
        }
        // What merely moved on below brings nothing by itself.
        any && more
    }

    pub(super) fn main_ended(&mut self, id: u64, outcome: Outcome, w: &mut Work<'_>) {
        match self.flights.remove(&id) {
            Some(Flight::Write(writing)) => self.write_ended_in_main(id, writing, outcome, w),
            Some(Flight::Read(reading)) => self.read_ended_in_main(id, reading, outcome, w),
            Some(Flight::Flush(flushing)) => self.flushed(id, flushing, outcome.err()),
            Some(Flight::Scan(scanning)) => self.scanned_main(id, scanning, outcome, w),
            Some(Flight::Rollback) => self.main_flushed(outcome),
            Some(Flight::Sweep(_)) => self.main_flushed_for_sweep(&outcome),
            Some(Flight::Move(key)) => self.moved(id, key, outcome, w),
            Some(Flight::Purge(key)) => self.purged(id, key, &outcome, w),
            Some(Flight::Snapshot { .. } | Flight::View(_) | Flight::Nobody) | None => {}
        }
    }

    pub(super) fn device_ended(&mut self, done: DeviceDone, w: &mut Work<'_>) {
        match self.flights.remove(&done.owner) {
            Some(Flight::Write(writing)) => self.write_ended_in_device(done.owner, writing, &done, w),
            Some(Flight::Read(reading)) => self.read_ended_in_device(done.owner, reading, &done, w),
            Some(Flight::Flush(flushing)) => {
                let failed = (!done.status.is_success()).then_some(KvError::Transfer);
                self.flushed(done.owner, flushing, failed);
            }
            Some(Flight::Snapshot { main }) => self.snapshot_opened(done.owner, main, &done, w),
            Some(Flight::Scan(scanning)) => self.scanned_device(done.owner, scanning, &done, w),
            Some(Flight::Rollback) => self.rollback_answered(&done),
            Some(Flight::Sweep(copy)) => self.swept(done.owner, copy, &done, w),
            Some(Flight::Move(_) | Flight::Purge(_) | Flight::View(_) | Flight::Nobody) | None => {}
        }
    }

    /// Asks the main tree; `Some`: it has answered at once.
    pub(crate) fn ask_main(&mut self, id: u64, op: Op, w: &mut Work<'_>) -> Option<Outcome> {
        match self.main.submit(op, again(w)) {
            Ok(outcome) => Some(outcome),
            Err(ticket) => {
                self.by_ticket.insert(ticket, id);
                None
            }
        }
    }

    /// An operation of the main tree is that flight's.
    pub(crate) fn waits_for(&mut self, ticket: Ticket, id: u64) {
        self.by_ticket.insert(ticket, id);
    }
}
