// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The store: operations come in, both trees answer, operations end. As [`HostKv`] it never waits.

use crate::device::{DeviceDone, DeviceLsm};
use crate::flight::{Flight, Flushing};
use crate::lines::Lines;
use crate::metadata::Metadata;
use crate::options::Options;
use crate::record::Stamps;
use crate::rollback::Returning;
use crate::route::Detecting;
use crate::stats::{Costs, Stats};
use crate::views::Views;
use saker_engine::KvError;
use saker_engine::write_gate::Stalls;
use saker_host::host_kv::{Answer, HostKv, Op, Outcome, Ticket, Work};
use saker_link::Traffic;
use saker_nvme::{Key, Status};
use saker_sim::{Instant, Meter as _, Unit, earliest};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One store over two trees.
pub struct Hybrid {
    pub(crate) main: HostKv,
    pub(crate) device: DeviceLsm,
    pub(crate) options: Options,
    pub(crate) metadata: Metadata,
    /// Keys whose record in the main tree is a tombstone.
    pub(crate) tombs: BTreeSet<Key>,
    /// Whether those are all: after a cut there may be others, of copies that are no more.
    pub(crate) all_tombs_known: bool,
    pub(crate) stamps: Stamps,
    pub(crate) flights: BTreeMap<u64, Flight>,
    next_flight: u64,
    /// Whose an operation of the main tree is.
    by_ticket: BTreeMap<Ticket, u64>,
    pub(crate) lines: Lines,
    /// Those that are to be tried again.
    pub(crate) held: VecDeque<u64>,
    ended: VecDeque<(Ticket, Outcome)>,
    pub(crate) views: Views,
    pub(crate) detecting: Detecting,
    pub(crate) returning: Returning,
    pub(crate) stats: Stats,
    pub(crate) costs: Costs,
    pub(crate) now: Option<Instant>,
    /// Writes of the device's tree on their way.
    pub(crate) device_writes: u32,
}

/// The same work for another call.
pub(crate) fn again<'a>(work: &'a mut Work<'_>) -> Work<'a> {
    match work {
        Work::Free => Work::Free,
        Work::Counted(meter) => Work::Counted(meter),
    }
}

/// The host did that much.
pub(crate) fn charge(work: &mut Work<'_>, unit: Unit, n: u64) {
    if let Work::Counted(meter) = work {
        meter.work(unit, n);
    }
}

impl Hybrid {
    /// A new store over two empty trees.
    pub fn new(main: HostKv, device: DeviceLsm, options: Options) -> Self {
        Self {
            main,
            device,
            options,
            metadata: Metadata::default(),
            tombs: BTreeSet::new(),
            all_tombs_known: true,
            stamps: Stamps::of(0),
            flights: BTreeMap::new(),
            next_flight: 0,
            by_ticket: BTreeMap::new(),
            lines: Lines::default(),
            held: VecDeque::new(),
            ended: VecDeque::new(),
            views: Views::default(),
            detecting: Detecting::default(),
            returning: Returning::default(),
            stats: Stats::default(),
            costs: Costs::default(),
            now: None,
            device_writes: 0,
        }
    }

    /// The main tree.
    pub fn main(&self) -> &HostKv {
        &self.main
    }

    /// The main tree, for its background work.
    pub fn main_mut(&mut self) -> &mut HostKv {
        self.look_if_due();
        &mut self.main
    }

    /// Time is `now`.
    pub fn set_now(&mut self, now: Instant) {
        self.now = Some(now);
        self.main.set_now(now);
    }

    /// Starts an operation. `Ok`: it is complete already. `Err`: it is on its way; [`advance`](Self::advance) will tell.
    ///
    /// # Errors
    /// Its ticket.
    pub fn submit(&mut self, op: Op, mut work: Work<'_>) -> Result<Outcome, Ticket> {
        self.look_if_due();
        let (id, w) = (self.take_number(), &mut work);
        match op {
            Op::Put(..) | Op::Delete(_) | Op::Batch(_) => self.begin_write(id, op, w),
            Op::Get(key) => self.begin_read(id, key, true, w),
            Op::Exists(key) => self.begin_read(id, key, false, w),
            Op::Flush => self.begin_flush(id, w),
            Op::Snapshot => self.begin_snapshot(id, w),
            Op::Release(number) => self.release(id, number, w),
            Op::Scan { from, entries, snapshot } => self.begin_scan(id, from, (entries, snapshot), w),
        }
        let at = self.ended.iter().position(|(ticket, _)| ticket.0 == id);
        match at.and_then(|at| self.ended.remove(at)) {
            Some((_, outcome)) => Ok(outcome),
            None => Err(Ticket(id)),
        }
    }

    /// Takes what has completed in either tree and goes on with what waited. True if anything happened.
    pub fn advance(&mut self, mut work: Work<'_>, done: &mut dyn FnMut(Ticket, Outcome)) -> bool {
        self.look_if_due();
        let (w, mut any) = (&mut work, false);
        loop {
            let mut more = self.take_mains(w);
            while let Some(completed) = self.device.poll() {
                self.device_ended(completed, w);
                more = true;
            }
            more |= self.step_rollback(w);
            more |= self.retry_held(w);
            if !more {
                break;
            }
            any = true;
        }
        while let Some((ticket, outcome)) = self.ended.pop_front() {
            any = true;
            done(ticket, outcome);
        }
        any
    }

