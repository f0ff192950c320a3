// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work of a store at the host, in quanta. One worker does it on the cores of the application's threads, as in the device
//! (`device/src/timed/cores.rs`): an idle core takes it at once, busy ones after a bounded number of operations. Several have a core
//! each, and do jobs side by side. Either way a quantum occupies its core, and its effects count when its time is over.

use super::{Driver, State};
use crate::measured::Measured;
use saker_sim::{Instant, OVERTAKERS_MAX};
use saker_store::{BackgroundJob, JobId};

/// What a worker is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worker {
    /// Nothing is due, or its job waits for pages.
    Idle,
    /// A job waits for a core, since then; so many operations went past it.
    Due { job: BackgroundJob, since: Instant, overtakers: u32 },
    /// A quantum ends then.
    Busy { job: JobId, until: Instant },
}

/// All workers: one that shares the cores of threads, or several with a core each.
#[derive(Debug)]
pub(super) struct Workers {
    all: Vec<Worker>,
    /// When the core of each of several is free.
    free: Vec<Instant>,
}

impl Workers {
    pub fn new(count: usize) -> Self {
        let count = count.max(1);
        Self { all: vec![Worker::Idle; count], free: vec![Instant::ZERO; count] }
    }

    /// Cores that they have beside those of threads.
    pub fn own_cores(&self) -> usize {
        if self.all.len() > 1 { self.all.len() } else { 0 }
    }

    /// An operation was executed.
    pub fn was_overtaken(&mut self) {
        if let Worker::Due { overtakers, .. } = &mut self.all[0] {
            *overtakers += 1;
        }
    }

    /// The job whose turn it is though no core is idle.
    pub fn has_waited_enough(&self) -> Option<BackgroundJob> {
        match self.all.as_slice() {
            [Worker::Due { job, overtakers, .. }] if *overtakers >= OVERTAKERS_MAX => Some(*job),
            _ => None,
        }
    }
}

impl<S: Measured> Driver<S> {
    /// Something happened after which background work may be due.
    pub(super) fn wake_worker(&mut self, at: Instant) {
        let Self { workers: Workers { all, free }, store, .. } = self;
        match all.as_mut_slice() {
            [worker @ Worker::Idle] => {
                if let Some(job) = store.background() {
                    *worker = Worker::Due { job, since: at, overtakers: 0 };
                }
            }
            [_] => {}
            several => store.begin_jobs(&mut |core, job| {
                debug_assert_eq!(several[core], Worker::Idle, "a core does one job at a time");
                several[core] = Worker::Due { job, since: at.max(free[core]), overtakers: 0 };
            }),
        }
    }

    /// When a worker does something by itself, and which: its quantum ends, or a core is free for it.
    pub(super) fn work_at(&self) -> Option<(Instant, usize)> {
        let has_own = self.workers.own_cores() > 0;
        let at = |worker: &Worker| match worker {
            Worker::Idle => None,
            Worker::Due { since, .. } if has_own => Some(*since),
            Worker::Due { since, .. } => self.idle_core(*since).map(|n| self.cores[n].busy.max(*since)),
            Worker::Busy { until, .. } => Some(*until),
        };
        self.workers.all.iter().enumerate().filter_map(|(n, worker)| Some((at(worker)?, n))).min()
    }

    /// The core of a lane that has nothing to do, the first that is free from `since` on; of several the one whose thread was late for
    /// the least so far, so that none falls behind the others.
    pub(super) fn idle_core(&self, since: Instant) -> Option<usize> {
        let is_idle = |state| matches!(state, State::Waiting | State::Over);
        let idle = self.cores.iter().enumerate().filter(|(_, core)| is_idle(core.state));
        idle.min_by_key(|(_, core)| (core.busy.max(since), core.late)).map(|(n, _)| n)
    }

    /// It is time for what [`Driver::work_at`] told.
    pub(super) fn work(&mut self, at: Instant, worker: usize) {
        let idle_core = if self.workers.own_cores() > 0 { None } else { self.idle_core(at) };
        match (self.workers.all[worker], idle_core) {
            (Worker::Due { job, .. }, Some(n)) => self.quantum(job, n, at),
            (Worker::Due { job, .. }, None) => self.quantum_of(worker, job, at),
            (ended, _) => {
                self.workers.all[worker] = Worker::Idle;
                if let Worker::Busy { job, .. } = ended {
                    self.store.rest(job);
                }
                self.take_everybodys(at);
                self.wake_worker(at);
            }
        }
    }

    /// The core of a lane does a quantum.
    pub(super) fn quantum(&mut self, job: BackgroundJob, n: usize, at: Instant) {
        self.polled(n, at);
        let until = self.quantum_on(n, 0, job, at);
        self.cores[n].busy = until;
    }

    /// One of several workers does a quantum, on its own core.
    fn quantum_of(&mut self, worker: usize, job: BackgroundJob, at: Instant) {
        let until = self.quantum_on(self.cores.len() + worker, worker, job, at);
        self.workers.free[worker] = until;
    }

    /// A worker's quantum on a core; until when that is busy with it.
    fn quantum_on(&mut self, core: usize, worker: usize, job: BackgroundJob, at: Instant) -> Instant {
        let worked = self.store.quantum(job.id, at);
        let charge = self.spent_by_store(0, at);
        let until = at + charge.total();
        self.result.background_busy += until.since(at);
        let activity = if worked { self.store.did(&job) } else { job.activity };
        charge.note(core, activity, &mut self.result.busy);
        self.workers.all[worker] = if worked { Worker::Busy { job: job.id, until } } else { Worker::Idle };
        until
    }

    /// The jobs that are under way with the store are so no more: what follows has no cores.
    pub(super) fn dismiss(&mut self) {
        for worker in &mut self.workers.all {
            match std::mem::replace(worker, Worker::Idle) {
                Worker::Due { job: BackgroundJob { id, .. }, .. } | Worker::Busy { job: id, .. } => {
                    self.store.rest(id);
                }
                Worker::Idle => {}
            }
        }
    }

    /// All quanta that can be done now, of whatever length.
    pub(super) fn quanta_at_once(&mut self, now: Instant) {
        let mut jobs = Vec::new();
        self.store.begin_jobs(&mut |_, job| jobs.push(job.id));
        for job in jobs {
            if self.store.quantum(job, now) {
                self.store.rest(job);
            }
        }
    }
}
