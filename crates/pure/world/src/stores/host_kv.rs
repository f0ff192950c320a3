// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores at the host in virtual time: HostKV over a block namespace, and the hybrid of it with a tree in the device. Lanes share the
//! store; each has a core, and the store has no modelled lock.

use super::adoc::{Adoc, AdocOptions};
pub use super::host_medium::{block_depth, connect};
pub use super::host_ops::{capabilities, operation, outcome};
pub use super::hosted::Hosted;
pub use super::hybrid::{Dual, connect_hybrid};
use super::{Counters, prices};
use crate::joined::{Below as _, Clocked};
use crate::measured::Measured;
use crate::result::{Job, ReadPath, RunResult};
use saker_assembly::Build;
use saker_engine::{Job as EngineJob, JobKind};
use saker_host::host_kv::{self, Answer, BlockCacheStats, HostKv, Work as Metered};
use saker_host::{CacheStats, Driver as _, HostError};
use saker_hybrid::Hybrid;
use saker_link::Rule;
use saker_sim::{Activity, CpuMeter, CpuPrices, Duration, Instant, earliest};
use saker_store::{
    BackgroundJob, Completed, Completions, Doorbells, Drain, JobId, KvStore, Lane, Order, Outcome, Prices,
    Refusal, Share, Submitted, Ticket, Work,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

/// All that the store's engine has to do, by one worker.
const MAINTENANCE: BackgroundJob = BackgroundJob { id: JobId(0), activity: Activity::Maintenance };

/// Steps of settling after which nothing more will come of it.
const SETTLING_MAX: u32 = 5_000_000;

/// What lanes share.
struct Shared<K> {
    store: K,
    meter: CpuMeter,
    /// Metered time beside the meter's, at other prices.
    priced: Duration,
    /// Whose operation it is: the lane, and its ticket's slot there.
    flights: BTreeMap<host_kv::Ticket, (usize, u32)>,
    over: VecDeque<(host_kv::Ticket, host_kv::Outcome)>,
    slots: Vec<Slots>,
    /// Completions that nobody was charged for.
    completions: u64,
    commands_seen: u64,
}

/// Slots of a lane's tickets.
#[derive(Clone, Debug, Default)]
struct Slots {
    free: Vec<u32>,
    made: u32,
}

impl Slots {
    fn take(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.made += 1;
            self.made - 1
        })
    }

    fn in_use(&self) -> usize {
        self.made as usize - self.free.len()
    }
}

/// A store at the host over a device in virtual time.
pub struct HostStore<K = HostKv> {
    below: Clocked,
    shared: Rc<RefCell<Shared<K>>>,
    lanes_max: usize,
    background_cores: usize,
    merge_cpu_percent: u64,
    prices: Prices,
    page_bytes: u32,
    before: Counters,
    cache_before: CacheStats,
    reads_before: ReadPath,
    /// What was counted when the last operation of a job had ended.
    at_end: Option<Vec<(&'static str, u64)>>,
    tuner: Option<Adoc>,
}

/// A thread's way into the store.
pub struct HostLane<K = HostKv> {
    shared: Rc<RefCell<Shared<K>>>,
    number: usize,
    /// How the last operation ended that was complete at once.
    last: host_kv::Outcome,
}

impl HostStore {
    /// Over a new device in virtual time that has a block namespace 1, with a lane for each thread of the job.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn timed(build: &Build, job: &Job) -> Result<Self, HostError> {
        let depth = block_depth(job);
        let host = build.attach(1, depth);
        let mut below = Clocked(build.timed(host.clone()));
        let store = connect(build, &host, depth, &mut below)?;
        Ok(Self::over(store, below, build, job))
    }

    /// The same with a tuner.
    #[must_use]
    pub fn tuned(mut self, options: AdocOptions) -> Self {
        self.tuner = Some(Adoc::new(options, self.shared.borrow_mut().store.tree_mut()));
        self
    }

    /// How often the tuner changed threads, and memtables.
    pub fn changes(&self) -> [u64; 2] {
        self.tuner.as_ref().map_or([0; 2], |tuner| tuner.changed)
    }
}

