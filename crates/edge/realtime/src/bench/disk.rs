//! DiskKV: every thread has a queue pair on the key-value namespace.

use super::{How, Pause, RealRun, Running, on_threads, refused, share, since, user_bytes};
use saker_assembly::Build;
use saker_assembly::port;
use saker_host::connect::KvQueueOptions;
use saker_host::{ConnectOptions, Connection, HostError, KvQueue, Spin};
use saker_link::Traffic;
use saker_nvme::Key;
use saker_nvme::kv::StoreOptions;
use saker_sim::Instant;
use saker_world::disk_kv::STAGED_BYTES;
use saker_world::{Group, GroupLimits, Job, RunResult, Side, retrieve_bytes};
use std::time::Instant as Clock;

/// Bytes of a slot's own page: longer values are lent.
const PAGE: usize = STAGED_BYTES as usize;

/// How operations become commands.
#[derive(Clone, Copy)]
struct Sending {
    /// Bytes that a retrieve asks for.
    retrieve_bytes: u32,
    /// Groups, if operations go in groups.
    groups: Option<GroupLimits>,
}

/// A thread's queue, and by slot since when its command is on its way and how many operations are in it.
struct Worker {
    queue: KvQueue,
    started: Vec<(Instant, usize)>,
    sending: Sending,
}

/// Runs jobs on DiskKV, one after the other on one device; all have the threads and the depth of the first.
///
/// # Errors
/// [`HostError`].
pub fn run_disk_kv_real(build: &Build, how: impl Into<How>, jobs: &[Job]) -> Result<RealRun, HostError> {
    run(build, &how.into(), jobs, None)
}

/// The same with up to `operations` puts or gets in one group command. A job's depth counts commands.
///
/// # Errors
/// [`HostError`].
pub fn run_disk_groups_real(
    build: &Build,
    how: impl Into<How>,
    jobs: &[Job],
    operations: usize,
) -> Result<RealRun, HostError> {
    run(build, &how.into(), jobs, Some(GroupLimits::of(build, jobs, operations)))
}

fn run(build: &Build, how: &How, jobs: &[Job], groups: Option<GroupLimits>) -> Result<RealRun, HostError> {
    let Some(first) = jobs.first() else { return Ok(RealRun::default()) };
    let (threads, depth) = (first.threads.max(1), first.depth.max(1));
    let pairs = u16::try_from(threads).map_err(|_| refused())?;
    let host = build.attach(pairs, depth);
    let mut running = Running::start(build, how, &host);
    let options = ConnectOptions { io_queues: pairs, ..ConnectOptions::default() };
    let mut connection = Connection::connect(port(&host), &mut Spin, options)?;
    let options = KvQueueOptions { entries: u32::from(depth) + 1, slots: depth };
    let sending = Sending { retrieve_bytes: retrieve_bytes(jobs, STAGED_BYTES), groups };
    let worker = |_| {
        let queue = connection.create_kv_queue(&mut Spin, 1, options)?;
        Ok(Worker { started: vec![(Instant::ZERO, 0); queue.slots()], queue, sending })
    };
    let mut workers = (0..threads).map(worker).collect::<Result<Vec<_>, HostError>>()?;
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let begun = Clock::now();
        let work = |n, worker: &mut Worker, begun| worker.work(job, n, threads, begun);
        let mut result = on_threads(&mut workers, &how.cpus, work)?;
        if job.flush {
            flush(&mut workers[0].queue)?;
            result.elapsed = since(begun).since(Instant::ZERO);
        }
        let traffic = workers.iter().fold(Traffic::default(), |sum, w| sum + w.queue.stats().traffic());
        running.fill(&mut result, traffic, build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

impl Worker {
    fn work(&mut self, job: &Job, n: usize, threads: usize, begun: Clock) -> Result<RunResult, HostError> {
        let mut result = RunResult::new();
        let mut operations = share(job, n, threads);
        let (depth, mut pause) = (usize::from(job.depth.max(1)), Pause::default());
        while operations.clone().next().is_some() || self.queue.in_flight() > 0 {
            let mut submitted = false;
            while self.queue.in_flight() < depth
                && let Some(operation) = operations.clone().next()
                && (*operation != Side::Wait || self.queue.in_flight() == 0)
            {
                submitted |= self.submit(operation, &mut operations, &mut result, begun)?;
            }
            if submitted {
                self.queue.ring();
            }
            while self.take(&mut result, begun)? {
                pause.reset();
            }
            pause.wait();
        }
        result.elapsed = since(begun).since(Instant::ZERO);
        Ok(result)
    }

    /// Submits the next operations that one command takes. False for a wait, which is no command.
    fn submit<'j>(
        &mut self,
        operation: &Side,
        operations: &mut (impl Iterator<Item = &'j Side> + Clone),
        result: &mut RunResult,
        begun: Clock,
    ) -> Result<bool, HostError> {
        let Self { queue, started, sending } = self;
        let from = since(begun);
        let group = sending.groups.as_ref().and_then(|limits| Group::gather(operations.clone(), limits));
        let (slot, count) = match (&group, operation) {
            (None, Side::Wait) => {
                operations.next();
                return Ok(false);
            }
            (None, _) => (submit(queue, operation, sending.retrieve_bytes)?, 1),
            (Some(group), _) => (group.submit(queue)?.slot(), group.count),
        };
        let _ = operations.nth(count - 1);
        started[usize::from(slot)] = (from, count);
        result.user_bytes += group.map_or_else(|| user_bytes(operation), |group| group.user_bytes);
        Ok(true)
    }

    /// Takes a completion, if there is one. Of a group DW0 is the number of operations that failed.
    fn take(&mut self, result: &mut RunResult, begun: Clock) -> Result<bool, HostError> {
        let polled = self.queue.poll(|d| (d.ticket.slot(), d.status.is_success(), d.result));
        let Some(taken) = polled else { return Ok(false) };
        let (slot, ok, dw0) = taken.map_err(HostError::from)?;
        let (from, count) = self.started[usize::from(slot)];
        let failed = match (ok, count) {
            (false, _) => count,
            (true, 1) => 0,
            (true, _) => dw0 as usize,
        };
        let to = since(begun);
        (0..count).for_each(|n| result.note(from, to, n >= failed));
        Ok(true)
    }
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
