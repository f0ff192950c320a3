// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads that carry jobs out, and what they measured.

use super::DbOptions;
use super::jobs::{Act, Job, Sought};
use super::pace::Pace;
use crate::door::{Buffers, SharedStore, Turnstile, carry_out, drain};
use hdrhistogram::Histogram;
use saker::Kv;
use saker_host::HostError;
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_store::{KvStore, Lane, Op, Outcome};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Kinds of operations that are told apart.
const KINDS: [&str; 5] = ["put", "get", "delete", "exist", "seek"];

/// Longer latencies count as this one: an hour.
const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// What was measured. Latencies are in nanoseconds.
pub(super) struct Measured {
    all: Histogram<u64>,
    kinds: [Histogram<u64>; KINDS.len()],
    found: u64,
    missing: u64,
    pairs_sought: u64,
    bytes: u64,
    /// Operations of the thread beside.
    beside: u64,
    elapsed: Duration,
}

impl Measured {
    fn new() -> Self {
        let histogram = || Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("three digits");
        Self {
            all: histogram(),
            kinds: std::array::from_fn(|_| histogram()),
            found: 0,
            missing: 0,
            pairs_sought: 0,
            bytes: 0,
            beside: 0,
            elapsed: Duration::ZERO,
        }
    }

    fn note(&mut self, act: Act, ns: u64) {
        self.all.saturating_record(ns);
        self.kinds[kind(act)].saturating_record(ns);
    }

    fn join(&mut self, other: &Self) {
        self.all.add(&other.all).expect("of one shape");
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.add(theirs).expect("of one shape");
        }
        self.found += other.found;
        self.missing += other.missing;
        self.pairs_sought += other.pairs_sought;
        self.bytes += other.bytes;
        self.elapsed = self.elapsed.max(other.elapsed);
    }

    pub(super) fn add_to(&self, point: &mut Point, options: &DbOptions) {
        let (operations, seconds) = (self.all.len() as f64, self.elapsed.as_secs_f64());
        point.add("operations", operations);
        point.add("elapsed_s", seconds);
        point.add("operations_per_s", operations / seconds);
        point.add("bytes_per_s", self.bytes as f64 / seconds);
        let reads = [Act::Get, Act::Exist, Act::Seek(Sought::default())];
        if reads.into_iter().any(|act| !self.kinds[kind(act)].is_empty()) {
            point.add("found", self.found as f64);
            point.add("missing", self.missing as f64);
        }
        if self.pairs_sought > 0 {
            point.add("pairs_sought", self.pairs_sought as f64);
        }
        if self.beside > 0 {
            point.add("writes_meanwhile", self.beside as f64);
            point.add("writes_meanwhile_per_s", self.beside as f64 / seconds);
        }
        if options.queued && options.bench.only_writes() {
            return;
        }
        add_latency(point, "latency", &self.all);
        let several = self.kinds.iter().filter(|kind| !kind.is_empty()).count() > 1;
        for (name, latency) in KINDS.iter().zip(&self.kinds).filter(|(_, kind)| several && !kind.is_empty()) {
            add_latency(point, name, latency);
        }
    }
}

fn add_latency(point: &mut Point, name: &str, latency: &Histogram<u64>) {
    if latency.is_empty() {
        return;
    }
    if name != "latency" {
        point.add(&format!("{name}_operations"), latency.len() as f64);
    }
    point.add(&format!("{name}_us_mean"), latency.mean() / 1e3);
    for (quantile, value) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
        point.add(&format!("{name}_us_{quantile}"), latency.value_at_quantile(value) as f64 / 1e3);
    }
    point.add(&format!("{name}_us_max"), latency.max() as f64 / 1e3);
}

fn kind(act: Act) -> usize {
    match act {
        Act::Put => 0,
        Act::Get => 1,
        Act::Delete => 2,
        Act::Exist => 3,
        Act::Seek(_) => 4,
    }
}