impl HostStore<Hybrid> {
    /// The hybrid over a new device in virtual time with two namespaces, as [`Dual::device`] makes it.
    ///
    /// # Errors
    /// [`HostError`] if it cannot be connected to.
    pub fn hybrid(build: &Build, dual: &Dual, job: &Job) -> Result<Self, HostError> {
        let device = dual.device(build);
        let depth = block_depth(job);
        let host = device.attach(2, depth);
        let mut below = Clocked(device.timed(host.clone()));
        let store = connect_hybrid(build, &device, &host, (depth, dual), &mut below)?;
        Ok(Self::over(store, below, build, job))
    }
}

impl<K: Hosted> HostStore<K> {
    /// A store over that device, with a lane for each thread of the job.
    pub(crate) fn over(mut store: K, below: Clocked, build: &Build, job: &Job) -> Self {
        let background_cores = build.profile.host.background_cores.get();
        store.tree_mut().set_workers(background_cores);
        let shared = Shared {
            store,
            priced: Duration::ZERO,
            meter: CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos())),
            flights: BTreeMap::new(),
            over: VecDeque::new(),
            slots: Vec::new(),
            completions: 0,
            commands_seen: 0,
        };
        Self {
            below,
            shared: Rc::new(RefCell::new(shared)),
            lanes_max: job.threads.max(1),
            background_cores: background_cores as usize,
            merge_cpu_percent: build.profile.host.merge_cpu_percent.get().into(),
            prices: prices(build),
            page_bytes: build.shape.geometry.page_bytes,
            before: Counters::default(),
            cache_before: CacheStats::default(),
            reads_before: ReadPath::default(),
            at_end: None,
            tuner: None,
        }
    }

    /// Shows the store.
    pub fn with_store<R>(&self, show: impl FnOnce(&mut K) -> R) -> R {
        show(&mut self.shared.borrow_mut().store)
    }

    #[cfg(test)]
    pub(crate) fn device(&mut self) -> &mut saker_device::Device<saker_device::Timed> {
        &mut self.below.0
    }

    fn reads(&mut self) -> ReadPath {
        let nand_pages = self.below.0.stats().flash.pages_read;
        let store = &self.shared.borrow().store;
        let (commands, waits) = store.block_reads();
        let BlockCacheStats { hits: block_hits, misses: block_misses } = store.caches().0;
        ReadPath { commands, nand_pages, waits, block_hits, block_misses, ..ReadPath::default() }
    }

    fn counters(&mut self) -> Counters {
        let now = self.below.now();
        let (host, stalls) = {
            let store = &mut self.shared.borrow_mut().store;
            store.set_now(now);
            (store.traffic(), store.stalls())
        };
        Counters { stalls, ..Counters::of(&mut self.below.0, host) }
    }

    /// Time is `now`, and so many commands completed. Whether a lane has to look.
    fn note_completed(&mut self, commands: u64, now: Instant) -> bool {
        let shared = &mut *self.shared.borrow_mut();
        if let Some(tuner) = &mut self.tuner {
            tuner.look_if_due(now, shared.store.tree_mut());
        }
        shared.completions += commands;
        shared.store.set_now(now);
        commands > 0 || shared.store.next_turn().is_some_and(|at| at <= now)
    }
}

impl<K: Hosted> KvStore for HostStore<K> {
    type Lane = HostLane<K>;

    fn open_lane(&mut self) -> Result<HostLane<K>, Refusal> {
        let slots = &mut self.shared.borrow_mut().slots;
        if slots.len() == self.lanes_max {
            return Err(Refusal::Lanes);
        }
        slots.push(Slots::default());
        Ok(HostLane { shared: Rc::clone(&self.shared), number: slots.len() - 1, last: Ok(Answer::Done) })
    }

