//! DiskKV in virtual time: modelled application threads, each with a queue pair, on a KV namespace.

mod ahead;
mod submit;

use crate::groups::GroupLimits;
use crate::joined::Clocked;
use crate::layers::{Layers, ValueLog};
use crate::result::{Job, RunResult, Side};
use ahead::foresee;
use saker_assembly::{Build, port};
use saker_device::{Device, Timed};
use saker_host::connect::KvQueueOptions;
use saker_host::transfer::Available;
use saker_host::{ConnectOptions, Connection, HostError, KvQueue, QueueStats, SubmitError, TransferOptions};
use saker_link::{PAGE_BYTES, Traffic};
use saker_sim::{CpuMeter, CpuPrices, Digest, Duration, Instant, Meter as _, Unit};
use submit::{Sending, Sent, queue_entries};

pub(crate) use submit::user_bytes;
pub use submit::{STAGED_BYTES, retrieve_bytes};

/// The host's costs per command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCosts {
    pub submit: Duration,
    pub doorbell: Duration,
    pub complete: Duration,
    pub page_map: Duration,
    pub mmio_store: Duration,
}

impl HostCosts {
    pub fn of(build: &Build) -> Self {
        let ns = Duration::from_nanos;
        let h = &build.profile.host;
        Self {
            submit: ns(h.submit_ns.get()),
            doorbell: ns(build.profile.link.doorbell_write_ns.get()),
            complete: ns(h.poll_ns.get() + h.complete_ns.get()),
            page_map: ns(build.profile.transfer.host_page_map_ns.get()),
            mmio_store: ns(build.profile.transfer.mmio_store_ns.get()),
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
    /// By slot: since when its command is on its way, and how many operations are in it.
    started: Vec<(Instant, usize)>,
}

/// Runs jobs one after the other on one device; all have the threads and the depth of the first. The same
/// arguments give the same results on any machine.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_disk_kv(build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
    run_disk(build, jobs, None)
}

/// As [`run_disk_kv`], with up to `operations` puts or gets in one group command: what an application that has them together
/// sends. A job's depth counts commands; an operation takes as long as its group.
///
/// # Errors
/// [`HostError`] if the device cannot be connected to.
pub fn run_disk_groups(build: &Build, jobs: &[Job], operations: usize) -> Result<Vec<RunResult>, HostError> {
    run_disk(build, jobs, Some(GroupLimits::of(build, jobs, operations)))
}

fn run_disk(build: &Build, jobs: &[Job], groups: Option<GroupLimits>) -> Result<Vec<RunResult>, HostError> {
    let Some(first) = jobs.first() else { return Ok(Vec::new()) };
    let by_methods = jobs.iter().any(|job| job.transfer != TransferOptions::default());
    let mut run = DiskRun::start(build, first, by_methods)?;
    run.sending = Sending { groups, retrieve_bytes: retrieve_bytes(jobs, STAGED_BYTES), ..run.sending };
    Ok(jobs.iter().map(|job| run.run(build, job)).collect())
}

pub(crate) struct DiskRun {
    device: Clocked,
    threads: Vec<Thread>,
    available: Available,
    costs: HostCosts,
    stride: usize,
    depth: usize,
    sending: Sending,
    /// What packing groups costs the host.
    meter: CpuMeter,
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
    copied_bytes: u64,
    layers: Layers,
}

impl DiskRun {
    /// One job from its begin to its end.
    pub(crate) fn run(&mut self, build: &Build, job: &Job) -> RunResult {
        self.begin(job);
        while self.step(job) {}
        if job.flush {
            self.flush();
        }
        self.finish(build)
    }

    pub(crate) fn device(&mut self) -> &mut Device<Timed> {
        &mut self.device.0
    }

    pub(crate) fn start(build: &Build, job: &Job, by_methods: bool) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let host = build.attach(threads as u16, depth);
        Self::on(build.timed(host), build, job, by_methods)
    }

