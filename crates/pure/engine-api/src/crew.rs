// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The workers of an engine's background work: as many as it has cores of its own, and one without. One alone does
//! everything, in the engine's order. Several do the jobs that the engine hands out ([`Engine::jobs`](crate::Engine::jobs)), each its
//! own.

use crate::job::{Job, JobId, JobKind};

#[derive(Debug)]
struct Worker<P> {
    /// What it does, or did last.
    job: Job,
    /// It is queued for a core, on it, or waits for pages.
    is_busy: bool,
    /// It waits for its pages, where [`Crew::arrived`] tells.
    awaits: bool,
    /// Pages that were brought for it, or are on their way.
    pages: Option<P>,
}

/// The workers of an engine. `P` is what holds pages.
#[derive(Debug)]
pub struct Crew<P> {
    workers: Vec<Worker<P>>,
    /// The job that was taken last: the next one's turn follows.
    last: JobId,
    /// They keep their pages while they work.
    keeps_pages: bool,
}

impl<P> Crew<P> {
    /// Idle ones for so many cores.
    pub fn new(background_cores: u32) -> Self {
        let idle = |_| Worker { job: Job::UPKEEP, is_busy: false, awaits: false, pages: None };
        Self {
            workers: (0..background_cores.max(1)).map(idle).collect(),
            last: Job::UPKEEP.id,
            keeps_pages: false,
        }
    }

    /// How many there are.
    #[expect(clippy::len_without_is_empty, reason = "there is always one")]
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether there is only one.
    pub fn is_alone(&self) -> bool {
        self.workers.len() == 1
    }

    /// Whether nobody does anything.
    pub fn is_idle(&self) -> bool {
        self.workers.iter().all(|worker| !worker.is_busy)
    }

    /// Whether everybody does something.
    pub fn is_full(&self) -> bool {
        self.workers.iter().all(|worker| worker.is_busy)
    }

    /// What a worker does.
    pub fn job(&self, worker: usize) -> Job {
        self.workers[worker].job
    }

    /// What workers do.
    pub fn under_way(&self) -> impl Iterator<Item = Job> {
        self.workers.iter().filter(|worker| worker.is_busy).map(|worker| worker.job)
    }

    /// A worker takes a job.
    pub fn begin(&mut self, worker: usize, job: Job) {
        let worker = &mut self.workers[worker];
        debug_assert!(!worker.is_busy, "a worker does one job at a time");
        (worker.job, worker.is_busy) = (job, true);
    }

    /// A worker's quantum is over, or it could do nothing. What it did.
    pub fn rest(&mut self, worker: usize) -> Job {
        self.workers[worker].is_busy = false;
        self.workers[worker].job
    }

    /// Pages that a worker holds.
    pub fn pages(&self, worker: usize) -> Option<&P> {
        self.workers[worker].pages.as_ref()
    }

    /// From now on workers keep their pages while they work: what comes in many pieces, as merges do, is looked at again.
    pub fn keep_pages(&mut self) {
        self.keeps_pages = true;
    }

    /// Whether they do.
    pub fn keeps_pages(&self) -> bool {
        self.keeps_pages
    }

    /// Pages that a worker held.
    pub fn take_pages(&mut self, worker: usize) -> Option<P> {
        self.workers[worker].pages.take()
    }

    /// A worker holds these pages.
    pub fn hold(&mut self, worker: usize, pages: Option<P>) {
        self.workers[worker].pages = pages;
    }

    /// The pages of all workers.
    pub fn all_pages(&mut self) -> impl Iterator<Item = &mut P> {
        self.workers.iter_mut().filter_map(|worker| worker.pages.as_mut())
    }

    /// A worker's job goes on when these pages are here, which [`arrived`](Self::arrived) finds out.
    pub fn wait_for(&mut self, worker: usize, pages: P) {
        let worker = &mut self.workers[worker];
        debug_assert!(worker.is_busy, "who does nothing waits for nothing");
        (worker.awaits, worker.pages) = (true, Some(pages));
    }

    /// A worker whose pages are here, and its job, which goes on now.
    pub fn arrived(&mut self, are_here: impl Fn(&P) -> bool) -> Option<(usize, Job)> {
        let waits = |worker: &Worker<P>| worker.awaits && worker.pages.as_ref().is_some_and(&are_here);
        let (n, worker) = self.workers.iter_mut().enumerate().find(|(_, worker)| waits(worker))?;
        worker.awaits = false;
        Some((n, worker.job))
    }

