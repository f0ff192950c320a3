//! HostKV: the threads share one store, over one queue pair on the block namespace.

use super::{How, Pause, RealRun, Running, on_threads, refused, share, since, user_bytes};
use saker_assembly::Build;
use saker_assembly::port;
use saker_device::NamespaceKind;
use saker_host::connect::KvQueueOptions;
use saker_host::host_kv::{BlockMedium, HostKv, KvBlockQueue, Op, Ticket, Work};
use saker_host::{ConnectOptions, Connection, HostError, Spin};
use saker_link::Traffic;
use saker_sim::Instant;
use saker_world::{Job, RunResult, Side, block_depth};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant as Clock;

const EXTENT_BYTES: u64 = 8 << 20;
/// Quanta of background work that a thread does for the store each time it looks at it.
const QUANTA: u32 = 4;

/// The store, and what has completed and not been fetched by its thread: whether it went well.
struct Shared {
    store: HostKv,
    done: BTreeMap<Ticket, bool>,
}

impl Shared {
    /// Sends what was submitted and takes what has completed, whoever waits for it.
    fn advance(&mut self) {
        self.store.ring();
        let done = &mut self.done;
        self.store.advance(Work::Free, &mut |ticket, outcome| {
            done.insert(ticket, outcome.is_ok());
        });
        self.store.background(QUANTA, Work::Free);
        self.store.ring();
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // A thread that panicked has its panic passed on when it is joined.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs jobs on HostKV, one after the other over one block namespace; all have the threads and the depth of the first.
///
/// # Errors
/// [`HostError`].
pub fn run_host_kv_real(build: &Build, how: impl Into<How>, jobs: &[Job]) -> Result<RealRun, HostError> {
    let how = how.into();
    let Some(first) = jobs.first() else { return Ok(RealRun::default()) };
    let depth = block_depth(first);
    let host = build.attach(1, depth);
    let mut running = Running::start(build, &how, &host);
    let shared = Mutex::new(Shared { store: store(build, &host, depth)?, done: BTreeMap::new() });
    let mut workers: Vec<BTreeMap<Ticket, Instant>> = vec![BTreeMap::new(); first.threads.max(1)];
    let threads = workers.len();
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let cache = lock(&shared).store.cache_stats();
        let begun = Clock::now();
        let work = |n, flights: &mut _, begun| Ok(worker(&shared, flights, job, n, threads, begun));
        let mut result = on_threads(&mut workers, &how.cpus, work)?;
        if job.flush {
            flush(&shared);
            result.elapsed = since(begun).since(Instant::ZERO);
        }
        let stats = lock(&shared).store.queue().stats();
        result.cache = lock(&shared).store.cache_stats().since(&cache);
        running.fill(&mut result, stats.traffic(), build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

fn store(build: &Build, host: &saker_device::Attachment, depth: u16) -> Result<HostKv, HostError> {
    let mut connection = Connection::connect(port(host), &mut Spin, ConnectOptions::default())?;
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let queue = connection.create_kv_queue(&mut Spin, 1, options)?;
    let NamespaceKind::Block { block_bytes, blocks } = build.config.namespaces[0].kind else {
        return Err(refused());
    };
    let blocks = KvBlockQueue::new(queue, block_bytes, blocks);
    let mut medium = BlockMedium::with_pages(blocks, EXTENT_BYTES, build.host_page_bytes);
    medium.take_empty();
    Ok(HostKv::over_tuned(build.engine, &build.host_engine(), medium).with_cache(build.cache))
}

fn worker(
    shared: &Mutex<Shared>,
    flights: &mut BTreeMap<Ticket, Instant>,
    job: &Job,
    n: usize,
    threads: usize,
    begun: Clock,
) -> RunResult {
    let mut result = RunResult::new();
    let mut operations = share(job, n, threads).peekable();
    let (depth, mut pause) = (usize::from(job.depth.max(1)), Pause::default());
    while operations.peek().is_some() || !flights.is_empty() {
        let mut shared = lock(shared);
        if flights.len() < depth
            && let Some(operation) = operations.next_if(|op| **op != Side::Wait || flights.is_empty())
        {
            submit(&mut shared, operation, flights, &mut result, begun);
        }
        shared.advance();
        let before = result.operations;
        fetch(&mut shared, flights, &mut result, begun);
        drop(shared);
        if result.operations != before || flights.len() < depth {
            pause.reset();
        } else {
            pause.wait();
        }
    }
    result.elapsed = since(begun).since(Instant::ZERO);
    result
}

fn submit(
    shared: &mut Shared,
    operation: &Side,
    flights: &mut BTreeMap<Ticket, Instant>,
    result: &mut RunResult,
    begun: Clock,
) {
    let from = since(begun);
    result.user_bytes += user_bytes(operation);
    let op = match operation {
        Side::Put(key, value) => Op::Put(key.clone(), value.clone()),
        Side::Get(key) => Op::Get(key.clone()),
        Side::Wait => return,
    };
    match shared.store.submit(op, Work::Free) {
        Ok(outcome) => result.note(from, since(begun), outcome.is_ok()),
        Err(ticket) => {
            flights.insert(ticket, from);
        }
    }
}

/// Notes what has completed of a thread's operations.
fn fetch(shared: &mut Shared, flights: &mut BTreeMap<Ticket, Instant>, result: &mut RunResult, begun: Clock) {
    if shared.done.is_empty() {
        return;
    }
    flights.retain(|ticket, from| match shared.done.remove(ticket) {
        None => true,
        Some(ok) => {
            result.note(*from, since(begun), ok);
            false
        }
    });
}

fn flush(shared: &Mutex<Shared>) {
    let mut shared = lock(shared);
    let Err(ticket) = shared.store.submit(Op::Flush, Work::Free) else { return };
    let mut pause = Pause::default();
    while shared.done.remove(&ticket).is_none() {
        shared.advance();
        pause.wait();
    }
}
