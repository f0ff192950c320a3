// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The store: operations come in, both trees answer, operations end. As [`HostKv`] it never waits.

mod answers;
mod facts;
mod flight;
mod flush;
mod read;
mod rollback;
mod route;
pub(crate) mod scan;
mod stats;
mod sweep;
mod views;
mod write;

pub use stats::{Stats, counter_kind};

use crate::device::DeviceLsm;
use crate::lines::Lines;
use crate::main_tree::MainTree;
use crate::metadata::Metadata;
use crate::options::Options;
use crate::record::{STAMP_BYTES, Stamps};
use crate::store::flight::Flight;
use crate::store::read::Wants;
use crate::store::rollback::Returning;
use crate::store::route::Detecting;
use crate::store::scan::Asked;
use crate::store::stats::Costs;
use crate::store::sweep::Sweeping;
use crate::store::views::Views;
use saker_engine::KvError;
use saker_host::host_kv::{HostKv, Op, Outcome, Ticket, Work};
use saker_nvme::{Key, Status};
use saker_sim::{Instant, Meter as _, Unit};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// One store over two trees.
pub struct Hybrid<M = HostKv> {
    pub(crate) main: M,
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
    pub(crate) sweeping: Sweeping,
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

impl<M: MainTree> Hybrid<M> {
    /// A new store over two empty trees.
    pub fn new(main: M, device: DeviceLsm, options: Options) -> Self {
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
            sweeping: Sweeping::default(),
            stats: Stats::default(),
            costs: Costs::default(),
            now: None,
            device_writes: 0,
        }
    }

    /// Both trees are empty, and new: what was known of them is forgotten, counters are not.
    pub(crate) fn forget_all(&mut self) {
        self.metadata.clear();
        self.tombs.clear();
        self.all_tombs_known = true;
        (self.views, self.returning, self.costs) = (Views::default(), Returning::default(), Costs::default());
        (self.detecting, self.device_writes) = (Detecting::default(), 0);
        self.sweeping = Sweeping::default();
    }

    /// Longest value in bytes: the main tree takes every record in the end, and a record has its stamp beside the value.
    pub fn value_bytes_max(&self) -> u32 {
        self.main.value_bytes_max().saturating_sub(STAMP_BYTES as u32)
    }

    /// The main tree.
    pub fn main(&self) -> &M {
        &self.main
    }

    /// The main tree, for its background work.
    pub fn main_mut(&mut self) -> &mut M {
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
            Op::Get(key) => self.begin_read(id, key, Wants::Value, w),
            Op::Exists(key) => self.begin_read(id, key, Wants::Presence, w),
            Op::Flush => self.begin_flush(id, w),
            Op::Snapshot => self.begin_snapshot(id, w),
            Op::Release(number) => self.release(id, number, w),
            Op::Scan { from, backwards, entries, snapshot } => {
                self.begin_scan(id, Asked { from, backwards, entries, snapshot }, w);
            }
        }
        self.ended_or_ticket(id)
    }

    pub(crate) fn ended_or_ticket(&mut self, id: u64) -> Result<Outcome, Ticket> {
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
            more |= self.step_sweep(w);
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
                Some(Flight::View(of)) => self.go_on_with_view(id, of, w),
                Some(other) => _ = self.flights.insert(id, other),
                None => {}
            }
            any |= self.held.back() != Some(&id);
        }
        any
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
