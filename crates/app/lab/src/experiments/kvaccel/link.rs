// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What crosses the link second by second: while writes are stopped, otherwise, and with redirection.

use super::systems::{Setup, System};
use super::{Parameters, add_run, complete, factor, key, value};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig;
use crate::shared_runs::Made;
use saker_engine::write_gate::{Hold, Period};
use saker_hybrid::Rollback;
use saker_sim::Duration;
use saker_world::{Job, Op, RunResult};
use serde_json::json;
use std::sync::Arc;

/// Writes at least.
const WRITES_MIN: u64 = 4000;
/// Points of a time line at most.
const POINTS_MAX: usize = 400;
/// Writes in flight of the fill in the order of keys.
const DEPTH: u16 = 8;

/// A run, and the seconds in which writes were stopped all the time.
struct Run {
    name: String,
    run: Arc<Made>,
    second: Duration,
    is_stopped: Vec<bool>,
}

impl Run {
    fn of(setup: &Setup<'_>, system: System, job: Job, name: &str) -> Result<Self, LabError> {
        setup.cx.note(name.to_owned());
        let threads = setup.plan.judged_threads;
        let result = complete(system.run(setup, threads, &[job])?.results, name)?.swap_remove(0);
        Ok(Self::made(setup, name, Arc::new(Made { result, changes: [0; 2] })))
    }

    /// Workload A.
    fn of_writes(setup: &Setup<'_>, system: System, operations: u64) -> Result<Self, LabError> {
        let run = setup.writes(operations, system, setup.plan.judged_threads)?;
        Ok(Self::made(setup, &system.name(), run))
    }

    fn made(setup: &Setup<'_>, name: &str, run: Arc<Made>) -> Self {
        let second = super::second(setup.factor);
        let is_stopped = stopped(&run.result, second);
        Self { name: name.to_owned(), run, second, is_stopped }
    }

    /// Megabytes a second of each whole second, and whether writes were stopped in it.
    fn seconds(&self) -> impl Iterator<Item = (f64, bool)> + '_ {
        let whole = self.run.result.link_timeline.len().saturating_sub(1);
        let rate = |bytes: &u64| *bytes as f64 / 1e6 / self.second.as_secs_f64();
        let seconds = self.run.result.link_timeline.iter().take(whole).map(rate);
        seconds.zip(self.is_stopped.iter().copied())
    }

    fn mean(&self, wanted: Option<bool>) -> f64 {
        let seconds = self.seconds().filter(|(_, is)| wanted.is_none_or(|wanted| wanted == *is));
        mean(seconds.map(|(rate, _)| rate))
    }

    fn points(&self, series: &mut Vec<Point>) {
        let mut whole = Point::at([("system", json!(self.name)), ("run", json!("whole"))]);
        add_run(&mut whole, &self.run.result);
        whole.add("link_mb_per_s_stopped", self.mean(Some(true)));
        whole.add("link_mb_per_s_otherwise", self.mean(Some(false)));
        series.push(whole);
        let all: Vec<_> = self.seconds().collect();
        let step = all.len().div_ceil(POINTS_MAX).max(1);
        for (n, seconds) in all.chunks(step).enumerate() {
            let mut point = Point::at([("system", json!(self.name)), ("second", json!(n * step))]);
            point.add("link_mb_per_s", mean(seconds.iter().map(|(rate, _)| *rate)));
            series.push(point);
        }
    }
}

fn mean(all: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = all.fold((0.0, 0_u32), |(sum, count), rate| (sum + rate, count + 1));
    if count > 0 { sum / f64::from(count) } else { f64::NAN }
}

/// Seconds that lie within a period without writes, of those periods that are remembered.
fn stopped(result: &RunResult, second: Duration) -> Vec<bool> {
    let within = |n: usize| {
        let (begin, end) = (n as u64 * second.as_nanos(), (n as u64 + 1) * second.as_nanos());
        let holds = |p: &Period| {
            let from = p.begin.as_nanos();
            p.hold == Hold::Stopped && from <= begin && end <= from + p.length.as_nanos()
        };
        result.stalls.recent.iter().any(holds)
    };
    (0..result.link_timeline.len()).map(within).collect()
}

