// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DiskKV with SAKER's host layer in virtual time: lanes are sessions, which gather their writes in containers (SYSTOR'25,
//! section 3.3).

mod lane;
mod scan;

pub use lane::SessionLane;

use super::batch::Takes;
use super::{Counters, prices};
use crate::joined::{Below as _, Clocked};
use crate::measured::Measured;
use crate::result::{Job, RunResult};
use saker_assembly::{Build, QUEUE_ENTRIES_MIN, port};
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Hub, LaneStats, Options};
use saker_host::{CacheStats, ConnectOptions, Connection, Driver as _, HostError, KvQueue, TransferOptions};
use saker_link::Traffic;
use saker_sim::{CpuMeter, CpuPrices, Instant, Meter, Unit};
use saker_store::{Completions, Doorbells, KvStore, Order, Prices, Refusal};
use std::cell::RefCell;
use std::rc::Rc;

/// One meter for all sessions: what one does for another is paid by who pays next.
#[derive(Clone, Debug)]
struct SharedMeter(Rc<RefCell<CpuMeter>>);

impl Meter for SharedMeter {
    #[inline]
    fn work(&mut self, unit: Unit, n: u64) {
        self.0.borrow_mut().work(unit, n);
    }
}

/// DiskKV behind sessions. Writes of one batch could leave in different containers, and a snapshot would have to wait for those of
/// all lanes: sessions have neither.
pub struct SessionStore {
    below: Clocked,
    hub: Rc<Hub<KvQueue>>,
    opened: usize,
    meter: SharedMeter,
    has_cache: bool,
    /// The device has iterators, by which sessions scan.
    scans: bool,
    prices: Prices,
    page_bytes: u32,
    before: Counters,
    cache_before: CacheStats,
}

impl SessionStore {
    /// Over a new device in virtual time, a session for each thread of the job, with containers of so many writes.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn timed(build: &Build, job: &Job, batch: u16) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let host = build.attach(threads as u16, depth);
        let mut below = Clocked(build.timed(host.clone()));
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port(&host), &mut below, options)?;
        // Some methods put values into entries.
        let least = if job.transfer == TransferOptions::default() { 0 } else { QUEUE_ENTRIES_MIN };
        let queue_options = KvQueueOptions { entries: (u32::from(depth) + 1).max(least), slots: depth };
        let mut queues = Vec::new();
        for _ in 0..threads {
            let mut queue = connection.create_kv_queue(&mut below, 1, queue_options)?;
            connection.set_transfer(&mut below, &mut queue, job.transfer.clone())?;
            queues.push(queue);
        }
        let options =
            Options { batch, eager: false, closed_max: 1, cache: build.cache, ..Options::default() };
        let meter = CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos()));
        Ok(Self {
            below,
            hub: Rc::new(Hub::new(queues, options)),
            opened: 0,
            meter: SharedMeter(Rc::new(RefCell::new(meter))),
            has_cache: build.cache.bytes > 0,
            scans: Takes::of(build).scans,
            prices: prices(build),
            page_bytes: build.shape.geometry.page_bytes,
            before: Counters::default(),
            cache_before: CacheStats::default(),
        })
    }

    fn counters(&mut self) -> Counters {
        let lanes = 0..self.hub.lanes();
        let host = lanes.map(|n| self.hub.with_wire(n, |queue| queue.stats().traffic()));
        let host = host.fold(Traffic::default(), |sum, t| sum + t);
        Counters::of(&mut self.below.0, host)
    }
}

impl KvStore for SessionStore {
    type Lane = SessionLane;

    fn open_lane(&mut self) -> Result<SessionLane, Refusal> {
        if self.opened == self.hub.lanes() {
            return Err(Refusal::Lanes);
        }
        self.opened += 1;
        Ok(SessionLane::new(
            Rc::clone(&self.hub),
            self.opened - 1,
            self.meter.clone(),
            (self.has_cache, self.scans),
        ))
    }

    fn capabilities(&self) -> Vec<&'static str> {
        let scans: &[_] = if self.scans { &["scan"] } else { &[] };
        [&["put", "get", "delete", "exists", "flush"], scans].concat()
    }

    /// A lane rings before it looks at completions: what it sends then belongs to the next doorbell.
    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfLane { looks_first: false }, completions: Completions::AllEnd }
    }

    fn prices(&self) -> Prices {
        self.prices
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        let all = (0..self.hub.lanes()).map(|n| self.hub.stats(n));
        let sum = all.fold(LaneStats::default(), |sum, s| LaneStats {
            packed: sum.packed + s.packed,
            replaced: sum.replaced + s.replaced,
            parked: sum.parked + s.parked,
            ..sum
        });
        vec![("packed", sum.packed), ("replaced", sum.replaced), ("parked", sum.parked)]
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.below.next_deadline()
    }

    fn advance(&mut self, now: Instant) -> bool {
        self.below.advance(now) > 0
    }

    #[inline]
    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        self.below.go_on(until)
    }

    fn drive(&mut self) {
        self.below.drive();
    }
}

impl Measured for SessionStore {
    fn begin(&mut self, lanes: &mut [SessionLane], _: &Job) {
        for lane in lanes {
            lane.begin();
        }
        self.before = self.counters();
        self.cache_before = self.hub.cache_stats();
    }

    fn finish(&mut self, lanes: &mut [SessionLane], result: &mut RunResult) {
        let after = self.counters();
        result.cache = self.hub.cache_stats().since(&self.cache_before);
        for lane in lanes {
            result.reads.commands += lane.reads().commands;
            result.reads.pending += lane.reads().pending;
            result.reads.unfilled += lane.reads().unfilled;
        }
        result.reads.nand_pages = after.pages_read - self.before.pages_read;
        after.note(&self.before, self.page_bytes, result);
        after.note_device(&self.before, result);
        result.traces = self.below.0.take_traces();
        let snapshot = self.below.0.stats();
        result.counters = snapshot.namespaces.into_iter().flat_map(|n| n.counters).collect();
    }

    fn digest(&self) -> u64 {
        self.below.0.digest()
    }
}