    fn capabilities(&self) -> Vec<&'static str> {
        capabilities(&self.shared.borrow().store)
    }

    /// One queue pair for all: its doorbell is an event, and a completion is nobody's in particular.
    fn order(&self) -> Order {
        Order { doorbells: Doorbells::OfStore, completions: Completions::Shared }
    }

    fn prices(&self) -> Prices {
        // Values go to the device page by page, whose mapping is part of a command.
        self.prices
    }

    fn stats(&self) -> Vec<(&'static str, u64)> {
        self.shared.borrow().store.counters()
    }

    fn background_cores(&self) -> usize {
        self.background_cores
    }

    fn background(&self) -> Option<BackgroundJob> {
        self.shared.borrow().store.has_background().then_some(MAINTENANCE)
    }

    fn begin_jobs(&mut self, visit: &mut dyn FnMut(usize, BackgroundJob)) {
        if self.background_cores == 1 {
            return self.background().into_iter().for_each(|job| visit(0, job));
        }
        let mut begun = |worker: usize, job: EngineJob| {
            let id = JobId(worker as u32);
            visit(worker, BackgroundJob { id, activity: job.kind.activity() });
        };
        self.shared.borrow_mut().store.begin_jobs(&mut begun);
    }

    fn quantum(&mut self, job: JobId, now: Instant) -> bool {
        let Shared { store, meter, priced, .. } = &mut *self.shared.borrow_mut();
        store.set_now(now);
        let worker = job.0 as usize;
        let is_priced = self.merge_cpu_percent != 100;
        if is_priced {
            *priced += meter.take();
        }
        let worked = match self.background_cores {
            1 => job == MAINTENANCE.id && store.quantum(Metered::Counted(meter)),
            _ => store.quantum_of(worker, Metered::Counted(meter)),
        };
        if let Some(tuner) = &mut self.tuner {
            tuner.worked(store.did(worker), now, store.tree());
        }
        if is_priced && store.did(worker) == JobKind::Compaction {
            *priced += Duration::from_nanos(meter.take().as_nanos() * self.merge_cpu_percent / 100);
        }
        worked
    }

    fn did(&self, job: &BackgroundJob) -> Activity {
        self.shared.borrow().store.did(job.id.0 as usize).activity()
    }

    fn rest(&mut self, job: JobId) {
        if self.background_cores > 1 {
            self.shared.borrow_mut().store.rest(job.0 as usize);
        }
    }

    fn now(&self) -> Instant {
        self.below.now()
    }

    /// Below, or a delayed write has its turn.
    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.below.next_deadline(), self.shared.borrow().store.next_turn())
    }

    fn advance(&mut self, now: Instant) -> bool {
        let completed = self.below.advance(now);
        self.note_completed(completed, now)
    }

    /// All that happens at one time happens together.
    fn go_on(&mut self, until: Instant) -> Option<Instant> {
        while let Some(at) = self.next_deadline().filter(|at| *at <= until) {
            if self.advance(at) {
                return Some(at);
            }
        }
        None
    }

    fn drive(&mut self) {
        let turn = self.shared.borrow().store.next_turn();
        match turn.filter(|at| self.below.next_deadline().is_none_or(|next| *at < next)) {
            Some(at) => _ = self.advance(at.max(self.below.now())),
            None => self.below.drive(),
        }
    }

    /// What it still does by itself. No core is charged with that: no thread is there any more.
    fn settle(&mut self) {
        self.at_end = Some(self.shared.borrow().store.counters());
        for _ in 0..SETTLING_MAX {
            if self.shared.borrow().store.is_settled() {
                return;
            }
            self.settle_on();
        }
    }
}

impl<K: Hosted> HostStore<K> {
    fn settle_on(&mut self) {
        let now = self.below.now();
        let mut begun = Vec::new();
        self.begin_jobs(&mut |_, job| begun.push(job.id));
        let mut has_worked = false;
        for job in begun {
            if self.quantum(job, now) {
                has_worked = true;
                self.rest(job);
            }
        }
        let any = {
            let shared = &mut *self.shared.borrow_mut();
            let Shared { store, over, .. } = shared;
            store.set_now(now);
            let any = store.advance(Metered::Free, &mut |ticket, outcome| over.push_back((ticket, outcome)));
            store.ring();
            any
        };
        if !has_worked && !any {
            self.drive();
        }
        self.flushed();
    }
}

