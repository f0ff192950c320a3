// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Throughput second by second: slowdown against stops, and redirection against both.

use super::systems::{Setup, System};
use super::{Parameters, add_run, factor, poor_seconds};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::shared_runs::Made;
use saker_engine::write_gate::Hold;
use saker_hybrid::Rollback;
use saker_world::RunResult;
use saker_world::stores::adoc::WhenNoneWaits;
use serde_json::json;
use std::sync::Arc;

/// Writes at least.
const WRITES_MIN: u64 = 4000;
/// Points of a time line at most.
const POINTS_MAX: usize = 400;

/// A system's run of workload A.
pub(super) struct Line {
    pub system: System,
    threads: u32,
    pub run: Arc<Made>,
}

impl Line {
    pub(super) fn run(
        setup: &Setup<'_>,
        operations: u64,
        system: System,
        threads: u32,
    ) -> Result<Self, LabError> {
        Ok(Self { system, threads, run: setup.writes(operations, system, threads)? })
    }

    /// Its numbers, and its time line.
    fn points(&self, factor: u64, series: &mut Vec<Point>) {
        let name = format!("{}({})", self.system.name(), self.threads);
        let mut whole = Point::at([("system", json!(name)), ("run", json!("whole"))]);
        add_run(&mut whole, &self.run.result);
        whole.add("seconds_without_a_write", poor_seconds(&self.run.result, 0.0) as f64);
        whole.add("seconds_below_a_tenth", poor_seconds(&self.run.result, 0.1) as f64);
        whole.add("seconds", self.run.result.timeline.len() as f64);
        if let System::Adoc { .. } = self.system {
            whole.add("thread_changes", self.run.changes[0] as f64);
            whole.add("memtable_changes", self.run.changes[1] as f64);
        }
        series.push(whole);
        let step = self.run.result.timeline.len().div_ceil(POINTS_MAX).max(1);
        for (n, seconds) in self.run.result.timeline.chunks(step).enumerate() {
            let mut point = Point::at([("system", json!(name)), ("second", json!(n * step))]);
            let mean = seconds.iter().sum::<u64>() as f64 / seconds.len() as f64;
            point.add("kops_per_s", mean * factor as f64 / 1e3);
            series.push(point);
        }
    }

    fn told_changes(&self) -> String {
        let [threads, memtables] = self.run.changes;
        let is_tuned = matches!(self.system, System::Adoc { .. });
        if is_tuned {
            format!("{threads} changes of threads, {memtables} of memtables; ")
        } else {
            String::new()
        }
    }

    pub(super) fn told(&self) -> String {
        let (stopped, r) = (self.run.result.stalls.all(Hold::Stopped), &self.run.result);
        format!(
            "{}({}): {}{:.1} thousand writes a second, {} of {} seconds without one, {} below a tenth of the mean; stopped {} times for {:.1} % of \
             the time; the longest put took {:.2} ms.",
            self.system.name(),
            self.threads,
            self.told_changes(),
            r.rate() / 1e3,
            poor_seconds(r, 0.0),
            r.timeline.len().saturating_sub(1),
            poor_seconds(r, 0.1),
            stopped.periods,
            100.0 * stopped.time.as_secs_f64() / r.elapsed.as_secs_f64(),
            r.latency.max() as f64 / 1e6,
        )
    }
}