/// Runs each job on a thread of its own, and `beside` until they have ended. `quickly`: queued and without a rate.
pub(super) fn run(
    kv: &mut Kv,
    options: &DbOptions,
    jobs: Vec<Box<dyn Job>>,
    beside: Option<Box<dyn Job>>,
    quickly: bool,
) -> Result<Measured, LabError> {
    let door = Turnstile::new(kv);
    run_on(&mut SharedStore::new(&door, quickly || options.queued), options, jobs, beside, quickly)
}

/// The same on any store whose lanes go to other threads.
fn run_on<S: KvStore<Lane: Lane<Error = HostError> + Send>>(
    store: &mut S,
    options: &DbOptions,
    jobs: Vec<Box<dyn Job>>,
    beside: Option<Box<dyn Job>>,
    quickly: bool,
) -> Result<Measured, LabError> {
    let (over, threads) = (AtomicBool::new(false), jobs.len() as u64);
    let mut lanes = jobs.iter().map(|_| store.open_lane()).collect::<Result<Vec<_>, _>>()?;
    let (lane_beside, mut last) = (store.open_lane()?, store.open_lane()?);
    let begun = Instant::now();
    let worker = |n: usize, lane: S::Lane, job: Box<dyn Job>, stop: Option<&AtomicBool>| {
        let rate = options.rate.filter(|_| !quickly && stop.is_none());
        let pace = rate.map(|rate| Pace::new(rate, n as u64, threads, options.seed));
        let queued = quickly || options.queued;
        Worker { lane, options, pace, begun, queued, quickly, measured: Measured::new() }.run(job, stop)
    };
    let (mut all, mut failed) = (Measured::new(), None);
    std::thread::scope(|scope| {
        let (worker, over) = (&worker, &over);
        let beside = beside.map(|job| scope.spawn(move || worker(0, lane_beside, job, Some(over))));
        let dealt = jobs.into_iter().zip(lanes.drain(..)).enumerate();
        let started: Vec<_> =
            dealt.map(|(n, (job, lane))| scope.spawn(move || worker(n, lane, job, None))).collect();
        for thread in started {
            match joined(thread) {
                Ok(measured) => all.join(&measured),
                Err(e) => failed = Some(e),
            }
        }
        over.store(true, Ordering::Release);
        match beside.map(joined) {
            Some(Ok(measured)) => all.beside = measured.all.len(),
            Some(Err(e)) => failed = Some(e),
            None => {}
        }
    });
    drain(&mut last)?;
    if quickly || options.queued {
        all.elapsed = begun.elapsed();
    }
    failed.map_or(Ok(all), Err)
}

fn joined<R>(thread: std::thread::ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct Worker<'a, L> {
    lane: L,
    options: &'a DbOptions,
    pace: Option<Pace>,
    begun: Instant,
    queued: bool,
    quickly: bool,
    measured: Measured,
}

