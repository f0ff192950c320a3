//! DiskKV with SAKER's host layer in virtual time: modelled application threads, each with a session, gather their writes
//! in containers (SYSTOR'25, section 3.3).

use crate::disk_kv::HostCosts;
use crate::joined::Clocked;
use crate::layers::Layers;
use crate::result::{Job, ReadPath, RunResult, Side};
use saker_assembly::{Build, port};
use saker_host::connect::KvQueueOptions;
use saker_host::session::{CallId, Command, Cover, Hub, LaneStats, Options, Refusal, Sync};
use saker_host::{CacheStats, ConnectOptions, Connection, HostError, KvQueue, TransferOptions};
use saker_link::{PAGE_BYTES, Traffic};
use saker_nvme::Key;
use saker_sim::{CpuMeter, CpuPrices, Digest, Duration, Instant};

/// What a Retrieve asks for.
const RETRIEVE_BYTES: u32 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// May act once its core is free.
    Ready,
    /// Has submitted; the doorbell write happens when its core is free.
    Ringing,
    /// Needs a completion, or has nothing left to do.
    Waiting,
}

/// What the host knows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Cached,
    /// In a write that the device may not have.
    Pending,
    Deleted,
}

/// A Retrieve in flight: of what, since when, and the version of the key's stripe before it.
struct Read {
    call: CallId,
    key: Key,
    version: u64,
    started: Instant,
}

struct Thread {
    busy: Instant,
    state: State,
    next: usize,
    calls: Vec<Read>,
    /// It has written everything and waits for the end.
    sync: Option<Sync>,
    is_over: bool,
    before: LaneStats,
}

/// Runs jobs one after the other on one device through sessions with containers of `batch` writes; a thread has up to the
/// job's depth of containers and reads in flight. All jobs have the threads and the depth of the first. A put is complete
/// when it is buffered; each job ends when all sessions have synced.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_saker(build: &Build, jobs: &[Job], batch: u16) -> Result<Vec<RunResult>, HostError> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let mut run = SakerRun::start(build, first, batch)?;
    let run_job = |job: &Job| {
        run.begin();
        while run.step(job) {}
        if job.flush {
            run.flush();
        }
        run.finish(build)
    };
    Ok(jobs.iter().map(run_job).collect())
}

struct SakerRun {
    device: Clocked,
    hub: Hub<KvQueue>,
    threads: Vec<Thread>,
    meter: CpuMeter,
    costs: HostCosts,
    depth: usize,
    interval: Duration,
    has_cache: bool,
    cache_before: CacheStats,
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
    pages_read: u64,
    copied_bytes: u64,
    layers: Layers,
}

