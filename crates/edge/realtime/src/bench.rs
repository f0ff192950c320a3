//! HostKV and DiskKV against the operating system's clock: one application thread, the device on a thread of
//! its own. What `saker compare` runs in timings `real` and `off`.

use crate::any::{AnyDevice, DeviceThread};
use crate::url::Timing;
use saker_device::{Attachment, NamespaceKind, Snapshot};
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockMedium, HostKv, Op, Ticket};
use saker_host::{ConnectOptions, Connection, HostError, KvQueue, ProtocolError, Spin};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_sim::{Duration, Free, Instant};
use saker_world::build::port;
use saker_world::{Build, Job, KvBlockQueue, RunResult, Side};
use std::time::Instant as Clock;

/// Block commands HostKV keeps in flight.
const BLOCK_DEPTH: u16 = 128;
const EXTENT_BYTES: u64 = 8 << 20;
/// Bytes that a retrieve asks for at first, and that a slot's own page takes.
const PAGE: usize = 4096;

/// Results of several jobs, and the device's events and how many of them came later than 5 us.
#[derive(Debug, Default)]
pub struct RealRun {
    /// One for each job.
    pub results: Vec<RunResult>,
    /// Events handled.
    pub events: u64,
    /// Events handled late.
    pub late: u64,
}

/// A device on its thread, stopped for a moment whenever somebody counts.
struct Running {
    thread: Option<DeviceThread>,
    events: u64,
    late: u64,
    before: (u64, Traffic, u64),
}

impl Running {
    fn start(build: &Build, timing: Timing, host: &Attachment) -> Self {
        let device = match timing {
            Timing::Off => AnyDevice::Memory(Box::new(build.untimed(host.clone()))),
            Timing::Real => AnyDevice::MemoryTimed(Box::new(build.timed(host.clone()))),
        };
        Self {
            thread: Some(DeviceThread::start(device)),
            events: 0,
            late: 0,
            before: (0, Traffic::default(), 0),
        }
    }

    fn snapshot(&mut self) -> Snapshot {
        let thread = self.thread.take().expect("it always runs again");
        let (events, late) = thread.lag().counts();
        let mut device = thread.stop();
        let snapshot = device.snapshot();
        (self.events, self.late) = (self.events + events, self.late + late);
        self.thread = Some(DeviceThread::start(device));
        snapshot
    }

    /// Commands, link bytes and NAND pages since the last call.
    fn count(&mut self, host: Traffic) -> (u64, Traffic, u64) {
        let s = self.snapshot();
        let now = (s.device.commands, s.device.traffic + host, s.flash.pages_programmed);
        let before = std::mem::replace(&mut self.before, now);
        (now.0 - before.0, now.1 - before.1, now.2 - before.2)
    }

    fn fill(&mut self, result: &mut RunResult, host: Traffic, page_bytes: u32) {
        let (commands, traffic, nand_pages) = self.count(host);
        (result.commands, result.nand_pages) = (commands, nand_pages);
        result.note_traffic(traffic);
        result.nand_bytes = result.nand_pages * u64::from(page_bytes);
    }
}

/// Time since `begun`.
fn since(begun: Clock) -> Instant {
    Instant::from_nanos(begun.elapsed().as_nanos() as u64)
}

