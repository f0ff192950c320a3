// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work of the store at the host, one quantum at a time: by one worker, which does all of it in the engine's order, or by
//! several, each of which does a job that the engine hands out.

use super::segments::Whose;
use super::work::with_meter;
use super::{HostKv, Work};
use saker_engine::{Background, Context, Crew, Engine, Job, JobKind};
use saker_segment_store::{PageAddr, Step};
use saker_sim::Meter;

/// The workers, and what they found last.
pub(super) struct Workers {
    crew: Crew<Vec<PageAddr>>,
    /// One alone: it found nothing to do, and nothing has happened since.
    pub(super) is_idle: bool,
    /// Kept for its memory.
    due: Vec<Job>,
}

impl Workers {
    pub fn new(count: u32) -> Self {
        Self { crew: Crew::new(count), is_idle: true, due: Vec::new() }
    }
}

impl HostKv {
    /// So many workers do background work from now on: for a driver that has as many cores for it. One does what is due in the
    /// engine's order ([`quantum`](Self::quantum)), several do jobs side by side ([`begin_jobs`](Self::begin_jobs)).
    ///
    /// # Panics
    /// When background work holds pages: the number is chosen first.
    #[must_use]
    pub fn with_workers(mut self, count: u32) -> Self {
        self.set_workers(count);
        self
    }

    /// The same of one that is somebody's already.
    ///
    /// # Panics
    /// As [`with_workers`](Self::with_workers).
    pub fn set_workers(&mut self, count: u32) {
        assert!(self.workers.crew.all_pages().next().is_none(), "background work has begun");
        self.workers = Workers::new(count);
    }

    /// Whether a quantum is due, and what it waits for is here.
    pub fn has_background(&self) -> bool {
        let is_due =
            !self.medium.is_gone() && (!self.workers.is_idle || self.store.job(&self.medium).is_some());
        is_due && self.workers.crew.pages(0).is_none_or(|pages| self.medium.all_here(pages))
    }

    /// One quantum of background work. Whether it worked: otherwise there is nothing to do before a block command completes or an
    /// operation comes.
    pub fn quantum(&mut self, work: Work<'_>) -> bool {
        with_meter!(work, w => self.quantum_to(w))
    }

    fn quantum_to<W: Meter>(&mut self, w: &mut W) -> bool {
        let step = self.work_at(0, Job::UPKEEP, w);
        self.workers.is_idle = !matches!(step, Step::Done(Background::Worked) | Step::Need(_));
        match step {
            Step::Need(pages) => {
                self.workers.crew.hold(0, Some(pages));
                false
            }
            _ => !self.workers.is_idle,
        }
    }

    /// A piece of a job, again while all pages that it asks for are at hand. Its worker holds the pages of the last one until it holds
    /// what is needed now, as long as all is blocked, and as long as it works: a page has several blocks, and each is a piece.
    fn work_at<W: Meter>(&mut self, worker: usize, job: Job, w: &mut W) -> Step<Background> {
        loop {
            let finished = self.medium.finished();
            let step = self.store.background(job, finished, &mut Context::new(&mut self.medium, w));
            let before = self.workers.crew.take_pages(worker).unwrap_or_default();
            match step {
                Step::Blocked(_) | Step::Done(Background::Worked) => {
                    self.workers.crew.hold(worker, Some(before));
                    return step;
                }
                Step::Done(outcome) => {
                    self.medium.release_pages(&before);
                    return Step::Done(outcome);
                }
                Step::Need(pages) => {
                    self.medium.bring_instead(&pages, &before, Whose::Background);
                    if !self.medium.all_here(&pages) {
                        return Step::Need(pages);
                    }
                    self.workers.crew.hold(worker, Some(pages));
                }
            }
        }
    }

    /// Quanta while they work, so many at most: for a caller who has no other core for them.
    pub fn background(&mut self, quanta: u32, work: Work<'_>) {
        with_meter!(work, w => self.background_to(quanta, w));
    }

    fn background_to<W: Meter>(&mut self, quanta: u32, w: &mut W) {
        for _ in 0..quanta {
            if !self.has_background() || !self.quantum_to(w) {
                return;
            }
        }
    }

    /// Several workers: `visit` sees each that can do a quantum now and has not begun one, and its job. A quantum follows for each.
    pub fn begin_jobs(&mut self, visit: &mut dyn FnMut(usize, Job)) {
        if self.medium.is_gone() {
            return;
        }
        let Self { workers: Workers { crew, due, .. }, medium, store, .. } = self;
        while let Some((worker, job)) = crew.arrived(|pages| medium.all_here(pages)) {
            visit(worker, job);
        }
        if crew.is_full() {
            return;
        }
        store.jobs(medium, &mut |job| due.push(job));
        // Without a job that is due nobody has to find out what that means, unless somebody waits for it.
        if !due.is_empty() || !self.parked.is_empty() && !self.workers.is_idle {
            while let Some((worker, job)) = crew.next(due) {
                crew.begin(worker, job);
                visit(worker, job);
            }
        }
        due.clear();
    }

    /// One quantum of a worker that [`begin_jobs`](Self::begin_jobs) has named. Whether it worked: then [`rest`](Self::rest) follows
    /// when its time is over. Otherwise it waits for pages, or there was nothing to do.
    pub fn quantum_of(&mut self, worker: usize, work: Work<'_>) -> bool {
        with_meter!(work, w => self.quantum_of_to(worker, w))
    }

    /// What the last quantum of a worker was for.
    pub fn did(&self, worker: usize) -> JobKind {
        let job = self.workers.crew.job(worker);
        if job.is_upkeep() { self.store.did() } else { job.kind }
    }

    fn quantum_of_to<W: Meter>(&mut self, worker: usize, w: &mut W) -> bool {
        let job = self.workers.crew.job(worker);
        let step = self.work_at(worker, job, w);
        if !matches!(step, Step::Done(Background::Idle | Background::Waiting) | Step::Blocked(_)) {
            return self.went_on(worker, step);
        }
        self.workers.crew.rest(worker);
        if job.is_upkeep() {
            self.workers.is_idle = true;
            return false;
        }
        if !self.workers.crew.is_idle() {
            return false;
        }
        // None could do anything: only the job that is all of them finds out what that means.
        self.workers.crew.begin(worker, Job::UPKEEP);
        self.quantum_of_to(worker, w)
    }

    /// Its job did something, or needs pages for it.
    fn went_on(&mut self, worker: usize, step: Step<Background>) -> bool {
        self.workers.is_idle = false;
        let Step::Need(pages) = step else { return true };
        self.workers.crew.wait_for(worker, pages);
        false
    }

    /// The time of a quantum that worked is over: its worker is free for the next job.
    pub fn rest(&mut self, worker: usize) {
        self.workers.crew.rest(worker);
    }
}