    /// On a device whose host has room for the threads and the depth of the job.
    pub(crate) fn on(
        device: Device<Timed>,
        build: &Build,
        job: &Job,
        by_methods: bool,
    ) -> Result<Self, HostError> {
        let (threads, depth) = (job.threads.max(1), job.depth.max(1));
        let port = port(device.attachment());
        let mut device = Clocked(device);
        let options = ConnectOptions { io_queues: threads as u16, ..ConnectOptions::default() };
        let mut connection = Connection::connect(port, &mut device, options)?;
        let queue_options = KvQueueOptions { entries: queue_entries(by_methods, depth), slots: depth };
        let mut all = Vec::new();
        for n in 0..threads {
            let queue = connection.create_kv_queue(&mut device, 1, queue_options)?;
            let started = vec![(Instant::ZERO, 0); usize::from(depth)];
            all.push(Thread { queue, busy: Instant::ZERO, state: State::Ready, next: n, started });
        }
        let available = match all.first() {
            Some(t) if by_methods => {
                let entries = t.queue.pair().sq_entries();
                connection.transfer_methods(&mut device, entries)?
            }
            _ => Available::default(),
        };
        Ok(Self {
            device,
            available,
            threads: all,
            costs: HostCosts::of(build),
            stride: threads,
            depth: usize::from(depth),
            sending: Sending { small: 0, retrieve_bytes: STAGED_BYTES, groups: None },
            meter: CpuMeter::new(CpuPrices::from_picos(build.profile.host.cpu.picos())),
            result: RunResult::new(),
            read: Digest::default(),
            begun: Instant::ZERO,
            before: Counters::default(),
        })
    }

    /// A job begins: everything counts from here.
    fn begin(&mut self, job: &Job) {
        let begun = self.device.0.now();
        for (n, t) in self.threads.iter_mut().enumerate() {
            (t.busy, t.state, t.next) = (begun, State::Ready, n);
            t.queue.set_transfer(job.transfer.clone(), self.available);
        }
        self.sending.small = job.transfer.small_reads;
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
        Counters {
            commands: s.device.commands,
            traffic,
            pages: s.flash.pages_programmed,
            copied_bytes: s.device.copied_bytes,
            layers: Layers::of(&s),
        }
    }

    /// The next thing that happens in a thread, or what the device does before it. False when all is done.
    fn step(&mut self, job: &Job) -> bool {
        let acting = self.threads.iter().enumerate().filter(|(_, t)| t.state != State::Waiting);
        let Some((at, n)) = acting.map(|(n, t)| (t.busy, n)).min() else {
            let is_over = self.device.0.next_deadline().is_none();
            self.run_device(Instant::FAR);
            return !is_over;
        };
        if self.run_device(at) {
            self.act(n, at, job);
        }
        true
    }

    /// Handles the device's events before `until`, up to the first that completes a command: until then no thread
    /// changes. True if none did.
    fn run_device(&mut self, until: Instant) -> bool {
        let before = self.device.0.stats_commands();
        // Threads go before events of the same time.
        let Some(last) = until.as_nanos().checked_sub(1) else { return true };
        while let Some(at) = self.device.0.next_event(Instant::from_nanos(last)) {
            if self.device.0.stats_commands() != before {
                self.wake(at);
                return false;
            }
        }
        true
    }

    fn act(&mut self, n: usize, at: Instant, job: &Job) {
        self.reap(n, at);
        let t = &mut self.threads[n];
        if t.state == State::Ringing {
            t.queue.ring();
            t.state = State::Ready;
            self.device.0.advance(at);
            self.reap(n, at);
        }
        let t = &mut self.threads[n];
        if t.busy > at {
            // Completions took the core meanwhile.
            return;
        }
        let before = t.queue.stats();
        if t.queue.is_amid_value() {
            t.state = State::Waiting;
            if t.queue.continue_value() > 0 {
                self.submitted(n, at, before);
            }
            return;
        }
        if job.operations.get(t.next) == Some(&Side::Wait) && t.queue.in_flight() == 0 {
            t.next += self.stride;
            return;
        }
        let is_free = |operation: &&Side| **operation != Side::Wait && t.queue.in_flight() < self.depth;
        let operation = job.operations.get(t.next).filter(is_free);
        let Some(operation) = operation else {
            t.state = State::Waiting;
            return;
        };
        let next = job.operations.iter().skip(t.next).step_by(self.stride);
        let sent = match self.sending.submit(&mut t.queue, operation, next) {
            Ok(sent) => sent,
            // Entries or the BAR are full: a completion makes room.
            Err(Some(SubmitError::Full)) if t.queue.in_flight() > 0 => {
                t.state = State::Waiting;
                return;
            }
            Err(_) => {
                t.next += self.stride;
                self.result.note(at, at, false);
                return;
            }
        };
        t.next += self.stride * sent.operations;
        t.started[usize::from(sent.slot)] = (at, sent.operations);
        foresee(&job.operations, t.next, self.stride);
        self.result.user_bytes += sent.user_bytes;
        self.pack(&sent);
        self.submitted(n, at, before);
    }

