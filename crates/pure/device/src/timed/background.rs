// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work of the namespaces: recovery, garbage collection, checkpoints, in quanta on the cores. A namespace's workers
//! ([`saker_engine::crew`]) do its jobs side by side.

use super::cores::Work;
use super::{Event, Timed};
use crate::device::Device;
use crate::execute::kv_status;
use crate::immediate::QUANTA_WHILE_HELD;
use saker_engine::{Background, Crew, Job, JobKind, Progress};
use saker_segment_store::Step;
use saker_sim::{Activity, Class, CpuMeter, Duration};

impl Device<Timed> {
    /// The jobs of a namespace's background work that its workers do now.
    ///
    /// # Panics
    /// When there is no such namespace.
    pub fn jobs_under_way(&self, namespace: usize) -> impl Iterator<Item = Job> {
        self.tempo.crews[namespace].under_way()
    }

    /// Something is to be done in a namespace's background: its idle workers take what they can. One worker alone takes all there is.
    pub(super) fn start_worker(&mut self, n: usize) {
        let crew = &self.tempo.crews[n];
        if crew.is_alone() || self.namespaces[n].is_recovering() {
            if crew.is_idle() {
                self.begin_job(n, 0, Job::UPKEEP);
            }
            return;
        }
        if crew.is_full() {
            return;
        }
        let mut due = std::mem::take(&mut self.tempo.due);
        let owner = self.namespaces[n].owner();
        let view = self.flash.view(owner, Class::Background);
        self.namespaces[n].jobs(&view, &mut |job| due.push(job));
        while let Some((worker, job)) = self.tempo.crews[n].next(&due) {
            self.begin_job(n, worker, job);
        }
        due.clear();
        self.tempo.due = due;
    }

    fn begin_job(&mut self, n: usize, worker: usize, job: Job) {
        self.tempo.crews[n].begin(worker, job);
        self.tempo.enqueue(Work::background(n, worker));
        let at = self.tempo.now;
        self.tempo.events.push(at, Event::Core);
    }

    /// A worker's job can do nothing now. When that is so of all, only the job that is all of them can tell what that means.
    fn end_job(&mut self, n: usize, worker: usize) {
        let crew = &mut self.tempo.crews[n];
        let was_all = crew.rest(worker).is_upkeep();
        let is_idle = crew.is_idle();
        if was_all {
            self.note_boot();
            self.give_up_if_stuck(n);
        } else if is_idle {
            self.begin_job(n, 0, Job::UPKEEP);
        }
    }

    /// A worker's quantum on a core, and what that was for.
    pub(super) fn work(&mut self, n: usize, worker: usize) -> (Activity, (Duration, bool)) {
        let job = self.tempo.crews[n].job(worker);
        let (length, has_end) = self.quantum(n, worker);
        let is_told = has_end && !self.namespaces[n].is_recovering();
        let kind = if is_told { self.namespaces[n].did(job) } else { job.kind };
        (kind.activity(), (length, has_end))
    }

    /// One quantum of a worker of a namespace's background work, recovery included; returns how long the core is busy with it, and
    /// whether an event ends that.
    fn quantum(&mut self, n: usize, worker: usize) -> (Duration, bool) {
        let job = self.tempo.crews[n].job(worker);
        let mut meter = CpuMeter::new(self.tempo.costs.prices);
        let owner = self.namespaces[n].owner();
        let recovering = self.namespaces[n].is_recovering();
        let mut view = self.flash.view(owner, if recovering { Class::Foreground } else { Class::Background });
        let step = if recovering {
            view = view.waiting_for_syncs();
            let step = self.namespaces[n].recover(&mut view);
            step.map(|progress| match progress {
                Progress::Finished => Background::Idle,
                Progress::More => Background::Worked,
            })
        } else {
            // Time is what lets delayed writes pass here, not work.
            self.namespaces[n].let_pass(0);
            self.namespaces[n].background(job, &mut view, &mut meter)
        };
        // Held until what is needed now is held, as long as the work is blocked, and in a store that merges tables as long as it works: a
        // page has several blocks, of a stretch that was read ahead there are several pages, and each is a piece. So nothing is read twice.
        let held = self.tempo.crews[n].take_pages(worker);
        let is_blocked = job.is_upkeep() && matches!(step, Step::Blocked(_));
        let length = meter.take();
        self.stats.copied_bytes += meter.copied_bytes();
        let at = self.tempo.now + length;
        let has_end = matches!(step, Step::Done(Background::Worked));
        match step {
            Step::Need(reads) => {
                let pages = self.bring(Work::background(n, worker), &reads, Class::Background);
                self.tempo.crews[n].hold(worker, pages);
            }
            Step::Done(Background::Worked) => {
                self.tempo.events.push(at, Event::Quantum(n as u16, worker as u16));
            }
            Step::Done(Background::Idle | Background::Waiting) | Step::Blocked(_) => self.end_job(n, worker),
        }
        if has_end
            && !recovering
            && matches!(self.namespaces[n].did(job), JobKind::Compaction | JobKind::Flush)
        {
            self.tempo.crews[n].keep_pages();
        }
        let goes_on = has_end && self.tempo.crews[n].keeps_pages();
        match held {
            Some(pages) if is_blocked || goes_on => self.tempo.crews[n].hold(worker, Some(pages)),
            Some(pages) => self.flash.unpin(pages),
            None => {}
        }
        self.settle();
        (length, has_end)
    }