    /// An idle worker, and which of the jobs that are due it is to begin. Each is one worker's, of the idle ones that did it last if there
    /// is such a one: it holds what was brought for it. The flush goes first, for writes wait for it; the others take turns by their names.
    /// The job that is all of them is nobody's while another one is somebody's.
    pub fn next(&mut self, due: &[Job]) -> Option<(usize, Job)> {
        let idle = self.workers.iter().position(|worker| !worker.is_busy)?;
        if due.first().is_none_or(|job| job.is_upkeep()) {
            return self.is_idle().then_some((idle, Job::UPKEEP));
        }
        let is_taken = |id| self.workers.iter().any(|worker| worker.is_busy && worker.job.id == id);
        if is_taken(Job::UPKEEP.id) {
            return None;
        }
        let free = || due.iter().filter(|job| !is_taken(job.id));
        let flush = free().find(|job| job.kind == JobKind::Flush);
        let behind = || free().filter(|job| job.id > self.last).min_by_key(|job| job.id);
        let job = *flush.or_else(behind).or_else(|| free().min_by_key(|job| job.id))?;
        self.last = job.id;
        let own = self.workers.iter().position(|worker| !worker.is_busy && worker.job.id == job.id);
        Some((own.unwrap_or(idle), job))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: [Job; 4] = [Job::FLUSH, Job::compaction(0), Job::compaction(1), Job::REST];

    fn taken(crew: &mut Crew<()>, due: &[Job]) -> Vec<(usize, Job)> {
        let next = |crew: &mut Crew<()>| {
            let (worker, job) = crew.next(due)?;
            crew.begin(worker, job);
            Some((worker, job))
        };
        std::iter::from_fn(|| next(crew)).collect()
    }

    #[test]
    fn each_job_is_one_workers_and_all_have_their_turn() {
        let mut crew = Crew::<()>::new(2);
        assert_eq!(taken(&mut crew, &DUE), [(0, Job::FLUSH), (1, Job::compaction(0))]);
        assert!(crew.is_full());
        crew.rest(1);
        assert_eq!(taken(&mut crew, &DUE), [(1, Job::compaction(1))], "the other is not left out");
        crew.rest(1);
        assert_eq!(taken(&mut crew, &DUE), [(1, Job::REST)]);
        (0..2).for_each(|worker| _ = crew.rest(worker));
        assert_eq!(taken(&mut crew, &DUE), [(0, Job::FLUSH), (1, Job::compaction(0))]);
    }

    #[test]
    fn a_job_goes_to_the_worker_that_did_it_last() {
        let mut crew = Crew::<()>::new(3);
        assert_eq!(taken(&mut crew, &DUE[..2]), [(0, Job::FLUSH), (1, Job::compaction(0))]);
        (0..2).for_each(|worker| _ = crew.rest(worker));
        assert_eq!(taken(&mut crew, &DUE[1..3]), [(0, Job::compaction(1)), (1, Job::compaction(0))]);
    }

    #[test]
    fn more_workers_than_jobs_leave_some_idle() {
        let mut crew = Crew::<()>::new(8);
        assert_eq!(taken(&mut crew, &DUE).len(), DUE.len());
        assert!(!crew.is_full() && !crew.is_idle());
    }

    #[test]
    fn nothing_goes_beside_the_job_that_is_all_of_them() {
        let mut crew = Crew::<()>::new(2);
        assert_eq!(taken(&mut crew, &[]), [(0, Job::UPKEEP)], "nothing is due: it finds out what that means");
        assert_eq!(taken(&mut crew, &DUE), []);
        crew.rest(0);
        assert_eq!(taken(&mut crew, &[Job::FLUSH]), [(0, Job::FLUSH)]);
        assert_eq!(taken(&mut crew, &[Job::UPKEEP]), []);
    }
    #[test]
    fn who_waits_for_pages_is_busy_and_goes_on_once_when_they_are_here() {
        let mut crew = Crew::new(2);
        crew.begin(0, Job::FLUSH);
        crew.begin(1, Job::REST);
        crew.wait_for(1, 7);
        assert_eq!((crew.is_full(), crew.pages(0), crew.pages(1)), (true, None, Some(&7)));
        assert_eq!(crew.arrived(|page| *page == 8), None);
        assert_eq!(
            (crew.arrived(|page| *page == 7), crew.arrived(|page| *page == 7)),
            (Some((1, Job::REST)), None)
        );
        assert_eq!(crew.take_pages(1), Some(7), "it holds them until it lets go");
        crew.rest(0);
        assert!(!crew.is_full());
    }
}
