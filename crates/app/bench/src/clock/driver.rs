// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The driver against the clock: one loop for all stores, on a thread for each lane.

use super::{How, Pause, RealRun, Running, on_threads, since};
use saker_assembly::Build;
use saker_host::{CacheStats, HostError, KvError, ProtocolError};
use saker_link::Traffic;
use saker_sim::{Duration, Instant};
use saker_store::{Completions, Drain, KvStore, Lane, Op, Outcome, Share, Submitted};
use saker_world::{Job, RunResult};
use std::time::Instant as Clock;

/// A store that can be measured against the clock.
pub(super) trait OnClock: KvStore<Lane: Lane<Error = HostError> + Send> {
    /// What only the host can count of the link's traffic.
    fn traffic(&self, lanes: &[&Self::Lane]) -> Traffic;

    /// What the read cache did.
    fn cache(&self) -> CacheStats {
        CacheStats::default()
    }

    /// Counters of a store at the host.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A lane, and by slot since when its tickets are on their way.
struct Thread<L> {
    lane: L,
    started: Vec<Instant>,
}

/// A lane's part of a job.
struct Part<'j> {
    share: Share<'j>,
    depth: usize,
    /// What has completed is looked at after each operation, not when as many are on their way as may be.
    looks_often: bool,
    interval: Duration,
    begun: Clock,
    /// When the last operation was submitted.
    from: Instant,
    result: RunResult,
}

/// Runs jobs one after the other on a store.
pub(super) fn drive<S: OnClock>(
    mut store: S,
    mut running: Running,
    (build, how, jobs): (&Build, &How, &[Job]),
) -> Result<RealRun, HostError> {
    let lanes = jobs.first().map_or(0, |first| first.threads.max(1));
    let opened = (0..lanes).map(|_| store.open_lane()).collect::<Result<Vec<_>, _>>();
    let opened = opened.map_err(|_| HostError::from(ProtocolError::Queues))?;
    let mut threads: Vec<_> = opened.into_iter().map(|lane| Thread { lane, started: Vec::new() }).collect();
    let looks_often = store.order().completions == Completions::Shared;
    running.count(Traffic::default());
    let mut run = RealRun::default();
    for job in jobs {
        let (begun, cache) = (Clock::now(), store.cache());
        let work = |n, thread: &mut Thread<S::Lane>, begun| {
            let (share, depth) = (Share::of(&job.operations, n, lanes), usize::from(job.depth.max(1)));
            let result = RunResult::new();
            let from = Instant::ZERO;
            thread.work(Part { share, depth, looks_often, interval: build.interval, begun, from, result })
        };
        let mut result = on_threads(&mut threads, &how.cpus, work)?;
        if job.flush {
            threads[0].flush(begun)?;
            result.elapsed = since(begun).since(Instant::ZERO);
        }
        let lanes: Vec<&S::Lane> = threads.iter().map(|thread| &thread.lane).collect();
        result.cache = store.cache().since(&cache);
        result.counters = store.counters();
        running.fill(&mut result, store.traffic(&lanes), build.shape.geometry.page_bytes);
        run.results.push(result);
    }
    (run.events, run.late) = (running.events, running.late);
    Ok(run)
}

impl<L: Lane<Error = HostError>> Thread<L> {
    fn work(&mut self, mut part: Part<'_>) -> Result<RunResult, HostError> {
        let mut pause = Pause::default();
        loop {
            let submitted = self.submit(&mut part)?;
            self.lane.ring();
            let has_taken = self.take(&mut part)?;
            if part.share.first().is_none() && self.lane.in_flight() == 0 {
                match self.lane.drain(since(part.begun))? {
                    Drain::Over => break,
                    Drain::Synced { failed } => {
                        part.result.errors += failed;
                        break;
                    }
                    Drain::Began | Drain::Waiting | Drain::Announced => {}
                }
            }
            if submitted || has_taken { pause.reset() } else { pause.wait() }
        }
        part.result.elapsed = since(part.begun).since(Instant::ZERO);
        Ok(part.result)
    }

