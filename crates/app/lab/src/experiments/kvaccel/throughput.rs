// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workload A by threads that compact: throughput, tail, throughput for CPU.

use super::systems::{Setup, System};
use super::{Parameters, add_run, complete, factor, writes};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_hybrid::Rollback;
use saker_world::RunResult;
use serde_json::json;

/// Writes at least.
const WRITES_MIN: u64 = 4000;
/// Threads of the claims; others are beside them.
const CLAIMED: [u32; 3] = [1, 2, 4];

/// A cell.
struct Cell {
    system: System,
    threads: u32,
    result: RunResult,
}

/// Runs kvaccel-throughput.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(WRITES_MIN);
    let setup = Setup { cx, plan: &plan, factor: factor(cx, operations) };
    let systems = [
        System::RocksDb { slowdown: true },
        System::KvAccel(Rollback::Eager),
        System::Exact(Rollback::Eager),
    ];
    let mut cells = Vec::new();
    for threads in &plan.threads {
        for system in systems {
            cx.note(format!("{} with {threads} threads", system.name()));
            let ran = system.run(&setup, *threads, &[writes(cx, operations, plan.value_bytes)])?;
            let result = complete(ran.results, &system.name())?.swap_remove(0);
            cells.push(Cell { system, threads: *threads, result });
        }
    }
    let checks = judge(cx, &cells);
    let series = cells.iter().map(point).collect();
    Ok(Outcome { series, checks })
}

fn point(cell: &Cell) -> Point {
    let mut point = Point::at([("system", json!(cell.system.name())), ("threads", json!(cell.threads))]);
    add_run(&mut point, &cell.result);
    point
}

fn judge(cx: &Context<'_>, cells: &[Cell]) -> Vec<crate::report::Check> {
    let (rocks, kvaccel) = (System::RocksDb { slowdown: true }, System::KvAccel(Rollback::Eager));
    let of = |system: System, threads: u32, show: fn(&RunResult) -> f64| {
        let cell = cells.iter().find(|cell| cell.system == system && cell.threads == threads);
        cell.map_or(f64::NAN, |cell| show(&cell.result))
    };
    let rate = |system, threads| of(system, threads, RunResult::rate);
    let p99 = |system, threads| of(system, threads, |result| result.latency.value_at_quantile(0.99) as f64);
    let efficiency = |system, threads| of(system, threads, RunResult::write_megabytes_per_s_per_cpu_percent);
    let over = CLAIMED.map(|n| rate(kvaccel, n) / rate(rocks, n));
    let most = |all: &[f64]| all.iter().copied().fold(f64::MIN, f64::max);
    let least = |all: &[f64]| all.iter().copied().fold(f64::MAX, f64::min);
    let missing = || Part::new("ADOC: not built", f64::NAN, false);
    let mut book = cx.book();
    let parts = [
        Part::within("best of KVAccel(n) over RocksDB(n)", most(&over), 1.2, 1.5),
        Part::new("worst of KVAccel(n) over RocksDB(n)", least(&over), least(&over) >= 0.98),
        missing(),
    ];
    book.order("AC-kvaccel-thr-1", &parts, told(cells));
    let shorter = CLAIMED.map(|n| 1.0 - p99(kvaccel, n) / p99(rocks, n));
    let parts =
        [Part::within("best reduction of p99 against RocksDB(n)", most(&shorter), 0.30, 0.55), missing()];
    book.order("AC-kvaccel-p99-1", &parts, "");
    let best = efficiency(kvaccel, 1);
    let others = CLAIMED.iter().flat_map(|n| [efficiency(rocks, *n), efficiency(kvaccel, *n)]);
    let highest = others.fold(f64::MIN, f64::max);
    let parts = [
        Part::new(
            "KVAccel(1) over the best of all, MB/s for a percent of CPU",
            best / highest,
            best >= highest,
        ),
        missing(),
    ];
    book.order("AC-kvaccel-eff-1", &parts, "");
    book.finish()
}

/// Rates by threads.
fn told(cells: &[Cell]) -> String {
    let each = |cell: &Cell| {
        let r = &cell.result;
        let counted = |name: &str| r.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        format!(
            "{}({}) {:.1} thousand a second, p99 {:.0} us, {} of {} writes redirected",
            cell.system.name(),
            cell.threads,
            r.rate() / 1e3,
            r.latency.value_at_quantile(0.99) as f64 / 1e3,
            counted("redirected_writes"),
            r.operations,
        )
    };
    format!("{}.", cells.iter().map(each).collect::<Vec<_>>().join("; "))
}
