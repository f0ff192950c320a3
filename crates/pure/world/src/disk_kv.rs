//! DiskKV in virtual time: modelled application threads, each with a queue pair, on a KV namespace.

use crate::build::{Build, port};
use crate::joined::Clocked;
use crate::result::{Job, RunResult, Side};
use saker_flash::MemMedia;
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, HostError, KvQueue};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_sim::{Digest, Duration, Instant};

/// The host's costs per command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCosts {
    pub submit: Duration,
    pub doorbell: Duration,
    pub complete: Duration,
}

impl HostCosts {
    pub fn of(build: &Build) -> Self {
        let ns = Duration::from_nanos;
        let h = &build.profile.host;
        Self {
            submit: ns(h.submit_ns.get()),
            doorbell: ns(build.profile.link.doorbell_write_ns.get()),
            complete: ns(h.poll_ns.get() + h.complete_ns.get()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// May act once its core is free.
    Ready,
    /// Has submitted; the doorbell write happens when its core is free.
    Ringing,
    /// Has as much in flight as it may, or nothing left to submit.
    Waiting,
}

struct Thread {
    queue: KvQueue,
    /// Its core is busy until then.
    busy: Instant,
    state: State,
    next: usize,
    started: Vec<Instant>,
}

/// Runs jobs one after the other on one device; all have the threads and the depth of the first. The same
/// arguments give the same results on any machine.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_disk_kv(build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let mut run = DiskRun::start(build, first)?;
    run.retrieve_bytes = retrieve_bytes(jobs);
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

struct DiskRun {
    device: Clocked<MemMedia>,
    threads: Vec<Thread>,
    costs: HostCosts,
    stride: usize,
    depth: usize,
    retrieve_bytes: u32,
    result: RunResult,
    read: Digest,
    begun: Instant,
    before: Counters,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    commands: u64,
    traffic: Traffic,
    pages: u64,
}

impl DiskRun {
    fn start(build: &Build, job: &Job) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let host = build.attach(threads as u16, depth);
        let port = port(&host);
        let mut device = Clocked(build.timed(host));
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut device, options)?;
        let queue_options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let mut all = Vec::new();
        for n in 0..threads {
            let queue = connection.create_kv_queue(&mut device, 1, queue_options)?;
            let started = vec![Instant::ZERO; usize::from(depth)];
            all.push(Thread { queue, busy: Instant::ZERO, state: State::Ready, next: n, started });
        }
        Ok(Self {
            device,
            threads: all,
            costs: HostCosts::of(build),
            stride: threads,
            depth: usize::from(depth),
            retrieve_bytes: STAGED_BYTES,
            result: RunResult::new(),
            read: Digest::default(),
            begun: Instant::ZERO,
            before: Counters::default(),
        })
    }

    /// A job begins: everything counts from here.
    fn begin(&mut self) {
        let begun = self.device.0.now();
        for (n, t) in self.threads.iter_mut().enumerate() {
            (t.busy, t.state, t.next) = (begun, State::Ready, n);
        }
        (self.begun, self.result) = (begun, RunResult::new());
        self.before = self.counters();
    }

    /// A Flush that belongs to the job.
    fn flush(&mut self) {
        let begun = self.device.0.now();
        let queue = &mut self.threads[0].queue;
        if queue.flush().is_err() {
            return;
        }
        queue.ring();
        while self.threads[0].queue.poll(|_| ()).is_none() {
            saker_host::Turn::turn(&mut self.device);
        }
        self.result.elapsed += self.device.0.now().since(begun);
    }

    fn counters(&mut self) -> Counters {
        let s = self.device.0.snapshot();
        let host = self.threads.iter().map(|t| t.queue.stats().traffic());
        let traffic = host.fold(s.device.traffic, |sum, t| sum + t);
        Counters { commands: s.device.commands, traffic, pages: s.flash.pages_programmed }
    }

    /// The next thing that happens, at the device or in a thread. False when all is done.
    fn step(&mut self, job: &Job) -> bool {
        let acting = self.threads.iter().enumerate().filter(|(_, t)| t.state != State::Waiting);
        let first = acting.map(|(n, t)| (t.busy, n)).min();
        match (first, self.device.0.next_deadline()) {
            (None, None) => false,
            (Some((at, n)), deadline) if deadline.is_none_or(|d| at <= d) => {
                self.act(n, at, job);
                true
            }
            (_, Some(deadline)) => {
                let before = self.device.0.stats_commands();
                self.device.0.step(deadline);
                if self.device.0.stats_commands() != before {
                    self.wake(deadline);
                }
                true
            }
            (Some(_), None) => unreachable!("the guard above takes threads without a deadline"),
        }
    }

    fn act(&mut self, n: usize, at: Instant, job: &Job) {
        self.reap(n, at);
        let t = &mut self.threads[n];
        if t.state == State::Ringing {
            t.queue.ring();
            t.state = State::Ready;
            self.device.0.advance(at);
            return;
        }
        if t.busy > at {
            // Completions took the core meanwhile.
            return;
        }
        let operation = job.operations.get(t.next).filter(|_| t.queue.in_flight() < self.depth);
        let Some(operation) = operation else {
            t.state = State::Waiting;
            return;
        };
        let ticket = submit(&mut t.queue, operation, self.retrieve_bytes);
        t.next += self.stride;
        let Some(slot) = ticket else {
            self.result.note(at, at, false);
            return;
        };
        t.started[usize::from(slot)] = at;
        t.busy = at + self.costs.submit + self.costs.doorbell;
        t.state = State::Ringing;
        self.result.user_bytes += user_bytes(operation);
    }

    /// Takes what has completed; each completion costs the thread's core.
    fn reap(&mut self, n: usize, at: Instant) {
        let Self { threads, costs, result, read, .. } = self;
        let t = &mut threads[n];
        let mut busy = t.busy.max(at);
        let mut any = false;
        while let Some(done) = t.queue.poll(|done| {
            if !done.data().is_empty() {
                read.bytes(done.data());
            }
            (done.ticket.slot(), done.status.is_success())
        }) {
            let Ok((slot, ok)) = done else { continue };
            busy = busy + costs.complete;
            any = true;
            result.note(t.started[usize::from(slot)], busy, ok);
        }
        if any {
            t.busy = busy;
            result.elapsed = result.elapsed.max(busy.since(self.begun));
        }
    }

    /// Waiting threads look at their completion queues.
    fn wake(&mut self, at: Instant) {
        for n in 0..self.threads.len() {
            if self.threads[n].state == State::Waiting {
                let before = self.result.operations;
                self.reap(n, at);
                if self.result.operations != before {
                    self.threads[n].state = State::Ready;
                }
            }
        }
    }

    fn finish(&mut self, build: &Build) -> RunResult {
        let after = self.counters();
        let mut r = std::mem::take(&mut self.result);
        r.commands = after.commands - self.before.commands;
        r.note_traffic(after.traffic - self.before.traffic);
        r.nand_pages = after.pages - self.before.pages;
        r.nand_bytes = r.nand_pages * u64::from(build.shape.geometry.page_bytes);
        self.read.number(self.device.0.digest());
        self.read.number(r.elapsed.as_nanos());
        r.digest = self.read.value();
        r
    }
}

pub(crate) fn user_bytes(operation: &Side) -> u64 {
    match operation {
        Side::Put(key, value) => (key.len() + value.len()) as u64,
        Side::Get(_) => 0,
    }
}

/// Largest value that is read into a slot's own page; larger ones take a buffer.
const STAGED_BYTES: u32 = 4096;

/// Bytes that a retrieve asks for: a page, or the longest value that the jobs store.
pub fn retrieve_bytes(jobs: &[Job]) -> u32 {
    let stored = jobs.iter().flat_map(|job| &job.operations).map(|operation| match operation {
        Side::Put(_, value) => value.len() as u32,
        Side::Get(_) => 0,
    });
    stored.max().unwrap_or(0).max(STAGED_BYTES)
}

fn submit(queue: &mut KvQueue, operation: &Side, retrieve_bytes: u32) -> Option<u16> {
    let ticket = match operation {
        Side::Put(key, value) => {
            let key = Key::new(key).ok()?;
            if value.len() <= STAGED_BYTES as usize {
                queue.store(&key, value, StoreOptions::NONE).ok()?
            } else {
                queue.store_owned(&key, value.clone(), StoreOptions::NONE).ok()?
            }
        }
        Side::Get(key) => queue.retrieve(&Key::new(key).ok()?, retrieve_bytes).ok()?,
    };
    Some(ticket.slot())
}