    /// Submits operations until as many are on their way as may be, or the store stalls. Whether there was one.
    #[inline]
    fn submit(&mut self, part: &mut Part<'_>) -> Result<bool, HostError> {
        let mut any = false;
        while let Some(operation) = part.share.first() {
            if matches!(operation, Op::Wait) {
                if self.lane.in_flight() > 0 {
                    break;
                }
                part.share.skip(1);
                continue;
            }
            let is_full = self.lane.counts(operation) && self.lane.in_flight() >= part.depth;
            if is_full || self.lane.resume() {
                break;
            }
            let from = if self.lane.joins(operation) { part.from } else { since(part.begun) };
            part.from = from;
            match self.lane.submit(part.share, from) {
                Submitted::Pending(ticket) => {
                    let slot = ticket.slot as usize;
                    if slot >= self.started.len() {
                        self.started.resize(slot + 1, Instant::ZERO);
                    }
                    self.started[slot] = from;
                    part.taken(ticket.operations);
                }
                Submitted::Done(outcome) => {
                    let failed = outcome.failures(1);
                    part.taken(1);
                    part.note(from, 1, failed);
                }
                Submitted::Stalled(_) => break,
                Submitted::Refused(_) => {
                    part.share.skip(1);
                    part.result.note(from, from, false);
                }
            }
            any = true;
            if part.looks_often {
                self.take(part)?;
            }
        }
        Ok(any)
    }

    /// Takes what has completed. Whether anything had.
    #[inline]
    fn take(&mut self, part: &mut Part<'_>) -> Result<bool, HostError> {
        let Self { lane, started } = self;
        if !lane.look(Instant::ZERO) {
            return Ok(false);
        }
        let mut any = false;
        loop {
            let ended = lane.poll(Instant::ZERO, |completed| {
                let (ticket, outcome) = (completed.ticket, completed.outcome);
                (ticket.slot, ticket.operations, Outcome::failures(&outcome, ticket.operations))
            });
            let Some((slot, operations, failed)) = ended? else { return Ok(any) };
            part.note(started[slot as usize], operations, failed);
            any = true;
        }
    }

    fn flush(&mut self, begun: Clock) -> Result<(), HostError> {
        let failed = match self.lane.submit(Share::alone(&Op::Flush), since(begun)) {
            Submitted::Done(outcome) => outcome.failures(1),
            Submitted::Pending(_) => self.wait()?,
            Submitted::Stalled(_) | Submitted::Refused(_) => 1,
        };
        if failed == 0 { Ok(()) } else { Err(KvError::OutcomeUnknown.into()) }
    }

    /// Waits for the only ticket there is. Whether it failed: 1.
    fn wait(&mut self) -> Result<u32, HostError> {
        let mut pause = Pause::default();
        self.lane.ring();
        loop {
            if self.lane.look(Instant::ZERO)
                && let Some(failed) =
                    self.lane.poll(Instant::ZERO, |completed| completed.outcome.failures(1))?
            {
                return Ok(failed);
            }
            pause.wait();
        }
    }
}

impl Part<'_> {
    /// The next operations have been submitted.
    #[inline]
    fn taken(&mut self, operations: u32) {
        let taken = operations as usize;
        let bytes = match (self.share.first(), taken) {
            (Some(first), 1) => first.user_bytes(),
            _ => self.share.iter().take(taken).map(Op::user_bytes).sum(),
        };
        self.result.user_bytes += bytes;
        self.share.skip(taken);
    }

    /// Operations have ended now.
    #[inline]
    fn note(&mut self, from: Instant, operations: u32, failed: u32) {
        let to = since(self.begun);
        for n in 0..operations {
            self.result.note(from, to, n >= failed);
        }
        if self.interval > Duration::ZERO {
            (0..operations).for_each(|_| self.result.count(to.since(Instant::ZERO), self.interval));
        }
    }
}
