// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work as a driver with several cores does it: the jobs that an engine hands out, a quantum of one after a quantum of
//! another in any order, each holding its own pages while others go on.

use super::TRIES_MAX;
use crate::Bench;
use crate::setup::OWNER;
use saker_engine::{Background, Context, Engine, Job, JobKind};
use saker_flash::Pinned;
use saker_segment_store::Step;
use saker_sim::{Class, Free, Rng, Seed};

/// What goes on side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// A flush.
    pub flush: bool,
    /// Compactions.
    pub compactions: usize,
    /// Other jobs.
    pub others: usize,
}

impl Together {
    fn of(jobs: &[Job]) -> Self {
        let compactions = jobs.iter().filter(|job| job.kind == JobKind::Compaction).count();
        let flush = jobs.iter().any(|job| job.kind == JobKind::Flush);
        Self { flush, compactions, others: jobs.len() - compactions - usize::from(flush) }
    }
}

/// A worker with its job.
struct Worker {
    job: Job,
    held: Option<Pinned>,
    /// It waits for the pages.
    waits: bool,
    /// Its quantum has ended.
    is_over: bool,
}

impl Bench {
    /// A quantum of each job that may run now, of as many as there are workers. `None`: only the job that is all of them may.
    pub(crate) fn quanta_side_by_side(&mut self) -> Option<bool> {
        let mut jobs = Vec::new();
        self.store.jobs(&self.flash.view(OWNER, Class::Background), &mut |job| jobs.push(job));
        if jobs.first().is_none_or(|job| job.is_upkeep()) {
            return None;
        }
        assert!(jobs.iter().all(|job| !job.is_upkeep()), "nothing goes beside it: {jobs:?}");
        let mut rng = Seed(self.events_so_far()).rng();
        while jobs.len() > self.setup.workers as usize {
            jobs.swap_remove(rng.below(jobs.len() as u64) as usize);
        }
        self.together = Together::of(&jobs);
        let has_worked = self.until_over(&jobs, &mut rng);
        self.together = Together::default();
        match has_worked {
            Some(has_worked) => has_worked.then_some(true),
            None => Some(false),
        }
    }

    /// A quantum of each of these jobs. Whether any worked; `None`: power went.
    fn until_over(&mut self, jobs: &[Job], rng: &mut Rng) -> Option<bool> {
        let worker = |job: &Job| Worker { job: *job, held: None, waits: false, is_over: false };
        let mut workers: Vec<_> = jobs.iter().map(worker).collect();
        let mut has_worked = false;
        for _ in 0..TRIES_MAX {
            let mut ready: Vec<_> = workers.iter_mut().filter(|w| !w.waits && !w.is_over).collect();
            if !self.flash.is_powered() {
                break;
            }
            if ready.is_empty() {
                if workers.iter().all(|w| w.is_over) {
                    return Some(has_worked);
                }
                self.wake(&mut workers);
                continue;
            }
            let n = rng.below(ready.len() as u64) as usize;
            has_worked |= self.quantum_of(ready[n]);
        }
        assert!(!self.flash.is_powered(), "background work never ends");
        workers.into_iter().filter_map(|w| w.held).for_each(|pinned| self.flash.unpin(pinned));
        None
    }

    /// One call for a worker. Whether it worked.
    fn quantum_of(&mut self, worker: &mut Worker) -> bool {
        let finished = self.flash.finished();
        let view = &mut self.flash.view(OWNER, Class::Background);
        let step = self.store.background(worker.job, finished, &mut Context::new(view, &mut Free));
        worker.held.take().into_iter().for_each(|pinned| self.flash.unpin(pinned));
        match step {
            Step::Need(pages) => {
                let brought = self.flash.bring(&pages, Class::Background);
                (worker.held, worker.waits) = (brought, true);
                worker.held.as_ref().expect("flash without time has all pages");
                false
            }
            Step::Done(did) => {
                worker.is_over = true;
                self.seen();
                self.settle();
                did == Background::Worked
            }
            Step::Blocked(_) => {
                worker.is_over = true;
                false
            }
        }
    }

    /// All wait for pages: something happens.
    fn wake(&mut self, workers: &mut [Worker]) {
        while let Some(batch) = self.flash.take_ready() {
            let whose = workers.iter_mut().find(|w| w.held.as_ref().is_some_and(|p| p.batch() == batch));
            whose.expect("somebody waits for a batch").waits = false;
        }
        if workers.iter().all(|w| w.waits || w.is_over) {
            assert!(self.pass_time() || !self.flash.is_powered(), "pages never come");
            self.seen();
        }
    }
}
