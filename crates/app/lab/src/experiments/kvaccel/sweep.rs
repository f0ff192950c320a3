// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workload A at several scales: whether systems change places.

use super::systems::{Setup, System};
use super::timelines::Line;
use super::{Parameters, add_run, factor, poor_seconds};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_engine::write_gate::Hold;
use saker_hybrid::Rollback;
use saker_world::RunResult;
use serde::Deserialize;
use serde_json::json;

/// Writes at least, at the smallest scale.
const WRITES_MIN: u64 = 2000;

const ROCKS: System = System::RocksDb { slowdown: false };
const KVACCEL: System = System::KvAccel(Rollback::Eager);
const EXACT: System = System::Exact(Rollback::Eager);
const SYSTEMS: [System; 5] = [System::RocksDb { slowdown: true }, ROCKS, System::ADOC, KVACCEL, EXACT];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Swept {
    value_bytes: usize,
    flash_bytes: u64,
    threads: Vec<u32>,
    judged_threads: u32,
    /// How much smaller than the run's own scale each part is.
    times: Vec<u64>,
}

/// All systems at one scale.
struct Scale {
    factor: u64,
    lines: Vec<Line>,
}

impl Scale {
    fn run(cx: &Context<'_>, plan: &Parameters, operations: u64) -> Result<Self, LabError> {
        let setup = Setup::new(cx, plan, factor(cx, operations));
        cx.note(format!("1/{} of the published scale", setup.factor));
        setup.writes_ahead(operations, &SYSTEMS.map(|system| (system, plan.judged_threads)))?;
        let run = |system| Line::run(&setup, operations, system, plan.judged_threads);
        let lines = SYSTEMS.into_iter().map(run).collect::<Result<_, _>>()?;
        Ok(Self { factor: setup.factor, lines })
    }

    fn of(&self, system: System, show: impl Fn(&RunResult) -> f64) -> f64 {
        let line = self.lines.iter().find(|line| line.system == system);
        line.map_or(f64::NAN, |line| show(&line.run.result))
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.lines.iter().map(|line| {
            let place = [("system", json!(line.system.name())), ("factor", json!(self.factor))];
            let mut point = Point::at(place);
            add_run(&mut point, &line.run.result);
            point.add("seconds_without_a_write", poor_seconds(&line.run.result, 0.0) as f64);
            point.add("seconds_below_a_tenth", poor_seconds(&line.run.result, 0.1) as f64);
            point.add("seconds", line.run.result.timeline.len() as f64);
            point
        })
    }

    fn faster(&self) -> [Part; 2] {
        [(KVACCEL, System::ADOC), (System::ADOC, ROCKS)].map(|(fast, slow)| {
            let ratio = self.of(fast, RunResult::rate) / self.of(slow, RunResult::rate);
            let name = format!("1/{}: throughput, {} over {}", self.factor, fast.name(), slow.name());
            Part::new(name, ratio, ratio > 1.0)
        })
    }

    fn steadier(&self) -> [Part; 3] {
        let poor = |system| self.of(system, |result| poor_seconds(result, 0.1) as f64);
        let longest = |system| self.of(system, |result| result.latency.max() as f64);
        let delayed = self.of(KVACCEL, |result| result.stalls.all(Hold::Delayed).writes as f64);
        let at = format!("1/{}", self.factor);
        let ratio = longest(KVACCEL) / longest(ROCKS);
        [
            Part::new(
                format!("{at}: poor seconds of KVAccel"),
                poor(KVACCEL),
                poor(KVACCEL) == 0.0 || poor(KVACCEL) * 10.0 <= poor(ROCKS),
            ),
            Part::new(
                format!("{at}: longest put, KVAccel over RocksDB without slowdown"),
                ratio,
                ratio < 1.0,
            ),
            Part::within(format!("{at}: writes of KVAccel that were delayed"), delayed, 0.0, 0.0),
        ]
    }

    fn unstopped(&self) -> [Part; 2] {
        let stopped = self.of(EXACT, |result| result.stalls.all(Hold::Stopped).writes as f64);
        let idle = self.of(EXACT, |result| poor_seconds(result, 0.0) as f64);
        [
            Part::within(format!("1/{}: puts that waited for a stop", self.factor), stopped, 0.0, 0.0),
            Part::within(format!("1/{}: seconds without a put", self.factor), idle, 0.0, 0.0),
        ]
    }

    fn told(&self) -> String {
        let lines: Vec<String> = self.lines.iter().map(Line::told).collect();
        format!("1/{} of the published scale: {}", self.factor, lines.join(" "))
    }
}

/// Runs kvaccel-sweep.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let Swept { value_bytes, flash_bytes, threads, judged_threads, times } = cx.plan.parameters();
    let plan = Parameters { value_bytes, flash_bytes, threads, judged_threads };
    let most = times.iter().copied().max().unwrap_or(1);
    let operations = cx.operations(WRITES_MIN * most);
    let scales = times.iter().map(|times| Scale::run(cx, &plan, operations / times));
    let scales = scales.collect::<Result<Vec<_>, _>>()?;
    let mut book = cx.book();
    let told: Vec<String> = scales.iter().map(Scale::told).collect();
    let all = |parts: &dyn Fn(&Scale) -> Vec<Part>| scales.iter().flat_map(parts).collect::<Vec<_>>();
    book.order("AC-kvaccel-sweep-1", &all(&|scale| scale.faster().into()), told.join(" "));
    book.order("AC-kvaccel-sweep-2", &all(&|scale| scale.steadier().into()), "");
    book.order("AC-kvaccel-sweep-3", &all(&|scale| scale.unstopped().into()), "");
    Ok(Outcome { series: scales.iter().flat_map(Scale::points).collect(), checks: book.finish() })
}
