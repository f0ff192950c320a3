//! DiskKV with SAKER's host layer: every thread has a session.

use super::{How, RealRun, Running, on_threads, refused, share, since, user_bytes};
use saker_assembly::Build;
use saker_assembly::port;
use saker_host::connect::KvQueueOptions;
use saker_host::session::{Hub, Options, Session, SyncError};
use saker_host::{ConnectOptions, Connection, HostError, KvQueue, Patience, Spin, TransferOptions};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_runtime::pause::Pausing;
use saker_sim::Instant;
use saker_world::{Job, RunResult, Side};
use std::sync::Arc;
use std::time::Instant as Clock;

/// Runs jobs through sessions with containers of `batch` writes, one after the other on one device; all have the threads
/// and the depth of the first. Each thread syncs at the end of a job.
///
/// # Errors
/// [`HostError`].
pub fn run_saker_real(
    build: &Build,
    how: impl Into<How>,
    jobs: &[Job],
    batch: u16,
) -> Result<RealRun, HostError> {
    let how = how.into();
    let Some(first) = jobs.first() else { return Ok(RealRun::default()) };
    let (threads, depth) = (first.threads.max(1), first.depth.max(1));
    let pairs = u16::try_from(threads).map_err(|_| refused())?;
    let host = build.attach(pairs, depth);
    let mut running = Running::start(build, &how, &host);
    let options = ConnectOptions { io_queues: pairs, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut Spin, options)?;
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let mut queue = || {
        let mut queue = connection.create_kv_queue(&mut Spin, 1, options)?;
        connection.set_transfer(&mut Spin, &mut queue, TransferOptions::default())?;
        Ok(queue)
    };
    let queues = (0..threads).map(|_| queue()).collect::<Result<Vec<KvQueue>, HostError>>()?;
    let hub = Arc::new(Hub::new(
        queues,
        Options { batch, volatile: false, cache: build.cache, ..Options::default() },
    ));
    let session =
        |n| Session::new(Arc::clone(&hub), (n, n), Pausing::default(), u32::MAX, Patience::default());
    let mut sessions: Vec<_> = (0..threads).map(session).collect();
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let begun = Clock::now();
        let cache = hub.cache_stats();
        let work = |n, session: &mut _, begun| worker(session, job, n, threads, begun);
        let mut result = on_threads(&mut sessions, &how.cpus, work)?;
        if job.flush {
            sessions[0].flush()?;
            result.elapsed = since(begun).since(Instant::ZERO);
        }
        let traffic = |n| hub.with_wire(n, |queue: &mut KvQueue| queue.stats().traffic());
        let host = (0..threads).fold(Traffic::default(), |sum, n| sum + traffic(n));
        result.cache = hub.cache_stats().since(&cache);
        running.fill(&mut result, host, build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

fn worker(
    session: &mut Session<KvQueue, Pausing>,
    job: &Job,
    n: usize,
    threads: usize,
    begun: Clock,
) -> Result<RunResult, HostError> {
    let mut result = RunResult::new();
    let mut gets: Vec<Key> = Vec::new();
    for operation in share(job, n, threads) {
        result.user_bytes += user_bytes(operation);
        match operation {
            Side::Put(key, value) => {
                let from = since(begun);
                let stored = session.put(&name(key)?, value);
                result.note(from, since(begun), stored.is_ok());
            }
            Side::Get(key) => gets.push(name(key)?),
            Side::Wait => read(session, &mut gets, &mut result, begun)?,
        }
        if gets.len() >= usize::from(job.depth.max(1)) {
            read(session, &mut gets, &mut result, begun)?;
        }
    }
    read(session, &mut gets, &mut result, begun)?;
    match session.sync() {
        Ok(()) => {}
        Err(SyncError::Failed(failures)) => result.errors += failures.len() as u64,
        Err(SyncError::Unknown(error)) => return Err(error),
    }
    result.elapsed = since(begun).since(Instant::ZERO);
    Ok(result)
}

/// As many reads in flight as were gathered.
fn read(
    session: &mut Session<KvQueue, Pausing>,
    keys: &mut Vec<Key>,
    result: &mut RunResult,
    begun: Clock,
) -> Result<(), HostError> {
    let from = since(begun);
    let values = session.multi_get(keys)?;
    keys.clear();
    values.iter().for_each(|value| result.note(from, since(begun), value.is_some()));
    Ok(())
}

fn name(key: &[u8]) -> Result<Key, HostError> {
    Key::new(key).map_err(|_| refused())
}
