// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The driver in virtual time: modelled application threads, each with a lane of the store and a core, take turns with what is
//! below the lanes. There is one loop for all stores. What a core is charged for, and in which order cores and the store meet,
//! the store says ([`Order`], [`Prices`]).
//!
//! What happens next is the earliest of three: a lane acts when its core is free; background work goes on; something happens
//! below. At one time lanes go first, by their numbers, then background work.

mod ahead;
mod charge;
mod completions;
mod link;
#[cfg(test)]
mod tests;
mod worker;

use crate::measured::Measured;
use crate::result::{Job, RunResult};
use ahead::prefetch_hints;
use charge::Spent;
use saker_assembly::Build;
use saker_host::{HostError, ProtocolError};
use saker_sim::{Busy, Digest, Duration, Instant};
use saker_store::{Completions, Doorbells, Drain, Lane, Op, Order, Prices, Share, Submitted};
use worker::Workers;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// May act once its core is free.
    Ready,
    /// Has submitted; it rings when its core is free.
    Ringing,
    /// Needs a completion.
    Waiting,
    /// Has nothing left to submit, and nothing to bring to its end.
    Over,
}

/// The core of a lane, and how far the lane is.
struct Core {
    /// It is busy until then.
    busy: Instant,
    /// By how much its thread was late for completions so far, because the core did other things for the store.
    late: Duration,
    state: State,
    /// The lane's next operation in the job.
    next: usize,
    /// Tickets on their way.
    in_flight: usize,
    /// By slot: since when its ticket is on its way, and whether it is a read.
    started: Vec<(Instant, bool)>,
}

impl Core {
    /// That of the lane of that number.
    fn new(lane: usize) -> Self {
        let (busy, late) = (Instant::ZERO, Duration::ZERO);
        Self { busy, late, state: State::Ready, next: lane, in_flight: 0, started: Vec::new() }
    }

    fn start(&mut self, slot: u32, at: Instant, is_read: bool) {
        let slot = slot as usize;
        if slot >= self.started.len() {
            self.started.resize(slot + 1, (Instant::ZERO, false));
        }
        self.started[slot] = (at, is_read);
        self.in_flight += 1;
    }
}

/// Operations that ended together.
#[derive(Clone, Copy, Debug)]
struct Ended {
    lane: usize,
    started: Instant,
    is_read: bool,
    operations: u32,
    failed: u32,
}

/// A store, its lanes, and their cores.
pub(crate) struct Driver<S: Measured> {
    pub(crate) store: S,
    lanes: Vec<S::Lane>,
    cores: Vec<Core>,
    order: Order,
    prices: Prices,
    depth: usize,
    interval: Duration,
    workers: Workers,
    /// The doorbell of all lanes is on its way: when it rings.
    doorbell: Option<Instant>,
    /// Work on behalf of nobody in particular; the next core to act pays.
    debt: Spent,
    /// Lanes that are not over.
    open: usize,
    /// Tickets on their way.
    in_flight: usize,
    /// Kept for its memory.
    ended: Vec<Ended>,
    result: RunResult,
    read: Digest,
    begun: Instant,
}

impl<S: Measured> Driver<S> {
    /// A store with a lane for each of so many threads.
    ///
    /// # Errors
    /// [`HostError`] if it has fewer.
    pub fn new(mut store: S, build: &Build, like: &Job) -> Result<Self, HostError> {
        let threads = like.threads.max(1);
        let lanes = (0..threads).map(|_| store.open_lane()).collect::<Result<Vec<_>, _>>();
        let lanes = lanes.map_err(|_| HostError::from(ProtocolError::Queues))?;
        let workers = Workers::new(store.background_cores());
        Ok(Self {
            order: store.order(),
            prices: store.prices(),
            store,
            lanes,
            cores: (0..threads).map(Core::new).collect(),
            depth: usize::from(like.depth.max(1)),
            interval: build.interval,
            workers,
            doorbell: None,
            debt: Spent::default(),
            open: 0,
            in_flight: 0,
            ended: Vec::new(),
            result: RunResult::new(),
            read: Digest::default(),
            begun: Instant::ZERO,
        })
    }