/// The fastest second of a fill in the order of keys, whose tables only go down: what the device takes.
fn available(setup: &Setup<'_>, operations: u64, series: &mut Vec<Point>) -> Result<f64, LabError> {
    let put = |n| Op::Put(key(n), value(setup.plan.value_bytes, n));
    let job = Job { flush: false, ..rig::job(1, DEPTH, (0..operations).map(put).collect()) };
    let run = Run::of(setup, System::RocksDb { slowdown: false }, job, "in order")?;
    run.points(series);
    Ok(run.seconds().map(|(rate, _)| rate).fold(f64::NAN, f64::max))
}

/// Runs kvaccel-pcie-idle.
pub fn idle(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(WRITES_MIN);
    let setup = Setup::new(cx, &plan, factor(cx, operations));
    let mut series = Vec::new();
    let available = available(&setup, operations, &mut series)?;
    let run = Run::of_writes(&setup, System::RocksDb { slowdown: false }, operations)?;
    run.points(&mut series);
    let least = run.seconds().filter(|(_, is)| *is).map(|(rate, _)| rate).fold(f64::NAN, f64::min);
    let (inside, outside) = (run.mean(Some(true)), run.mean(Some(false)));
    let share = least / available;
    let parts = [
        Part::new("least share of what is available, writes stopped", share, share <= 0.15),
        Part::new(
            "mean while writes are stopped over the mean otherwise",
            inside / outside,
            inside < 0.5 * outside,
        ),
    ];
    let seconds = run.seconds().filter(|(_, is)| *is).count();
    let note = format!(
        "The link carries {available:.0} MB/s in the fastest second of a fill in the order of keys; with random writes {inside:.0} in the mean of \
         {seconds} seconds without a write, {least:.0} in the least of them, and {outside:.0} in the mean of all others."
    );
    let mut book = cx.book();
    book.order("AC-kvaccel-pcie-idle-1", &parts, note);
    Ok(Outcome { series, checks: book.finish() })
}

/// Runs kvaccel-pcie-use.
pub fn usage(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(WRITES_MIN);
    let setup = Setup::new(cx, &plan, factor(cx, operations));
    let rocks = Run::of_writes(&setup, System::RocksDb { slowdown: false }, operations)?;
    let kvaccel = Run::of_writes(&setup, System::KvAccel(Rollback::Eager), operations)?;
    let mut series = Vec::new();
    [&rocks, &kvaccel].iter().for_each(|run| run.points(&mut series));
    let (of_rocks, of_kvaccel) = (rocks.mean(None), kvaccel.mean(None));
    let stopped = rocks.mean(Some(true));
    let mut book = cx.book();
    let ratio = of_kvaccel / of_rocks;
    let parts = [Part::new("KVAccel over RocksDB, mean of the link", ratio, ratio > 1.0)];
    let note = format!("KVAccel {of_kvaccel:.0} MB/s, RocksDB {of_rocks:.0}, both without slowdown.");
    book.order("AC-kvaccel-pcie-use-1", &parts, note);
    let ratio = of_kvaccel / stopped;
    let parts = [Part::new("KVAccel over RocksDB while its writes are stopped", ratio, ratio >= 2.0)];
    let note = format!(
        "RocksDB while writes are stopped: {stopped:.0} MB/s. Of KVAccel all seconds count: it redirects in nearly all of them."
    );
    book.order("AC-kvaccel-pcie-use-2", &parts, note);
    Ok(Outcome { series, checks: book.finish() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_engine::WriteStallCause;
    use saker_sim::Instant;

    #[test]
    fn seconds_within_a_stop_are_stopped() {
        let mut result = RunResult { link_timeline: vec![1; 6], ..RunResult::new() };
        let ns = Duration::from_nanos;
        let period = |hold, begin, length| Period {
            hold,
            cause: WriteStallCause::ALL[0],
            begin: Instant::from_nanos(begin),
            length: ns(length),
            writes: 1,
        };
        result.stalls.recent.push_back(period(Hold::Stopped, 90, 220));
        result.stalls.recent.push_back(period(Hold::Delayed, 400, 100));
        assert_eq!(stopped(&result, ns(100)), [false, true, true, false, false, false]);
    }
}