    fn take_mains(&mut self, w: &mut Work<'_>) -> bool {
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

    fn main_ended(&mut self, id: u64, outcome: Outcome, w: &mut Work<'_>) {
        match self.flights.remove(&id) {
            Some(Flight::Write(writing)) => self.write_ended_in_main(id, writing, outcome, w),
            Some(Flight::Read(reading)) => self.read_ended_in_main(id, reading, outcome),
            Some(Flight::Flush(flushing)) => self.flushed(id, flushing, outcome.err()),
            Some(Flight::Scan(scanning)) => self.scanned_main(id, scanning, outcome, w),
            Some(Flight::Rollback) => self.main_flushed(outcome),
            Some(Flight::Move(key)) => self.moved(id, key, outcome, w),
            Some(Flight::Purge(key)) => self.purged(id, key, &outcome, w),
            Some(Flight::Snapshot { .. } | Flight::Nobody) | None => {}
        }
    }

    fn device_ended(&mut self, done: DeviceDone, w: &mut Work<'_>) {
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
            Some(Flight::Move(_) | Flight::Purge(_) | Flight::Nobody) | None => {}
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

    pub(crate) fn take_number(&mut self) -> u64 {
        self.next_flight += 1;
        self.next_flight
    }

    /// A user's operation has ended.
    pub(crate) fn end(&mut self, id: u64, outcome: Outcome) {
        self.ended.push_back((Ticket(id), outcome));
    }

    /// It is to be tried again when something has changed.
    pub(crate) fn hold(&mut self, id: u64, flight: Flight) {
        self.flights.insert(id, flight);
        self.held.push_back(id);
    }

    fn retry_held(&mut self, w: &mut Work<'_>) -> bool {
        let mut any = false;
        for _ in 0..self.held.len() {
            let Some(id) = self.held.pop_front() else { break };
            match self.flights.remove(&id) {
                Some(Flight::Write(writing)) => self.go_on_writing(id, writing, w),
                Some(Flight::Read(reading)) => self.go_on_reading(id, reading, w),
                Some(Flight::Flush(_)) => self.begin_flush(id, w),
                Some(Flight::Scan(scanning)) => self.go_on_scanning(id, scanning, w),
                Some(Flight::Snapshot { main }) => self.open_snapshot(id, main, w),
                Some(other) => _ = self.flights.insert(id, other),
                None => {}
            }
            any |= self.held.back() != Some(&id);
        }
        any
    }

    /// Both trees are flushed: the device's if it has anything.
    fn begin_flush(&mut self, id: u64, w: &mut Work<'_>) {
        let mut flushing = Flushing { left: 1, failed: None };
        if self.has_device_part() {
            if self.device.flush(id).is_err() {
                return self.hold(id, Flight::Flush(flushing));
            }
            flushing.left += 1;
        }
        match self.ask_main(id, Op::Flush, w) {
            Some(outcome) => self.flushed(id, flushing, outcome.err()),
            None => _ = self.flights.insert(id, Flight::Flush(flushing)),
        }
    }

    fn flushed(&mut self, id: u64, mut flushing: Flushing, failed: Option<KvError>) {
        flushing.left -= 1;
        flushing.failed = flushing.failed.or(failed);
        if flushing.left > 0 {
            self.flights.insert(id, Flight::Flush(flushing));
            return;
        }
        self.end(id, flushing.failed.map_or(Ok(Answer::Done), Err));
    }

    /// Rings whatever doorbell is due.
    pub fn ring(&mut self) {
        self.main.ring();
        self.device.ring();
    }

    /// Commands that no doorbell has announced.
    pub fn unrung(&self) -> u32 {
        self.main.queue().unrung() + self.device.unrung()
    }

    /// Commands submitted so far.
    pub fn commands(&self) -> u64 {
        self.main.medium_stats().commands() + self.device.stats().commands
    }

    /// What only the host can count of the link's traffic.
    pub fn traffic(&self) -> Traffic {
        self.main.queue().stats().traffic() + self.device.stats().traffic()
    }

    /// When writes waited for the main tree.
    pub fn stalls(&self) -> Stalls {
        self.main.stalls()
    }

    /// When something is due without anything completing.
    pub fn next_turn(&self) -> Option<Instant> {
        let own = if self.ended.is_empty() { self.rollback_due() } else { self.now };
        earliest(self.main.next_turn(), own)
    }

    /// Whether the device has no copy, and nothing goes on by itself.
    pub fn is_settled(&self) -> bool {
        self.metadata.keys() == 0
            && self.returning.is_idle()
            && self.flights.is_empty()
            && self.tombs.is_empty()
    }

    /// What contradicts itself in memory.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        self.metadata.check()?;
        let is_waiting = self.held.iter().all(|id| self.flights.contains_key(id));
        if is_waiting { Ok(()) } else { Err("what is held is not on its way".to_owned()) }
    }
}

/// What a status of the device's means to who asked.
pub(crate) fn failure(status: Status) -> KvError {
    match status {
        _ if status.is(Status::KEY_DOES_NOT_EXIST) => KvError::NotFound,
        _ if status.is(Status::CAPACITY_EXCEEDED) => KvError::CapacityExceeded,
        _ if status.is(Status::INVALID_VALUE_SIZE) => KvError::ValueSize,
        _ if status.is(Status::INVALID_KEY_SIZE) => KvError::KeySize,
        _ => KvError::Transfer,
    }
}
