//! DiskKV: every thread has a queue pair on the key-value namespace.

use super::{How, Pause, RealRun, Running, on_threads, refused, share, since, user_bytes};
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, HostError, KvQueue, Spin};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_sim::Instant;
use saker_world::build::port;
use saker_world::{Build, Job, RunResult, Side, retrieve_bytes};
use std::time::Instant as Clock;

/// Bytes of a slot's own page: longer values are lent.
const PAGE: usize = 4096;

/// Runs jobs on DiskKV, one after the other on one device; all have the threads and the depth of the first.
///
/// # Errors
/// [`HostError`].
pub fn run_disk_kv_real(build: &Build, how: impl Into<How>, jobs: &[Job]) -> Result<RealRun, HostError> {
    let how = how.into();
    let Some(first) = jobs.first() else { return Ok(RealRun::default()) };
    let (threads, depth) = (first.threads.max(1), first.depth.max(1));
    let pairs = u16::try_from(threads).map_err(|_| refused())?;
    let host = build.attach(pairs, depth);
    let mut running = Running::start(build, &how, &host);
    let options = ConnectOptions { io_queues: pairs, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut Spin, options)?;
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let queue = |_| connection.create_kv_queue(&mut Spin, 1, options);
    let mut queues = (0..threads).map(queue).collect::<Result<Vec<_>, _>>()?;
    let bytes = retrieve_bytes(jobs);
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let begun = Clock::now();
        let mut result = on_threads(&mut queues, &how.cpus, |n, queue, begun| {
            worker(queue, job, n, threads, bytes, begun)
        })?;
        if job.flush {
            flush(&mut queues[0])?;
            result.elapsed = since(begun).since(Instant::ZERO);
        }
        let traffic = queues.iter().fold(Traffic::default(), |sum, q| sum + q.stats().traffic());
        running.fill(&mut result, traffic, build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

fn worker(
    queue: &mut KvQueue,
    job: &Job,
    n: usize,
    threads: usize,
    retrieve_bytes: u32,
    begun: Clock,
) -> Result<RunResult, HostError> {
    let mut result = RunResult::new();
    let mut started = vec![Instant::ZERO; queue.slots()];
    let mut operations = share(job, n, threads).peekable();
    let (depth, mut pause) = (usize::from(job.depth.max(1)), Pause::default());
    while operations.peek().is_some() || queue.in_flight() > 0 {
        let mut submitted = false;
        while queue.in_flight() < depth
            && let Some(operation) = operations.next_if(|op| **op != Side::Wait || queue.in_flight() == 0)
        {
            if *operation == Side::Wait {
                continue;
            }
            let slot = submit(queue, operation, retrieve_bytes)?;
            started[usize::from(slot)] = since(begun);
            result.user_bytes += user_bytes(operation);
            submitted = true;
        }
        if submitted {
            queue.ring();
        }
        while let Some(taken) = queue.poll(|d| (d.ticket.slot(), d.status.is_success())) {
            let (slot, ok) = taken.map_err(HostError::from)?;
            result.note(started[usize::from(slot)], since(begun), ok);
            pause.reset();
        }
        pause.wait();
    }
    result.elapsed = since(begun).since(Instant::ZERO);
    Ok(result)
}

fn flush(queue: &mut KvQueue) -> Result<(), HostError> {
    queue.flush()?;
    queue.ring();
    let mut pause = Pause::default();
    while queue.poll(|_| ()).is_none() {
        pause.wait();
    }
    Ok(())
}

fn submit(queue: &mut KvQueue, operation: &Side, retrieve_bytes: u32) -> Result<u16, HostError> {
    let key = |key: &[u8]| Key::new(key).map_err(|_| refused());
    let ticket = match operation {
        Side::Put(k, v) if v.len() <= PAGE => queue.store(&key(k)?, v, StoreOptions::NONE)?,
        Side::Put(k, v) => {
            queue.store_owned(&key(k)?, v.clone(), StoreOptions::NONE).map_err(|returned| returned.error)?
        }
        Side::Get(k) => queue.retrieve(&key(k)?, retrieve_bytes)?,
        Side::Wait => unreachable!("a wait is no command"),
    };
    Ok(ticket.slot())
}
