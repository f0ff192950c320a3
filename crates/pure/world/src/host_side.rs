//! HostKV in virtual time: modelled application threads share the engine at the host, over a block namespace. Each has a core.

mod worker;

use crate::disk_kv::{HostCosts, user_bytes};
use crate::joined::Clocked;
use crate::result::{Job, ReadPath, RunResult, Side};
use saker_assembly::{Build, port};
use saker_device::NamespaceKind;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockMedium, HostKv, KvBlockQueue, Op, Outcome, Ticket, Work};
use saker_host::{CacheStats, ConnectOptions, Connection, HostError};
use saker_link::Traffic;
use saker_sim::{CpuMeter, CpuPrices, Digest, Duration, Instant, earliest};
use std::collections::BTreeMap;
use worker::Worker;

/// Block commands HostKV keeps in flight at least.
const BLOCK_DEPTH_MIN: usize = 128;
const BLOCK_DEPTH_MAX: usize = 2048;

/// Block commands HostKV keeps in flight for a job: no fewer than the operations its threads may wait for.
pub fn block_depth(job: &Job) -> u16 {
    let operations = job.threads.max(1).saturating_mul(usize::from(job.depth.max(1)));
    operations.clamp(BLOCK_DEPTH_MIN, BLOCK_DEPTH_MAX) as u16
}

/// Bytes of an extent.
const EXTENT_BYTES: u64 = 8 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ready,
    /// Has as many operations in flight as it may.
    Waiting,
    /// Has nothing left to submit.
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    busy: Instant,
    state: State,
    next: usize,
    in_flight: usize,
}

/// An operation on its way: whose it is, and since when.
#[derive(Clone, Copy, Debug)]
struct Flight {
    thread: usize,
    started: Instant,
}

/// Runs jobs one after the other against one HostKV; all have the threads and the depth of the first, as with DiskKV. A
/// modelled thread keeps up to `depth` operations in flight: puts complete in the host's buffer, gets wait for their
/// blocks. `build` must have a block namespace 1.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_host_kv(build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let mut run = HostRun::start(build, first)?;
    let run_job = |job| {
        run.begin();
        while run.step(job) {}
        if job.flush {
            run.flush();
        }
        run.finish(build)
    };
    Ok(jobs.iter().map(run_job).collect())
}

struct HostRun {
    device: Clocked,
    store: HostKv,
    threads: Vec<Thread>,
    meter: CpuMeter,
    costs: HostCosts,
    stride: usize,
    depth: usize,
    interval: Duration,
    cache_before: CacheStats,
    reads_before: ReadPath,
    flights: BTreeMap<Ticket, Flight>,
    worker: Worker,
    result: RunResult,
    read: Digest,
    begun: Instant,
    /// Doorbell writes on their way: when they happen.
    doorbell: Option<Instant>,
    /// Completions handled on behalf of nobody in particular; the next thread to act pays.
    debt: Duration,
    commands_seen: u64,
    pages_before: u64,
    link_before: Traffic,
    device_before: u64,
}

