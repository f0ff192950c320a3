// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Stores against the operating system's clock: application threads, and the device on a thread of its own.
//! What `saker compare` runs in timings `real` and `off`.
//!
//! Operations are dealt round to the threads as in virtual time, and each keeps as many in flight: one loop for all stores. DiskKV's
//! threads have a queue pair each; HostKV's share the store behind a lock, so that its cost is in the numbers, other than in virtual
//! time, where neither side has a lock.

mod at_host;
mod cpus;
mod driver;
mod host;
mod sessions;

pub use at_host::{Failed, HYBRID_COUNTERS, OpenAtHost, WaitingStore, add_at_host};
pub use cpus::{Cpus, How};

use driver::{OnClock, drive};
use host::HostOnClock;
use saker::url::Timing;
use saker_assembly::Build;
use saker_device::{Attachment, Stats};
use saker_host::{HostError, ProtocolError, Spin};
use saker_link::Traffic;
use saker_runtime::{AnyDevice, DeviceThread};
use saker_sim::Instant;
use saker_world::stores::host_kv::block_depth;
use saker_world::stores::{DiskLane, DiskStore, Dual};
use saker_world::{GroupLimits, Job, RunResult, StoreKind};
use sessions::SessionsOnClock;
use std::time::Instant as Clock;

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

/// Runs jobs one after the other on one store of that kind; all have the threads and the depth of the first. A job's transfer
/// options are not looked at: values go by PRPs.
///
/// # Errors
/// [`HostError`].
pub fn run_real(
    kind: StoreKind,
    build: &Build,
    how: impl Into<How>,
    jobs: &[Job],
) -> Result<RealRun, HostError> {
    let how = &how.into();
    let Some(first) = jobs.first() else { return Ok(RealRun::default()) };
    let pairs = u16::try_from(first.threads.max(1)).map_err(|_| refused())?;
    if let (StoreKind::Host, true) = (kind, build.engine.has_workers()) {
        let open = at_host::at_host(build.engine).ok_or_else(refused)?;
        return at_host::run_at_host(open, build, &how.cpus, jobs);
    }
    if let (StoreKind::Hybrid(options), true) = (kind, build.engine.has_workers()) {
        return at_host::run_hybrid(options.rollback, build, &how.cpus, jobs);
    }
    let (pairs, depth) = match kind {
        StoreKind::Host => (1, block_depth(first)),
        StoreKind::Hybrid(_) => (2, block_depth(first)),
        _ => (pairs, first.depth.max(1)),
    };
    let dual = match kind {
        StoreKind::Hybrid(options) => Dual { options, ..Dual::default() },
        _ => Dual::default(),
    };
    let device = if let StoreKind::Hybrid(_) = kind { dual.device(build) } else { build.clone() };
    let host = device.attach(pairs, depth);
    let running = Running::start(&device, how, &host);
    let run = (build, how, jobs);
    let disk = |groups| DiskStore::over(Spin, &host, build, jobs, groups);
    match kind {
        StoreKind::Disk
        | StoreKind::Groups { .. }
        | StoreKind::Transactions { .. }
        | StoreKind::Bulk { .. } => {
            let limits = kind.together().map(|(n, carried)| GroupLimits::of(build, jobs, n).by(carried));
            drive(disk(limits)?, running, run)
        }
        StoreKind::Sessions { batch } => {
            drive(SessionsOnClock::connect(build, &host, first, batch)?, running, run)
        }
        StoreKind::Host => drive(HostOnClock::connect(build, &host, first)?, running, run),
        StoreKind::Hybrid(_) => {
            drive(HostOnClock::hybrid((build, &device), &dual, &host, first)?, running, run)
        }
    }
}

impl OnClock for DiskStore<Spin> {
    fn traffic(&self, lanes: &[&DiskLane]) -> Traffic {
        lanes.iter().fold(Traffic::default(), |sum, lane| sum + lane.traffic())
    }
}

/// A device on its thread, stopped for a moment whenever somebody counts.
struct Running {
    thread: Option<DeviceThread>,
    cpus: Vec<usize>,
    events: u64,
    late: u64,
    before: (u64, Traffic, u64),
}

impl Running {
    fn start(build: &Build, how: &How, host: &Attachment) -> Self {
        let device = match how.timing {
            Timing::Off => AnyDevice::Untimed(Box::new(build.untimed(host.clone()))),
            Timing::Real => AnyDevice::Timed(Box::new(build.timed(host.clone()))),
        };
        Self {
            thread: Some(DeviceThread::start_on(device, &how.cpus.device)),
            cpus: how.cpus.device.clone(),
            events: 0,
            late: 0,
            before: (0, Traffic::default(), 0),
        }
    }

    fn stats(&mut self) -> Stats {
        let thread = self.thread.take().expect("it always runs again");
        let (events, late) = thread.lag().counts();
        let mut device = thread.stop();
        let snapshot = device.stats();
        (self.events, self.late) = (self.events + events, self.late + late);
        self.thread = Some(DeviceThread::start_on(device, &self.cpus));
        snapshot
    }

    /// Commands, what crossed the link and NAND pages since the last call.
    fn count(&mut self, host: Traffic) -> (u64, Traffic, u64) {
        let s = self.stats();
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

/// Runs `worker` on a thread for each of `workers`, and joins what they measured. Time runs from before the first starts.
fn on_threads<T: Send>(
    workers: &mut [T],
    cpus: &Cpus,
    worker: impl Fn(usize, &mut T, Clock) -> Result<RunResult, HostError> + Sync,
) -> Result<RunResult, HostError> {
    let begun = Clock::now();
    let mut all = RunResult::new();
    let run = |n: usize, state: &mut T| {
        cpus.pin_host(n);
        worker(n, state, begun)
    };
    let results: Vec<_> = std::thread::scope(|scope| {
        let run = &run;
        let started: Vec<_> =
            workers.iter_mut().enumerate().map(|(n, state)| scope.spawn(move || run(n, state))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        started.into_iter().map(join).collect()
    });
    for result in results {
        all.join(&result?);
    }
    Ok(all)
}

/// A wait that lets other threads run when it takes long: there may be more threads than cores.
#[derive(Debug, Default)]
struct Pause(u32);

impl Pause {
    const SPINS: u32 = 200;

    fn wait(&mut self) {
        self.0 += 1;
        if self.0 < Self::SPINS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }

    fn reset(&mut self) {
        self.0 = 0;
    }
}

fn refused() -> HostError {
    ProtocolError::Queues.into()
}