/// Runs jobs on DiskKV, one after the other on one device.
///
/// # Errors
/// [`HostError`].
pub fn run_disk_kv_real(build: &Build, timing: Timing, jobs: &[Job]) -> Result<RealRun, HostError> {
    let depth = jobs.first().map_or(1, |job| job.depth.max(1));
    let host = build.attach(1, depth);
    let mut running = Running::start(build, timing, &host);
    let mut connection = Connection::connect(port(&host), &mut Spin, ConnectOptions::default())?;
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let mut queue = connection.create_kv_queue(&mut Spin, 1, options)?;
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let mut result = disk_job(&mut queue, job)?;
        let stats = queue.stats();
        running.fill(&mut result, stats.traffic(), build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

fn disk_job(queue: &mut KvQueue, job: &Job) -> Result<RunResult, HostError> {
    let mut result = RunResult::new();
    let mut started = vec![Instant::ZERO; queue.slots()];
    let begun = Clock::now();
    let (mut next, mut done) = (0, 0);
    while done < job.operations.len() {
        let mut submitted = false;
        while next < job.operations.len() && queue.in_flight() < usize::from(job.depth.max(1)) {
            let slot = submit(queue, &job.operations[next])?;
            started[usize::from(slot)] = since(begun);
            result.user_bytes += user_bytes(&job.operations[next]);
            next += 1;
            submitted = true;
        }
        if submitted {
            queue.ring();
        }
        while let Some(taken) = queue.poll(|d| (d.ticket.slot(), d.status.is_success())) {
            let (slot, ok) = taken.map_err(|_| HostError::from(ProtocolError::Queues))?;
            result.note(started[usize::from(slot)], since(begun), ok);
            done += 1;
        }
        std::hint::spin_loop();
    }
    if job.flush && queue.flush().is_ok() {
        queue.ring();
        while queue.poll(|_| ()).is_none() {
            std::hint::spin_loop();
        }
    }
    result.elapsed = since(begun).since(Instant::ZERO);
    Ok(result)
}

fn submit(queue: &mut KvQueue, operation: &Side) -> Result<u16, HostError> {
    let refused = || HostError::from(ProtocolError::Queues);
    let key = |key: &[u8]| Key::new(key).map_err(|_| refused());
    let ticket = match operation {
        Side::Put(k, v) if v.len() <= PAGE => {
            queue.store(&key(k)?, v, StoreOptions::NONE).map_err(|_| refused())?
        }
        Side::Put(k, v) => {
            queue.store_owned(&key(k)?, v.clone(), StoreOptions::NONE).map_err(|_| refused())?
        }
        Side::Get(k) => queue.retrieve(&key(k)?, PAGE as u32).map_err(|_| refused())?,
    };
    Ok(ticket.slot())
}

fn user_bytes(operation: &Side) -> u64 {
    match operation {
        Side::Put(key, value) => (key.len() + value.len()) as u64,
        Side::Get(_) => 0,
    }
}

/// Runs jobs on HostKV, one after the other over one block namespace.
///
/// # Errors
/// [`HostError`].
pub fn run_host_kv_real(build: &Build, timing: Timing, jobs: &[Job]) -> Result<RealRun, HostError> {
    let host = build.attach(1, BLOCK_DEPTH);
    let mut running = Running::start(build, timing, &host);
    let mut connection = Connection::connect(port(&host), &mut Spin, ConnectOptions::default())?;
    let options = KvQueueOptions { entries: u32::from(BLOCK_DEPTH) + 1, slots: BLOCK_DEPTH };
    let queue = connection.create_kv_queue(&mut Spin, 1, options)?;
    let NamespaceKind::Block { block_bytes, blocks } = build.config.namespaces[0].kind else {
        return Err(ProtocolError::Queues.into());
    };
    let mut medium = BlockMedium::new(KvBlockQueue::new(queue, block_bytes, blocks), EXTENT_BYTES);
    medium.take_empty();
    let mut store = HostKv::over(medium);
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let mut result = host_job(&mut store, job);
        let stats = store.queue_mut().queue().stats();
        running.fill(&mut result, stats.traffic(), build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

fn host_job(store: &mut HostKv<KvBlockQueue>, job: &Job) -> RunResult {
    let mut result = RunResult::new();
    let begun = Clock::now();
    for operation in &job.operations {
        let from = since(begun);
        result.user_bytes += user_bytes(operation);
        let op = match operation {
            Side::Put(key, value) => Op::Put(key.clone(), value.clone()),
            Side::Get(key) => Op::Get(key.clone()),
        };
        let ok = match store.submit(op, &mut Free) {
            Ok(outcome) => outcome.is_ok(),
            Err(ticket) => wait(store, ticket),
        };
        store.queue_mut().ring();
        result.note(from, since(begun), ok);
    }
    if job.flush
        && let Err(ticket) = store.submit(Op::Flush, &mut Free)
    {
        wait(store, ticket);
    }
    result.elapsed = Duration::from_nanos(begun.elapsed().as_nanos() as u64);
    result
}

fn wait(store: &mut HostKv<KvBlockQueue>, ticket: Ticket) -> bool {
    let mut answer = None;
    while answer.is_none() {
        store.queue_mut().ring();
        store.advance(&mut Free, |t, outcome| {
            if t == ticket {
                answer = Some(outcome.is_ok());
            }
        });
        std::hint::spin_loop();
    }
    answer == Some(true)
}
