//! Threads that carry jobs out, and what they measured.

use super::DbOptions;
use super::jobs::{Act, Job, Sought};
use super::pace::Pace;
use super::turnstile::Turnstile;
use hdrhistogram::Histogram;
use saker::{KeyRange, Kv, WriteBatch};
use saker_lab::error::LabError;
use saker_lab::report::Point;
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
    kv: Kv,
    options: &DbOptions,
    jobs: Vec<Box<dyn Job>>,
    beside: Option<Box<dyn Job>>,
    quickly: bool,
) -> Result<(Kv, Measured), LabError> {
    let (door, over, threads) = (Turnstile::new(kv), AtomicBool::new(false), jobs.len() as u64);
    let begun = Instant::now();
    let worker = |n: usize, job: Box<dyn Job>, stop: Option<&AtomicBool>| {
        let rate = options.rate.filter(|_| !quickly && stop.is_none());
        let pace = rate.map(|rate| Pace::new(rate, n as u64, threads, options.seed));
        let queued = quickly || options.queued;
        Worker { door: &door, options, pace, begun, queued, quickly, measured: Measured::new() }
            .run(job, stop)
    };
    let (mut all, mut failed) = (Measured::new(), None);
    std::thread::scope(|scope| {
        let (worker, over) = (&worker, &over);
        let beside = beside.map(|job| scope.spawn(move || worker(0, job, Some(over))));
        let started: Vec<_> =
            jobs.into_iter().enumerate().map(|(n, job)| scope.spawn(move || worker(n, job, None))).collect();
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
    let mut kv = door.into_inner();
    kv.drain()?;
    if quickly || options.queued {
        all.elapsed = begun.elapsed();
    }
    failed.map_or(Ok((kv, all)), Err)
}

fn joined<R>(thread: std::thread::ScopedJoinHandle<'_, R>) -> R {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

struct Worker<'a> {
    door: &'a Turnstile,
    options: &'a DbOptions,
    pace: Option<Pace>,
    begun: Instant,
    queued: bool,
    quickly: bool,
    measured: Measured,
}

impl Worker<'_> {
    fn run(mut self, mut job: Box<dyn Job>, stop: Option<&AtomicBool>) -> Result<Measured, LabError> {
        let (mut key, mut value) = (Vec::new(), Vec::new());
        let mut batch = Batch::new(self.options.batch_size, self.queued);
        let end = self.options.duration.filter(|_| !self.quickly).map(Duration::from_secs_f64);
        let mut has_begun = false;
        while let Some((act, due)) = job.next(&mut key, &mut value)? {
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
            self.perform(act, &key, &value, start, &mut batch)?;
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
        key: &[u8],
        value: &[u8],
        start: Duration,
        batch: &mut Batch,
    ) -> Result<(), LabError> {
        self.measured.bytes += (key.len() + value.len()) as u64;
        if act == Act::Put && batch.size > 1 {
            batch.writes.put(key, value);
            batch.starts.push(start);
            return if batch.starts.len() >= batch.size { self.send(batch) } else { Ok(()) };
        }
        let queued = self.queued;
        let done = self.door.take(|kv| carry_out(kv, act, key, value, queued))?;
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
        let writes = std::mem::take(&mut batch.writes);
        self.door.take(|kv| kv.write(&writes))?;
        let now = self.begun.elapsed();
        for start in batch.starts.drain(..) {
            self.measured.note(Act::Put, now.saturating_sub(start).as_nanos() as u64);
        }
        Ok(())
    }
}

const AWAKE: Duration = Duration::from_micros(120);
const NAP: Duration = Duration::from_millis(20);

/// Puts that go together.
struct Batch {
    size: usize,
    writes: WriteBatch,
    starts: Vec<Duration>,
}

impl Batch {
    fn new(size: u32, queued: bool) -> Self {
        let size = if queued && size < 2 { 1 } else { size.max(1) as usize };
        Self { size, writes: WriteBatch::new(), starts: Vec::new() }
    }
}

/// Pairs and bytes that were found.
type Found = Option<(u64, u64)>;

fn carry_out(kv: &mut Kv, act: Act, key: &[u8], value: &[u8], queued: bool) -> Result<Found, LabError> {
    Ok(match act {
        Act::Put if queued => kv.put_queued(key, value).map(|()| None)?,
        Act::Put => kv.put(key, value).map(|()| None)?,
        Act::Get => kv.get(key)?.map(|value| (1, value.len() as u64)),
        Act::Delete => kv.delete(key)?.then_some((1, 0)),
        Act::Exist => kv.exists(key)?.then_some((1, 0)),
        Act::Seek(sought) => seek(kv, key, sought)?,
    })
}

/// By an iterator of the device, as of one moment; on devices without, by List and Retrieve in their order.
fn seek(kv: &mut Kv, from: &[u8], sought: Sought) -> Result<Found, LabError> {
    let (pairs, backwards) = (sought.pairs.saturating_add(1), sought.backwards);
    let range = KeyRange { from: if backwards { b"" } else { from }, ..KeyRange::default() };
    let (mut found, mut bytes) = (0, 0);
    let Some(mut iterator) = kv.open_iterator(&range)? else {
        if backwards {
            return Err(saker_host::HostError::NoOrder.into());
        }
        let keys: Vec<_> = kv.list(Some(from)).take(pairs as usize).collect::<Result<_, _>>()?;
        for key in keys {
            bytes += kv.get(&key)?.map_or(0, |value| (key.len() + value.len()) as u64);
            found += 1;
        }
        return Ok((found > 0).then_some((found, bytes)));
    };
    while found < u64::from(pairs) {
        let start = Some(from).filter(|_| backwards && found == 0);
        let batch = kv.next_pairs(&mut iterator, pairs - found as u32, backwards, start)?;
        found += batch.pairs().len() as u64;
        bytes += batch.pairs().map(|(key, value)| (key.len() + value.len()) as u64).sum::<u64>();
        if batch.is_last() {
            break;
        }
    }
    kv.close_iterator(iterator)?;
    Ok((found > 0).then_some((found, bytes)))
}