    /// One job from its begin to its end.
    pub fn run(&mut self, job: &Job) -> RunResult {
        self.begin(job);
        while self.step(&job.operations) {}
        self.dismiss();
        self.store.settle();
        if job.flush {
            self.flush();
        }
        self.finish()
    }

    /// A job begins: everything counts from here.
    fn begin(&mut self, job: &Job) {
        let begun = self.store.now();
        for (n, core) in self.cores.iter_mut().enumerate() {
            (core.busy, core.late, core.state) = (begun, Duration::ZERO, State::Ready);
            (core.next, core.in_flight) = (n, 0);
        }
        (self.open, self.in_flight) = (self.cores.len(), 0);
        (self.begun, self.result) = (begun, RunResult::new());
        self.result.busy = Busy::of_cores(self.cores.len() + self.workers.own_cores());
        self.store.begin(&mut self.lanes, job);
    }

    /// A Flush that belongs to the job.
    fn flush(&mut self) {
        let begun = self.store.now();
        let submitted = self.lanes[0].submit(Share::alone(&Op::Flush), begun);
        let mut is_open = matches!(submitted, Submitted::Pending(_));
        while is_open {
            self.lanes[0].ring();
            self.store.drive();
            let (lane, now) = (&mut self.lanes[0], self.store.now());
            if lane.look(now) {
                // Nothing else is on its way.
                is_open = !matches!(lane.poll(now, |_| ()), Ok(Some(())));
            }
            self.quanta_at_once(now);
        }
        self.store.flushed();
        self.result.elapsed += self.store.now().since(begun);
    }

    fn finish(&mut self) -> RunResult {
        let mut result = std::mem::take(&mut self.result);
        link::end(&mut result.link_timeline, || self.store.link_bytes());
        self.store.finish(&mut self.lanes, &mut result);
        self.read.number(self.store.digest());
        self.read.number(result.elapsed.as_nanos());
        result.digest = self.read.value();
        result
    }

    /// The next thing that happens. False when the job is over, or nothing happens any more.
    fn step(&mut self, operations: &[Op]) -> bool {
        self.look_at_link();
        let acting = |core: &Core| matches!(core.state, State::Ready | State::Ringing);
        let cores = self.cores.iter().enumerate().filter(|(_, core)| acting(core));
        let first = cores.map(|(n, core)| (core.busy, n)).min();
        let work = self.work_at();
        let lane_at = first.map_or(Instant::FAR, |(at, _)| at);
        let work_at = work.map_or(Instant::FAR, |(at, _)| at);
        if let Some(at) = self.below(lane_at.min(work_at)) {
            self.completed(at);
        } else if let Some((at, n)) = first.filter(|_| lane_at <= work_at) {
            self.act(n, at, operations);
        } else if let Some((at, worker)) = work {
            self.work(at, worker);
        } else if !self.ends_at_last() {
            return false;
        }
        self.open > 0 || self.in_flight > 0
    }

    /// Nothing happens any more. What is held back is tried once more, for background work may have found that it can do nothing.
    /// Whether that ended anything.
    fn ends_at_last(&mut self) -> bool {
        if self.in_flight == 0 || self.order.completions != Completions::Shared {
            return false;
        }
        let (before, at) = (self.in_flight, self.cores.iter().map(|core| core.busy).max());
        self.take_everybodys(at.map_or(self.store.now(), |at| at.max(self.store.now())));
        self.in_flight < before
    }

    /// What happens below the lanes before `until`, up to where something completes: until then no lane changes. When it did.
    #[inline]
    fn below(&mut self, until: Instant) -> Option<Instant> {
        let last = Instant::from_nanos(until.as_nanos().checked_sub(1)?);
        while let Some(at) = self.doorbell.filter(|at| *at <= last) {
            let before = at.as_nanos().checked_sub(1).map(Instant::from_nanos);
            if let Some(completed) = before.and_then(|before| self.store.go_on(before)) {
                return Some(completed);
            }
            self.doorbell = None;
            self.lanes[0].ring();
            if self.store.advance(at) {
                return Some(at);
            }
        }
        self.store.go_on(last)
    }