impl<L: Lane<Error = HostError>> Worker<'_, L> {
    fn run(mut self, mut job: Box<dyn Job>, stop: Option<&AtomicBool>) -> Result<Measured, LabError> {
        let mut buffers = Buffers::default();
        let mut batch = Batch::new(self.options.batch_size, self.queued);
        let end = self.options.duration.filter(|_| !self.quickly).map(Duration::from_secs_f64);
        let mut has_begun = false;
        while let Some((act, due)) = job.next(&mut buffers.key, &mut buffers.value)? {
            let over = end.is_some_and(|end| self.begun.elapsed() >= end);
            // The thread beside does something, however soon the others are through.
            if over || has_begun && stop.is_some_and(|stop| stop.load(Ordering::Acquire)) {
                break;
            }
            let due = self.pace.as_mut().map(Pace::next_due).or(due);
            let start = due
                .map_or_else(|| self.begun.elapsed(), |due| self.wait(Duration::from_nanos(due), end, stop));
            if end.is_some_and(|end| start >= end) {
                break;
            }
            self.perform(act, &mut buffers, start, &mut batch)?;
            has_begun = true;
        }
        self.send(&mut batch)?;
        self.measured.elapsed = self.begun.elapsed();
        Ok(self.measured)
    }

    /// Returns when an operation is meant to begin, or later; when that was. One that would begin behind the end is not waited for.
    fn wait(&self, due: Duration, end: Option<Duration>, stop: Option<&AtomicBool>) -> Duration {
        let until = end.map_or(due, |end| due.min(end));
        loop {
            let left = until.saturating_sub(self.begun.elapsed());
            if left.is_zero() || stop.is_some_and(|stop| stop.load(Ordering::Acquire)) {
                return due;
            }
            // Sleeping ends late: the last stretch is waited for awake.
            if left > AWAKE { std::thread::sleep((left - AWAKE).min(NAP)) } else { std::hint::spin_loop() }
        }
    }

    fn perform(
        &mut self,
        act: Act,
        buffers: &mut Buffers,
        start: Duration,
        batch: &mut Batch,
    ) -> Result<(), LabError> {
        self.measured.bytes += (buffers.key.len() + buffers.value.len()) as u64;
        if act == Act::Put && batch.size > 1 {
            batch.put(buffers);
            batch.starts.push(start);
            return if batch.starts.len() >= batch.size { self.send(batch) } else { Ok(()) };
        }
        let op = asked(act, buffers);
        let done = carry_out(&mut self.lane, &op, found)?;
        buffers.back(op);
        match (act, done) {
            (Act::Get | Act::Exist | Act::Seek(_), Some((pairs, bytes))) => {
                self.measured.found += 1;
                self.measured.bytes += bytes;
                self.measured.pairs_sought += if matches!(act, Act::Seek(_)) { pairs } else { 0 };
            }
            (Act::Get | Act::Exist | Act::Seek(_), None) => self.measured.missing += 1,
            _ => {}
        }
        let ns = self.begun.elapsed().saturating_sub(start).as_nanos();
        self.measured.note(act, ns as u64);
        Ok(())
    }

    fn send(&mut self, batch: &mut Batch) -> Result<(), LabError> {
        if batch.starts.is_empty() {
            return Ok(());
        }
        let group = Op::Group { operations: std::mem::take(&mut batch.puts), flags: 0 };
        carry_out(&mut self.lane, &group, |_| ())?;
        let now = self.begun.elapsed();
        for start in batch.starts.drain(..) {
            self.measured.note(Act::Put, now.saturating_sub(start).as_nanos() as u64);
        }
        batch.recycle(group);
        Ok(())
    }
}

const AWAKE: Duration = Duration::from_micros(120);
const NAP: Duration = Duration::from_millis(20);

/// Puts that go together.
struct Batch {
    size: usize,
    puts: Vec<Op>,
    /// Puts that were sent, for their memory.
    spare: Vec<Op>,
    starts: Vec<Duration>,
}

impl Batch {
    fn new(size: u32, queued: bool) -> Self {
        let size = if queued && size < 2 { 1 } else { size.max(1) as usize };
        Self { size, puts: Vec::new(), spare: Vec::new(), starts: Vec::new() }
    }

    /// Takes what the buffers have, and gives them others.
    fn put(&mut self, buffers: &mut Buffers) {
        self.puts.push(buffers.put());
        if let Some(spare) = self.spare.pop() {
            buffers.back(spare);
        }
    }

    fn recycle(&mut self, group: Op) {
        if let Op::Group { operations, .. } = group {
            self.spare = operations;
        }
    }
}

/// Pairs and bytes that were found.
type Found = Option<(u64, u64)>;

fn asked(act: Act, buffers: &mut Buffers) -> Op {
    match act {
        Act::Put => buffers.put(),
        Act::Get => buffers.with_key(Op::Get),
        Act::Delete => buffers.with_key(Op::Delete),
        Act::Exist => buffers.with_key(Op::Exists),
        Act::Seek(Sought { pairs, backwards }) => {
            buffers.with_key(|from| Op::Seek { from, entries: pairs.saturating_add(1), backwards })
        }
    }
}

fn found(outcome: Outcome<'_>) -> Found {
    match outcome {
        Outcome::Value { data, .. } => Some((1, data.len() as u64)),
        Outcome::Pairs { .. } => {
            let pairs = outcome.pairs();
            let bytes = pairs.iter().map(|(key, value)| (key.len() + value.len()) as u64).sum();
            (!pairs.is_empty()).then_some((pairs.len() as u64, bytes))
        }
        Outcome::Done { .. } => Some((1, 0)),
        _ => None,
    }
}
