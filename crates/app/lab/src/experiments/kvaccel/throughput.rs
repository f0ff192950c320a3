// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workload A by threads that compact: throughput, tail, throughput for CPU.

use super::systems::{Setup, System};
use super::{Parameters, add_run, factor};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::shared_runs::Made;
use saker_hybrid::Rollback;
use saker_world::RunResult;
use saker_world::stores::adoc::WhenNoneWaits;
use serde_json::json;
use std::sync::Arc;

/// Writes at least.
const WRITES_MIN: u64 = 4000;
/// Threads of the claims; others are beside them.
const CLAIMED: [u32; 3] = [1, 2, 4];

const ROCKSDB: System = System::RocksDb { slowdown: true };
const KVACCEL: System = System::KvAccel(Rollback::Eager);

/// Systems by threads.
struct Grid {
    cells: Vec<Cell>,
}

struct Cell {
    system: System,
    threads: u32,
    run: Arc<Made>,
}

impl Grid {
    fn run(cx: &Context<'_>, systems: &[System]) -> Result<Self, LabError> {
        let plan: Parameters = cx.plan.parameters();
        let operations = cx.operations(WRITES_MIN);
        let setup = Setup::new(cx, &plan, factor(cx, operations));
        let asked = plan.threads.iter().flat_map(|threads| systems.iter().map(|system| (*system, *threads)));
        let asked: Vec<_> = asked.collect();
        setup.writes_ahead(operations, &asked)?;
        let cell = |(system, threads)| {
            let run = setup.writes(operations, system, threads)?;
            Ok(Cell { system, threads, run })
        };
        Ok(Self { cells: asked.into_iter().map(cell).collect::<Result<_, LabError>>()? })
    }

    /// What a cell shows.
    fn of(&self, system: System, threads: u32, show: impl Fn(&RunResult) -> f64) -> f64 {
        let cell = self.cells.iter().find(|cell| cell.system == system && cell.threads == threads);
        cell.map_or(f64::NAN, |cell| show(&cell.run.result))
    }

    /// KVAccel over another system, by the claims' threads.
    fn over(&self, other: System, show: impl Fn(&RunResult) -> f64) -> [f64; 3] {
        CLAIMED.map(|n| self.of(KVACCEL, n, &show) / self.of(other, n, &show))
    }

    fn points(&self) -> Vec<Point> {
        let point = |cell: &Cell| {
            let mut point =
                Point::at([("system", json!(cell.system.name())), ("threads", json!(cell.threads))]);
            add_run(&mut point, &cell.run.result);
            point
        };
        self.cells.iter().map(point).collect()
    }

    fn told(&self, each: impl Fn(&RunResult) -> String) -> String {
        let each =
            |cell: &Cell| format!("{}({}) {}", cell.system.name(), cell.threads, each(&cell.run.result));
        format!("{}.", self.cells.iter().map(each).collect::<Vec<_>>().join("; "))
    }
}

fn most(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::MIN, f64::max)
}

fn least(all: &[f64]) -> f64 {
    all.iter().copied().fold(f64::MAX, f64::min)
}

fn p99(result: &RunResult) -> f64 {
    result.latency.value_at_quantile(0.99) as f64
}

/// Runs kvaccel-throughput.
pub fn throughput(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let printed = System::Adoc { slowdown: true, when_none_waits: WhenNoneWaits::Smaller };
    let grid = Grid::run(cx, &[ROCKSDB, System::ADOC, printed, KVACCEL, System::Exact(Rollback::Eager)])?;
    let [of_rocks, of_adoc] = [ROCKSDB, System::ADOC].map(|other| grid.over(other, RunResult::rate));
    let parts = [
        Part::within("best of KVAccel(n) over RocksDB(n)", most(&of_rocks), 1.2, 1.5),
        Part::new("worst of KVAccel(n) over RocksDB(n)", least(&of_rocks), least(&of_rocks) >= 0.98),
        Part::within("best of KVAccel(n) over ADOC(n)", most(&of_adoc), 1.05, 1.3),
        Part::new("worst of KVAccel(n) over ADOC(n)", least(&of_adoc), least(&of_adoc) >= 0.98),
    ];
    let told = grid.told(|r| {
        let counted = |name: &str| r.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        let redirected = counted("redirected_writes");
        format!("{:.1} thousand a second, {redirected} of {} writes redirected", r.rate() / 1e3, r.operations)
    });
    let mut book = cx.book();
    book.order("AC-kvaccel-thr-1", &parts, told);
    Ok(Outcome { series: grid.points(), checks: book.finish() })
}

/// Runs kvaccel-p99.
pub fn tail(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let grid = Grid::run(cx, &[ROCKSDB, System::ADOC, KVACCEL])?;
    let shorter = |other| most(&grid.over(other, p99).map(|ratio| 1.0 - ratio));
    let parts = [
        Part::within("best reduction of p99 against RocksDB(n)", shorter(ROCKSDB), 0.30, 0.55),
        Part::within("best reduction of p99 against ADOC(n)", shorter(System::ADOC), 0.10, 0.35),
    ];
    let told = grid.told(|r| format!("p99 {:.0} us", p99(r) / 1e3));
    let mut book = cx.book();
    book.order("AC-kvaccel-p99-1", &parts, told);
    Ok(Outcome { series: grid.points(), checks: book.finish() })
}

/// Runs kvaccel-efficiency.
pub fn efficiency(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let grid = Grid::run(cx, &[ROCKSDB, System::ADOC, KVACCEL])?;
    let show = RunResult::write_megabytes_per_s_per_cpu_percent;
    let best = grid.of(KVACCEL, 1, show);
    let all: Vec<f64> = CLAIMED
        .iter()
        .flat_map(|n| [ROCKSDB, System::ADOC, KVACCEL].map(|system| grid.of(system, *n, show)))
        .collect();
    let [of_rocks, of_adoc] = [ROCKSDB, System::ADOC].map(|other| least(&grid.over(other, show)));
    let parts = [
        Part::new(
            "KVAccel(1) over the best of all, MB/s for a percent of CPU",
            best / most(&all),
            best >= most(&all),
        ),
        Part::new("worst of KVAccel(n) over RocksDB(n)", of_rocks, of_rocks >= 1.0),
        Part::new("worst of KVAccel(n) over ADOC(n)", of_adoc, of_adoc >= 1.0),
    ];
    let told =
        grid.told(|r| format!("{:.1} MB/s, {:.2} for a percent of CPU", r.write_megabytes_per_s(), show(r)));
    let mut book = cx.book();
    book.order("AC-kvaccel-eff-1", &parts, told);
    Ok(Outcome { series: grid.points(), checks: book.finish() })
}