    fn act(&mut self, n: usize, at: Instant, operations: &[Op]) {
        if let Doorbells::OfLane { looks_first } = self.order.doorbells {
            let is_ringing = self.cores[n].state == State::Ringing;
            if !is_ringing || looks_first {
                self.reap(n, at);
            }
            if is_ringing {
                self.lanes[n].ring();
                self.cores[n].state = State::Ready;
                self.store.advance(at);
                self.reap(n, at);
            }
            if self.cores[n].busy > at {
                // Completions took the core meanwhile.
                return;
            }
            if self.lanes[n].resume() {
                self.cores[n].state = State::Waiting;
                self.spend(n, at);
                return;
            }
        }
        let share = Share::of(operations, self.cores[n].next, self.cores.len());
        let Some(operation) = share.first() else { return self.end(n, at) };
        let must_wait = match operation {
            Op::Wait => self.cores[n].in_flight > 0,
            _ => self.lanes[n].counts(operation) && self.lanes[n].in_flight() >= self.depth,
        };
        if must_wait {
            self.cores[n].state = State::Waiting;
        } else if let Some(job) = self.workers.has_waited_enough() {
            self.quantum(job, n, at);
        } else if *operation == Op::Wait {
            self.cores[n].next += self.cores.len();
        } else {
            self.submit(n, at, share);
        }
    }

    /// The lane's next operation, on its free core.
    fn submit(&mut self, n: usize, at: Instant, mut share: Share<'_>) {
        let lanes = self.cores.len();
        let (core, read) = (&mut self.cores[n], &mut self.read);
        let is_read = matches!(share.first(), Some(Op::Get(_)));
        let (taken, failed) = match self.lanes[n].submit(share, at) {
            Submitted::Done(outcome) => {
                read.bytes(outcome.data());
                (1, Some(outcome.failures(1)))
            }
            Submitted::Pending(ticket) => {
                core.start(ticket.slot, at, is_read);
                self.in_flight += 1;
                (ticket.operations, None)
            }
            Submitted::Stalled(stall) => {
                match stall.retry_at {
                    Some(later) => core.busy = core.busy.max(later),
                    None => core.state = State::Waiting,
                }
                return;
            }
            Submitted::Refused(_) => {
                core.next += lanes;
                self.result.note(at, at, false);
                return;
            }
        };
        let user_bytes: u64 = share.iter().take(taken as usize).map(Op::user_bytes).sum();
        self.result.user_bytes += user_bytes;
        core.next += lanes * taken as usize;
        share.skip(taken as usize);
        prefetch_hints(share);
        let end = self.spend(n, at);
        self.workers.was_overtaken();
        if let Some(failed) = failed {
            self.note(Ended { lane: n, started: at, is_read, operations: 1, failed }, end);
        }
        if failed.is_none() && self.cores[n].state == State::Ready && self.lanes[n].in_flight() >= self.depth
        {
            self.cores[n].state = State::Waiting;
        }
        self.wake_worker(end);
    }

    /// Nothing is left to submit: what the lane gathered goes, and is awaited.
    fn end(&mut self, n: usize, at: Instant) {
        match self.lanes[n].drain(at) {
            Ok(Drain::Began) => _ = self.spend(n, at),
            Ok(Drain::Waiting) => self.cores[n].state = State::Waiting,
            Ok(Drain::Announced) => {
                self.cores[n].state = State::Waiting;
                self.store.advance(at);
            }
            Ok(Drain::Synced { failed }) => {
                self.result.errors += failed;
                self.result.elapsed = self.result.elapsed.max(at.since(self.begun));
                self.close(n);
            }
            Ok(Drain::Over) | Err(_) => self.close(n),
        }
    }

    fn close(&mut self, n: usize) {
        self.cores[n].state = State::Over;
        self.open -= 1;
    }
}