    /// A group is written into its payload: key and value of each operation.
    fn pack(&mut self, sent: &Sent) {
        if sent.packed_bytes > 0 {
            self.meter.work(Unit::Encode, sent.operations as u64);
            self.meter.work(Unit::CopyByte, sent.packed_bytes as u64);
        }
    }

    /// Commands were put into the queue: the thread's core is busy with them, then rings.
    fn submitted(&mut self, n: usize, at: Instant, before: QueueStats) {
        let (t, costs) = (&mut self.threads[n], self.costs);
        let now = t.queue.stats();
        let pages = (now.page_bytes_to_device - before.page_bytes_to_device) / PAGE_BYTES as u64;
        let work = self.meter.take()
            + costs.submit * (now.commands - before.commands)
            + costs.page_map * pages
            + costs.mmio_store * (now.mmio_stores - before.mmio_stores);
        t.busy = at + work + costs.doorbell;
        t.state = State::Ringing;
        self.result.host_busy += work + costs.doorbell;
    }

    /// Takes what has completed; each completion costs the thread's core.
    #[inline]
    fn reap(&mut self, n: usize, at: Instant) {
        if self.threads[n].queue.has_news() {
            self.take_news(n, at);
        }
    }

    /// True if anything has completed.
    fn take_news(&mut self, n: usize, at: Instant) -> bool {
        let Self { threads, costs, result, read, .. } = self;
        let t = &mut threads[n];
        let mut busy = t.busy.max(at);
        let mut seen = t.queue.stats().completions;
        let taken = seen;
        while let Some(done) = t.queue.poll(|done| {
            if !done.data().is_empty() {
                read.bytes(done.data());
            }
            (done.ticket.slot(), done.status.is_success(), done.result)
        }) {
            let Ok((slot, ok, dw0)) = done else { continue };
            // Parts of a value cost as much as any completion.
            let completions = t.queue.stats().completions;
            busy = busy + costs.complete * (completions - seen);
            seen = completions;
            let (started, operations) = t.started[usize::from(slot)];
            note(result, (started, busy), operations, if ok { failed(operations, dw0) } else { operations });
        }
        let completions = t.queue.stats().completions;
        busy = busy + costs.complete * (completions - seen);
        result.host_busy += costs.complete * (completions - taken);
        if completions != taken {
            t.busy = busy;
            result.elapsed = result.elapsed.max(busy.since(self.begun));
        }
        completions != taken
    }

    /// Waiting threads look at their completion queues.
    fn wake(&mut self, at: Instant) {
        for n in 0..self.threads.len() {
            let t = &self.threads[n];
            if t.state == State::Waiting && t.queue.has_news() && self.take_news(n, at) {
                self.threads[n].state = State::Ready;
            }
        }
    }

    fn finish(&mut self, build: &Build) -> RunResult {
        let after = self.counters();
        let mut r = std::mem::take(&mut self.result);
        r.commands = after.commands - self.before.commands;
        r.note_traffic(after.traffic - self.before.traffic);
        r.nand_pages = after.pages - self.before.pages;
        r.copied_bytes = after.copied_bytes - self.before.copied_bytes;
        r.layers = after.layers - self.before.layers;
        let snapshot = self.device.0.snapshot();
        r.value_log = ValueLog::of(&snapshot);
        r.counters = snapshot.namespaces.into_iter().flat_map(|n| n.counters).collect();
        r.nand_bytes = r.nand_pages * u64::from(build.shape.geometry.page_bytes);
        r.traces = self.device.0.take_traces();
        self.read.number(self.device.0.digest());
        self.read.number(r.elapsed.as_nanos());
        r.digest = self.read.value();
        r
    }
}

/// Operations of a command that failed although it did not: a group tells how many in DW0.
fn failed(operations: usize, dw0: u32) -> usize {
    if operations > 1 { dw0 as usize } else { 0 }
}

fn note(result: &mut RunResult, (from, to): (Instant, Instant), operations: usize, failed: usize) {
    (0..operations).for_each(|n| result.note(from, to, n >= failed));
}