/// Runs kvaccel-slowdown.
pub fn slowdown(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(WRITES_MIN);
    let setup = Setup::new(cx, &plan, factor(cx, operations));
    let (mut series, mut parts, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    let adoc = |slowdown| System::Adoc { slowdown, when_none_waits: WhenNoneWaits::Larger };
    let all = [true, false].map(|slowdown| [System::RocksDb { slowdown }, adoc(slowdown)]).concat();
    let asked = plan.threads.iter().flat_map(|threads| all.iter().map(|system| (*system, *threads)));
    setup.writes_ahead(operations, &asked.collect::<Vec<_>>())?;
    for threads in &plan.threads {
        for (name, systems) in [
            ("RocksDB", [true, false].map(|slowdown| System::RocksDb { slowdown })),
            ("ADOC", [true, false].map(adoc)),
        ] {
            let with = Line::run(&setup, operations, systems[0], *threads)?;
            let without = Line::run(&setup, operations, systems[1], *threads)?;
            if *threads == plan.judged_threads {
                parts.extend(slowdown_parts(name, &with, &without));
            }
            for line in [with, without] {
                notes.push(line.told());
                line.points(setup.factor, &mut series);
            }
        }
    }
    let mut book = cx.book();
    book.order("AC-kvaccel-slowdown-1", &parts, notes.join(" "));
    Ok(Outcome { series, checks: book.finish() })
}

/// What slowdown does to a system: fewer seconds without a write, and fewer writes.
fn slowdown_parts(name: &str, with: &Line, without: &Line) -> [Part; 2] {
    let idle = [with, without].map(|line| poor_seconds(&line.run.result, 0.0) as f64);
    let rate = with.run.result.rate() / without.run.result.rate();
    [
        Part::new(
            format!("{name}: seconds without a write, with slowdown less without"),
            idle[0] - idle[1],
            idle[0] < idle[1],
        ),
        Part::new(format!("{name}: throughput with slowdown over without"), rate, rate < 1.0),
    ]
}

/// Runs kvaccel-stall-avoid.
pub fn stall_avoid(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(WRITES_MIN);
    let setup = Setup::new(cx, &plan, factor(cx, operations));
    let threads = plan.judged_threads;
    let systems = [
        System::RocksDb { slowdown: true },
        System::RocksDb { slowdown: false },
        System::ADOC,
        System::KvAccel(Rollback::Eager),
        System::KvAccel(Rollback::Lazy),
        System::KvAccelBlocking,
        System::Exact(Rollback::Eager),
        System::Exact(Rollback::Lazy),
    ];
    setup.writes_ahead(operations, &systems.map(|system| (system, threads)))?;
    let lines = systems.into_iter().map(|system| Line::run(&setup, operations, system, threads));
    let lines = lines.collect::<Result<Vec<_>, _>>()?;
    let of = |system: System| lines.iter().find(|line| line.system == system).map(|line| &line.run.result);
    let poor = |system| of(system).map_or(f64::NAN, |result| poor_seconds(result, 0.1) as f64);
    let held = |system, hold| of(system).map_or(f64::NAN, |result| result.stalls.all(hold).writes as f64);
    let (kvaccel, rocks) = (System::KvAccel(Rollback::Eager), System::RocksDb { slowdown: false });
    let parts = [
        Part::new(
            "poor seconds of KVAccel",
            poor(kvaccel),
            poor(kvaccel) == 0.0 || poor(kvaccel) * 10.0 <= poor(rocks),
        ),
        Part::new("poor seconds of RocksDB without slowdown", poor(rocks), poor(rocks) > 0.0),
        Part::within("writes of KVAccel that were delayed", held(kvaccel, Hold::Delayed), 0.0, 0.0),
    ];
    let notes: Vec<String> = lines.iter().map(Line::told).collect();
    let mut book = cx.book();
    book.order("AC-kvaccel-stall-1", &parts, notes.join(" "));
    let exact = [Rollback::Eager, Rollback::Lazy].map(System::Exact);
    let parts: Vec<Part> = exact
        .iter()
        .flat_map(|system| {
            let idle = of(*system).map_or(f64::NAN, |result| poor_seconds(result, 0.0) as f64);
            let name = system.name();
            [
                Part::within(
                    format!("{name}: puts that waited for a stop"),
                    held(*system, Hold::Stopped),
                    0.0,
                    0.0,
                ),
                Part::within(format!("{name}: seconds without a put"), idle, 0.0, 0.0),
            ]
        })
        .collect();
    book.order(
        "AC-kvaccel-stall-2",
        &parts,
        exact.iter().map(|system| longest(of(*system))).collect::<Vec<_>>().join(" "),
    );
    let mut series = Vec::new();
    lines.iter().for_each(|line| line.points(setup.factor, &mut series));
    Ok(Outcome { series, checks: book.finish() })
}

/// The longest put, and what writes had to wait for.
fn longest(result: Option<&RunResult>) -> String {
    let Some(result) = result else { return String::new() };
    let counted =
        |name: &str| result.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
    let ms = |name: &str| counted(name) as f64 / 1e6;
    format!(
        "The longest put took {:.2} ms: {:.2} in a command of the device's tree, {:.2} in the main tree, {:.2} behind a write of its key and {:.2} held; {} \
         writes waited for a scan's beginning or for the device's being emptied, which took {:.2} ms in all, and {} found the device's tree full.",
        result.latency.max() as f64 / 1e6,
        ms("longest_write_in_device_ns"),
        ms("longest_write_in_main_ns"),
        ms("longest_write_in_line_ns"),
        ms("longest_write_held_ns"),
        counted("redirected_held"),
        counted("device_emptying_ns") as f64 / 1e6,
        counted("redirected_turned_back"),
    )
}