impl HostRun {
    fn start(build: &Build, job: &Job) -> Result<Self, HostError> {
        let depth = block_depth(job);
        let host = build.attach(1, depth);
        let port = port(&host);
        let mut device = Clocked(build.timed(host));
        let mut connection = Connection::connect(port, &mut device, ConnectOptions::default())?;
        let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let queue = connection.create_kv_queue(&mut device, 1, options)?;
        let NamespaceKind::Block { block_bytes, blocks } = build.config.namespaces[0].kind else {
            return Err(HostError::from(saker_host::ProtocolError::Queues));
        };
        let blocks = KvBlockQueue::new(queue, block_bytes, blocks);
        let mut medium = BlockMedium::with_pages(blocks, EXTENT_BYTES, build.host_page_bytes);
        medium.take_empty();
        let store = HostKv::over_tuned(build.engine, &build.host_engine(), medium).with_cache(build.cache);
        let begun = device.0.now();
        let threads = job.threads.max(1);
        let thread = |n| Thread { busy: begun, state: State::Ready, next: n, in_flight: 0 };
        Ok(Self {
            store,
            threads: (0..threads).map(thread).collect(),
            meter: CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos())),
            costs: HostCosts::of(build),
            stride: threads,
            depth: usize::from(job.depth.max(1)),
            interval: build.interval,
            cache_before: CacheStats::default(),
            reads_before: ReadPath::default(),
            flights: BTreeMap::new(),
            worker: Worker::Idle,
            result: RunResult::new(),
            read: Digest::default(),
            begun,
            doorbell: None,
            debt: Duration::ZERO,
            commands_seen: 0,
            pages_before: 0,
            link_before: Traffic::default(),
            device_before: 0,
            device,
        })
    }

    /// A job begins: everything counts from here.
    fn begin(&mut self) {
        let begun = self.device.0.now();
        for (n, t) in self.threads.iter_mut().enumerate() {
            *t = Thread { busy: begun, state: State::Ready, next: n, in_flight: 0 };
        }
        (self.begun, self.result) = (begun, RunResult::new());
        self.worker = Worker::Idle;
        (self.device_before, self.link_before, self.pages_before) = self.counters();
        self.cache_before = self.store.cache_stats();
        self.reads_before = self.reads();
        let _ = self.device.0.take_traces();
    }

    fn reads(&mut self) -> ReadPath {
        let nand_pages = self.device.0.snapshot().flash.pages_read;
        let (commands, waits) = (self.store.medium_stats().reads, self.store.waits());
        ReadPath { commands, nand_pages, waits, ..ReadPath::default() }
    }

    fn counters(&mut self) -> (u64, Traffic, u64) {
        let s = self.device.0.snapshot();
        let link = s.device.traffic + self.store.queue().stats().traffic();
        (s.device.commands, link, s.flash.pages_programmed)
    }

    fn step(&mut self, job: &Job) -> bool {
        let ready = self.threads.iter().enumerate().filter(|(_, t)| t.state == State::Ready);
        let first = ready.map(|(n, t)| (t.busy, n)).min();
        let (work, device) = (self.work_at(), earliest(self.device.0.next_deadline(), self.doorbell));
        match (first, earliest(device, work)) {
            (Some((at, n)), deadline) if deadline.is_none_or(|d| at <= d) => self.act(n, at, job),
            (_, Some(deadline)) if Some(deadline) == work => self.work(deadline),
            (_, Some(deadline)) => self.device_event(deadline),
            (None, None) => return false,
            (Some(_), None) => unreachable!("the guard above takes threads without a deadline"),
        }
        // Programs of the write buffer may go on when the threads are done; they do not count.
        self.threads.iter().any(|t| t.state != State::Over) || !self.flights.is_empty()
    }

    fn act(&mut self, n: usize, at: Instant, job: &Job) {
        let t = &mut self.threads[n];
        let Some(operation) = job.operations.get(t.next) else {
            t.state = State::Over;
            return;
        };
        if *operation == Side::Wait && t.in_flight > 0 {
            t.state = State::Waiting;
            return;
        }
        if self.worker.has_waited_enough() {
            return self.quantum(n, at);
        }
        t.next += self.stride;
        self.result.user_bytes += user_bytes(operation);
        let op = match operation {
            Side::Put(key, value) => Op::Put(key.clone(), value.clone()),
            Side::Get(key) => Op::Get(key.clone()),
            Side::Wait => return,
        };
        let outcome = self.store.submit(op, Work::Counted(&mut self.meter));
        let end = at + self.spent(at);
        self.threads[n].busy = end;
        self.worker.was_overtaken();
        match outcome {
            Ok(outcome) => self.note(at, end, &outcome),
            Err(ticket) => self.wait(n, ticket, at),
        }
        self.wake_worker(end);
    }

    fn wait(&mut self, n: usize, ticket: Ticket, started: Instant) {
        self.flights.insert(ticket, Flight { thread: n, started });
        let t = &mut self.threads[n];
        t.in_flight += 1;
        if t.in_flight >= self.depth {
            t.state = State::Waiting;
        }
    }

    /// CPU time since the last call, spent from `at` on: the engine's, and the host's for block commands.
    fn spent(&mut self, at: Instant) -> Duration {
        let commands = self.store.medium_stats().commands();
        let new = commands - std::mem::replace(&mut self.commands_seen, commands);
        let spent = self.meter.take() + self.costs.submit * new + std::mem::take(&mut self.debt);
        let unrung = self.store.queue().unrung();
        if unrung == 0 {
            return spent;
        }
        // One doorbell for what was submitted together, when the thread has got there.
        let spent = spent + self.costs.doorbell;
        self.doorbell.get_or_insert(at + spent);
        spent
    }

    fn note(&mut self, started: Instant, at: Instant, outcome: &Outcome) {
        if let Ok(Some(value)) = outcome {
            self.read.bytes(value);
        }
        self.result.note(started, at, outcome.is_ok());
        self.result.count(at.since(self.begun), self.interval);
        self.result.elapsed = self.result.elapsed.max(at.since(self.begun));
    }

    /// An operation that waited is complete; its thread's core is busy until `spent` later.
    fn complete(&mut self, ticket: Ticket, at: Instant, spent: Duration, outcome: &Outcome) {
        let Some(flight) = self.flights.remove(&ticket) else { return };
        let t = &mut self.threads[flight.thread];
        t.in_flight -= 1;
        if t.state == State::Waiting {
            t.state = State::Ready;
        }
        t.busy = t.busy.max(at) + spent;
        let end = t.busy;
        self.note(flight.started, end, outcome);
    }

    fn device_event(&mut self, at: Instant) {
        if self.doorbell.is_some_and(|d| d <= at) {
            self.doorbell = None;
            self.store.ring();
        }
        let before = self.device.0.stats_commands();
        self.device.0.advance(at);
        let completed = self.device.0.stats_commands() - before;
        if completed == 0 {
            return;
        }
        self.debt += self.costs.complete * completed;
        self.go_on(at);
        self.wake_worker(at);
    }

    /// What waited is tried again: commands have completed, or background work has.
    fn go_on(&mut self, at: Instant) {
        let mut over = Vec::new();
        self.store
            .advance(Work::Counted(&mut self.meter), &mut |ticket, outcome| over.push((ticket, outcome)));
        let spent = self.spent(at);
        if over.is_empty() {
            self.debt = spent;
            return;
        }
        // The work is shared by those whose operations it completed.
        let share = Duration::from_nanos(spent.as_nanos().div_ceil(over.len() as u64));
        for (ticket, outcome) in over {
            self.complete(ticket, at, share, &outcome);
        }
    }

    /// Flushes what the host still buffers.
    fn flush(&mut self) {
        let begun = self.device.0.now();
        let mut open = self.store.submit(Op::Flush, Work::Counted(&mut self.meter)).is_err();
        while open {
            self.store.ring();
            saker_host::Turn::turn(&mut self.device);
            self.store.advance(Work::Counted(&mut self.meter), &mut |_, _| open = false);
            self.store.background(1, Work::Counted(&mut self.meter));
        }
        // A core that nothing else needs did it.
        self.meter.take();
        self.result.elapsed += self.device.0.now().since(begun);
    }

    fn finish(&mut self, build: &Build) -> RunResult {
        let (commands, link, pages) = self.counters();
        let mut r = std::mem::take(&mut self.result);
        r.commands = commands - self.device_before;
        let (reads, before) = (self.reads(), self.reads_before);
        r.reads = ReadPath {
            commands: reads.commands - before.commands,
            nand_pages: reads.nand_pages - before.nand_pages,
            waits: reads.waits - before.waits,
            ..reads
        };
        r.traces = self.device.0.take_traces();
        r.counters = self.store.counters();
        r.cache = self.store.cache_stats().since(&self.cache_before);
        r.note_traffic(link - self.link_before);
        r.nand_pages = pages - self.pages_before;
        r.nand_bytes = r.nand_pages * u64::from(build.shape.geometry.page_bytes);
        self.read.number(self.device.0.digest());
        self.read.number(r.elapsed.as_nanos());
        r.digest = self.read.value();
        r
    }
}