impl<K: Hosted> Measured for HostStore<K> {
    fn begin(&mut self, _: &mut [HostLane<K>], _: &Job) {
        self.before = self.counters();
        self.cache_before = self.shared.borrow().store.caches().1;
        self.reads_before = self.reads();
        let _ = self.below.0.take_traces();
    }

    /// A core that nothing else needs did it.
    fn flushed(&mut self) {
        let shared = &mut *self.shared.borrow_mut();
        (_, shared.priced) = (shared.meter.take(), Duration::ZERO);
    }

    fn finish(&mut self, _: &mut [HostLane<K>], result: &mut RunResult) {
        self.counters().note(&self.before, self.page_bytes, result);
        let (reads, before) = (self.reads(), self.reads_before);
        result.reads = ReadPath {
            commands: reads.commands - before.commands,
            nand_pages: reads.nand_pages - before.nand_pages,
            waits: reads.waits - before.waits,
            block_hits: reads.block_hits - before.block_hits,
            block_misses: reads.block_misses - before.block_misses,
            ..reads
        };
        result.traces = self.below.0.take_traces();
        let store = &self.shared.borrow().store;
        result.counters = self.at_end.take().unwrap_or_else(|| store.counters());
        result.cache = store.caches().1.since(&self.cache_before);
    }

    fn link_bytes(&mut self) -> Option<u64> {
        let host = self.shared.borrow().store.traffic();
        Some((self.below.0.stats().device.traffic + host).bytes(&Rule::Protocol).total())
    }

    fn digest(&self) -> u64 {
        self.below.0.digest()
    }
}

impl<K: Hosted> Lane for HostLane<K> {
    type Error = HostError;

    fn submit(&mut self, share: Share<'_>, now: Instant) -> Submitted<'_> {
        let Shared { store, meter, flights, slots, .. } = &mut *self.shared.borrow_mut();
        store.set_now(now);
        let op = match operation(share.first(), &*store) {
            Ok(Some(op)) => op,
            Ok(None) => return Submitted::Done(Outcome::DONE),
            Err(refusal) => return Submitted::Refused(refusal),
        };
        match store.submit(op, Metered::Counted(meter)) {
            Ok(done) => {
                self.last = done;
                Submitted::Done(outcome(&self.last))
            }
            Err(ticket) => {
                let slot = slots[self.number].take();
                flights.insert(ticket, (self.number, slot));
                Submitted::Pending(Ticket { slot, operations: 1 })
            }
        }
    }

    /// What waited is tried again: commands have completed, or background work has.
    fn look(&mut self, now: Instant) -> bool {
        let Shared { store, meter, over, .. } = &mut *self.shared.borrow_mut();
        store.set_now(now);
        store.advance(Metered::Counted(meter), &mut |ticket, outcome| over.push_back((ticket, outcome)));
        true
    }

    fn poll<R>(
        &mut self,
        _: Instant,
        visit: impl FnOnce(Completed<'_>) -> R,
    ) -> Result<Option<R>, HostError> {
        let shared = &mut *self.shared.borrow_mut();
        while let Some((ticket, ended)) = shared.over.pop_front() {
            let Some((lane, slot)) = shared.flights.remove(&ticket) else { continue };
            shared.slots[lane].free.push(slot);
            let ticket = Ticket { slot, operations: 1 };
            return Ok(Some(visit(Completed { lane, ticket, outcome: outcome(&ended) })));
        }
        Ok(None)
    }

    fn ring(&mut self) {
        self.shared.borrow_mut().store.ring();
    }

    fn work(&mut self) -> Work {
        let Shared { store, meter, priced, completions, commands_seen, .. } = &mut *self.shared.borrow_mut();
        let commands = store.commands();
        Work {
            cpu: std::mem::take(priced) + meter.take(),
            commands: commands - std::mem::replace(commands_seen, commands),
            completions: std::mem::take(completions),
            rings: store.unrung() > 0,
            ..Work::default()
        }
    }

    fn in_flight(&self) -> usize {
        self.shared.borrow().slots[self.number].in_use()
    }

    fn drain(&mut self, _: Instant) -> Result<Drain, HostError> {
        Ok(Drain::Over)
    }
}