impl SakerRun {
    fn start(build: &Build, job: &Job, batch: u16) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let host = build.attach(threads as u16, depth);
        let mut device = Clocked(build.timed(host.clone()));
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port(&host), &mut device, options)?;
        let queue_options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
        let mut queues = Vec::new();
        for _ in 0..threads {
            let mut queue = connection.create_kv_queue(&mut device, 1, queue_options)?;
            connection.set_transfer(&mut device, &mut queue, TransferOptions::default())?;
            queues.push(queue);
        }
        let options =
            Options { batch, eager: false, closed_max: 1, cache: build.cache, ..Options::default() };
        let thread = |n| Thread {
            busy: Instant::ZERO,
            state: State::Ready,
            next: n,
            calls: Vec::new(),
            sync: None,
            is_over: false,
            before: LaneStats::default(),
        };
        Ok(Self {
            device,
            hub: Hub::new(queues, options),
            threads: (0..threads).map(thread).collect(),
            meter: CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos())),
            costs: HostCosts::of(build),
            depth: usize::from(depth),
            interval: build.interval,
            has_cache: build.cache.bytes > 0,
            cache_before: CacheStats::default(),
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
            (t.busy, t.state, t.next, t.is_over, t.sync) = (begun, State::Ready, n, false, None);
        }
        (self.begun, self.result) = (begun, RunResult::new());
        self.before = self.counters();
        self.cache_before = self.hub.cache_stats();
    }

    /// A Flush that belongs to the job.
    fn flush(&mut self) {
        let begun = self.device.0.now();
        let wanted = self.hub.wanted_flush();
        while self.hub.poll_flush(0, wanted).is_none() {
            self.hub.ring(0);
            saker_host::Turn::turn(&mut self.device);
            self.hub.advance(0, &mut self.meter);
        }
        self.result.elapsed += self.device.0.now().since(begun);
    }

    fn counters(&mut self) -> Counters {
        let s = self.device.0.snapshot();
        let lanes = 0..self.hub.lanes();
        let host = lanes.map(|n| self.hub.with_wire(n, |queue| queue.stats().traffic()));
        Counters {
            commands: s.device.commands,
            traffic: host.fold(s.device.traffic, |sum, t| sum + t),
            pages: s.flash.pages_programmed,
            pages_read: s.flash.pages_read,
            copied_bytes: s.device.copied_bytes,
            layers: Layers::of(&s),
        }
    }

    /// The next thing that happens, at the device or in a thread. False when all is done.
    fn step(&mut self, job: &Job) -> bool {
        let acting = self.threads.iter().enumerate().filter(|(_, t)| t.state != State::Waiting);
        let first = acting.map(|(n, t)| (t.busy, n)).min();
        match (first, self.device.0.next_deadline()) {
            (Some((at, n)), deadline) if deadline.is_none_or(|d| at <= d) => self.act(n, at, job),
            (_, Some(deadline)) => {
                let before = self.device.0.stats_commands();
                self.device.0.step(deadline);
                if self.device.0.stats_commands() != before {
                    self.wake(deadline);
                }
            }
            _ => return false,
        }
        // What the device does afterwards on its own does not count.
        self.threads.iter().any(|t| !t.is_over)
    }

    fn act(&mut self, n: usize, at: Instant, job: &Job) {
        if self.threads[n].state == State::Ringing {
            self.hub.ring(n);
            self.threads[n].state = State::Ready;
            self.device.0.advance(at);
            return;
        }
        self.reap(n, at);
        if self.threads[n].busy > at {
            // Completions took the core meanwhile.
            return;
        }
        match job.operations.get(self.threads[n].next) {
            Some(Side::Put(key, value)) => self.put(n, at, job.threads.max(1), key, value),
            Some(Side::Get(key)) => self.get(n, at, job.threads.max(1), key),
            Some(Side::Wait) if self.threads[n].calls.is_empty() => {
                self.threads[n].next += job.threads.max(1)
            }
            Some(Side::Wait) => self.threads[n].state = State::Waiting,
            None => self.end(n, at),
        }
    }

    fn put(&mut self, n: usize, at: Instant, stride: usize, key: &[u8], value: &[u8]) {
        let Ok(name) = Key::new(key) else { return self.refuse(n, at, stride) };
        match self.hub.write(n, &name, Some(value), Cover::Session, &mut self.meter) {
            Ok(()) => {
                self.result.user_bytes += (key.len() + value.len()) as u64;
                let end = self.spend(n, at);
                self.threads[n].next += stride;
                self.note(at, end, true);
            }
            Err(Refusal::Busy | Refusal::Changed) => self.threads[n].state = State::Waiting,
            Err(Refusal::Broken(_)) => self.refuse(n, at, stride),
        }
    }

    fn get(&mut self, n: usize, at: Instant, stride: usize, key: &[u8]) {
        if self.threads[n].calls.len() >= self.depth {
            self.threads[n].state = State::Waiting;
            return;
        }
        let Ok(name) = Key::new(key) else { return self.refuse(n, at, stride) };
        let version = match self.seen(&name) {
            Err(version) => version,
            Ok(found) => {
                self.result.reads.pending += u64::from(found == Found::Pending);
                let end = self.spend(n, at);
                self.threads[n].next += stride;
                return self.note(at, end, found != Found::Deleted);
            }
        };
        match self.hub.call(n, Command::Retrieve(&name, RETRIEVE_BYTES)) {
            Ok(call) => {
                self.threads[n].calls.push(Read { call, key: name, version, started: at });
                self.threads[n].next += stride;
                self.spend(n, at);
            }
            Err(Refusal::Busy | Refusal::Changed) => self.threads[n].state = State::Waiting,
            Err(Refusal::Broken(_)) => self.refuse(n, at, stride),
        }
    }

    /// Where the newest value of a key is, if the host knows it; otherwise the version of its stripe.
    fn seen(&mut self, key: &Key) -> Result<Found, u64> {
        let Self { hub, meter, read, .. } = self;
        if hub.cached(key, meter, |value| read.bytes(value)).is_some() {
            return Ok(Found::Cached);
        }
        hub.look(key, meter, |write| {
            read.bytes(write.unwrap_or_default());
            if write.is_some() { Found::Pending } else { Found::Deleted }
        })
    }

    fn refuse(&mut self, n: usize, at: Instant, stride: usize) {
        self.threads[n].next += stride;
        self.result.note(at, at, false);
    }

    /// Nothing is left to write: what is buffered goes, and the thread waits for it and for its reads.
    fn end(&mut self, n: usize, at: Instant) {
        if self.threads[n].sync.is_none() {
            self.threads[n].sync = Some(self.hub.begin_sync(n));
            self.spend(n, at);
            return;
        }
        let t = &mut self.threads[n];
        t.state = State::Waiting;
        if t.calls.is_empty() && t.sync.as_ref().is_some_and(Sync::is_done) {
            t.is_over = true;
            self.result.errors += t.sync.as_ref().map_or(0, |sync| sync.take_failures().len() as u64);
            self.result.elapsed = self.result.elapsed.max(at.since(self.begun));
        } else if self.hub.is_idle(n) {
            // It waits behind what others have not sent.
            self.hub.push_out_all(&mut self.meter);
            self.device.0.advance(at);
        }
    }

    /// The thread's core is busy with what was metered and submitted since; a doorbell follows a submission.
    fn spend(&mut self, n: usize, at: Instant) -> Instant {
        let (now, t) = (self.hub.stats(n), &mut self.threads[n]);
        let before = std::mem::replace(&mut t.before, now);
        let commands = now.commands - before.commands;
        let pages = (now.bytes - before.bytes).div_ceil(PAGE_BYTES as u64);
        let mut work = self.meter.take()
            + self.costs.submit * commands
            + self.costs.page_map * pages
            + self.costs.complete * (now.completions - before.completions);
        if commands > 0 {
            work += self.costs.doorbell;
            t.state = State::Ringing;
        }
        self.result.host_busy += work;
        t.busy = t.busy.max(at) + work;
        t.busy
    }

    fn note(&mut self, from: Instant, to: Instant, ok: bool) {
        self.result.note(from, to, ok);
        self.result.count(to.since(self.begun), self.interval);
        self.result.elapsed = self.result.elapsed.max(to.since(self.begun));
    }

    /// Takes what has completed; each completion costs the thread's core, and so does each write that comes to its end.
    fn reap(&mut self, n: usize, at: Instant) -> bool {
        let before = self.hub.stats(n).completions;
        self.hub.advance_quietly(n, &mut self.meter);
        let taken = self.hub.stats(n).completions != before;
        if !taken && self.hub.stats(n).commands == self.threads[n].before.commands {
            return false;
        }
        let (mut open, mut ended) = (Vec::new(), Vec::new());
        for call in std::mem::take(&mut self.threads[n].calls) {
            match self.take(n, &call) {
                None => open.push(call),
                Some(ok) => ended.push((call.started, ok)),
            }
        }
        self.threads[n].calls = open;
        let end = self.spend(n, at);
        ended.into_iter().for_each(|(started, ok)| self.note(started, end, ok));
        true
    }

    /// Whether a read was answered well, once it is; its value goes to the cache.
    fn take(&mut self, n: usize, call: &Read) -> Option<bool> {
        let Self { hub, meter, read, result, has_cache, .. } = self;
        let answer = hub.take_call(n, call.call, |reply| {
            read.bytes(&reply.data);
            let is_whole = reply.status.is_success() && reply.data.len() == reply.dw0 as usize;
            (reply.status.is_success(), is_whole.then(|| reply.data.clone()))
        })?;
        let Ok((ok, value)) = answer else { return Some(false) };
        result.reads.commands += 1;
        if let Some(value) = value {
            let is_entered = hub.fill(&call.key, &value, call.version, meter);
            result.reads.unfilled += u64::from(!is_entered && *has_cache);
        }
        Some(ok)
    }

    /// Waiting threads look at their completion queues.
    fn wake(&mut self, at: Instant) {
        for n in 0..self.threads.len() {
            let t = &self.threads[n];
            if t.state == State::Waiting
                && !t.is_over
                && self.reap(n, at)
                && self.threads[n].state == State::Waiting
            {
                self.threads[n].state = State::Ready;
            }
        }
    }

    fn finish(&mut self, build: &Build) -> RunResult {
        let after = self.counters();
        let mut r = std::mem::take(&mut self.result);
        r.cache = self.hub.cache_stats().since(&self.cache_before);
        r.reads = ReadPath { nand_pages: after.pages_read - self.before.pages_read, ..r.reads };
        r.commands = after.commands - self.before.commands;
        r.note_traffic(after.traffic - self.before.traffic);
        r.nand_pages = after.pages - self.before.pages;
        r.copied_bytes = after.copied_bytes - self.before.copied_bytes;
        r.layers = after.layers - self.before.layers;
        r.nand_bytes = r.nand_pages * u64::from(build.shape.geometry.page_bytes);
        r.traces = self.device.0.take_traces();
        r.counters = self.device.0.snapshot().namespaces.into_iter().flat_map(|n| n.counters).collect();
        self.read.number(self.device.0.digest());
        self.read.number(r.elapsed.as_nanos());
        r.digest = self.read.value();
        r
    }
}