    /// A quantum is over: its effects count now. Go on, and let blocked commands try again.
    pub(super) fn after_quantum(&mut self, n: usize, worker: usize) {
        self.tempo.crews[n].rest(worker);
        self.look_at_turns(n);
        if self.flash.is_held() && self.flash.is_quiet() {
            self.tempo.quanta_while_held += 1;
            if self.tempo.quanta_while_held > QUANTA_WHILE_HELD {
                self.tempo.quanta_while_held = 0;
                return self.give_up_if_stuck(n);
            }
        }
        self.retry_unless_stopped(n);
        let owner = self.namespaces[n].owner();
        if self.namespaces[n].is_recovering()
            || !self.tempo.blocked[n].is_empty()
            || self.namespaces[n].has_debt(&self.flash.view(owner, Class::Background))
        {
            self.start_worker(n);
        } else if self.tempo.crews[n].is_idle() {
            self.let_go_of_pages(n);
        }
        self.start_on_cores();
    }

    /// Nothing is due: nobody needs what workers hold.
    fn let_go_of_pages(&mut self, n: usize) {
        let crew = &mut self.tempo.crews[n];
        (0..crew.len())
            .filter_map(|worker| crew.take_pages(worker))
            .for_each(|pages| self.flash.unpin(pages));
    }

    /// Nothing is outstanding and background work can do nothing: blocked commands will never go on.
    pub(super) fn give_up_if_stuck(&mut self, n: usize) {
        if !self.flash.is_quiet() {
            return;
        }
        if !self.tempo.blocked[n].is_empty() && self.flash.cool() {
            return self.retry_blocked(n);
        }
        let waits =
            !(self.tempo.blocked[n].is_empty() && self.tempo.flushing.is_empty() && self.drains.is_empty());
        if waits && self.flash.resume() {
            return self.after_media();
        }
        let no_room = self.no_room();
        for id in std::mem::take(&mut self.tempo.blocked[n]) {
            let request = self.token(id).request.as_mut();
            if request.is_some_and(|request| request.give_up(no_room)) {
                self.tempo.enqueue(Work::Command(id));
                let at = self.tempo.now;
                self.tempo.events.push(at, Event::Core);
            } else {
                self.refuse(id, kv_status(no_room));
            }
        }
        let all_idle = self.tempo.crews.iter().all(Crew::is_idle);
        if !self.end_drains() && all_idle {
            self.give_up_drains();
        }
        for id in std::mem::take(&mut self.tempo.flushing) {
            if self.token(id).namespace != n {
                self.tempo.flushing.push(id);
            } else if self.is_flushed(id) || self.is_kept_by_ring() {
                // Background work made failed programs good without another operation.
                self.on_stage(id);
            } else {
                let status = self.not_flushed();
                self.refuse(id, status);
            }
        }
    }

    /// Nothing has completed. If that is because the host's file refused it, whoever waits must be told.
    pub(super) fn look_at_held(&mut self) {
        if !self.flash.is_held() {
            return;
        }
        for n in 0..self.namespaces.len() {
            if !(self.tempo.blocked[n].is_empty() && self.tempo.flushing.is_empty() && self.drains.is_empty())
            {
                self.start_worker(n);
            }
        }
    }
}
