// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workloads B and C: writes with reads, by policies of rollback; and what is left when all has come back.

use super::systems::{Ran, Setup, System};
use super::{Parameters, add_run, complete, factor, key, value};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig;
use saker_hybrid::Rollback;
use saker_sim::Seed;
use saker_world::{Job, Op, RunResult};
use serde_json::json;
use std::collections::BTreeMap;

/// Operations at least.
const OPERATIONS_MIN: u64 = 4000;
/// Application threads.
const THREADS: usize = 2;

/// Writes and reads of ten.
const WORKLOADS: [(&str, u64); 2] = [("B", 9), ("C", 8)];

struct Cell {
    workload: &'static str,
    system: System,
    result: RunResult,
    /// Copies and bytes of metadata that are left, and keys that have not their newest value.
    left: [f64; 3],
    /// Copies that counted when the last operation had ended.
    at_end: f64,
}

impl Cell {
    fn counter(&self, name: &str) -> u64 {
        self.result.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count)
    }
}

/// Runs kvaccel-rollback.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(OPERATIONS_MIN);
    let setup = Setup::new(cx, &plan, factor(cx, operations));
    let systems = [
        System::RocksDb { slowdown: true },
        System::RocksDb { slowdown: false },
        System::ADOC,
        System::KvAccel(Rollback::Eager),
        System::KvAccel(Rollback::Lazy),
        System::KvAccel(Rollback::Adaptive),
        System::Exact(Rollback::Eager),
        System::Exact(Rollback::Lazy),
        System::Exact(Rollback::Adaptive),
    ];
    let mut cells = Vec::new();
    for (workload, writes) in WORKLOADS {
        for system in systems {
            cx.note(format!("{}, workload {workload}", system.name()));
            cells.push(cell(&setup, operations, (workload, writes), system)?);
        }
    }
    let checks = judge(cx, &cells);
    let series = cells.iter().map(point).collect();
    Ok(Outcome { series, checks })
}

fn cell(
    setup: &Setup<'_>,
    operations: u64,
    (workload, writes): (&'static str, u64),
    system: System,
) -> Result<Cell, LabError> {
    let (mixed, newest) = mixed(setup, operations, writes);
    let back =
        Job { flush: false, ..rig::job(THREADS, 1, newest.keys().map(|n| Op::Get(key(*n))).collect()) };
    let mut ran = system.run(setup, setup.plan.judged_threads, &[mixed, back])?;
    let left = [ran.left("metadata_keys"), ran.left("metadata_bytes"), wrong(&mut ran, setup, &newest)];
    let result = complete(ran.results, &system.name())?.swap_remove(0);
    let at_end = result.counters.iter().find(|(name, _)| *name == "metadata_keys_current");
    let at_end = at_end.map_or(f64::NAN, |(_, n)| *n as f64);
    Ok(Cell { workload, system, result, left, at_end })
}

/// Each thread writes so many times, then reads a key that was written. The newest write of each key: no key is written by both threads.
fn mixed(setup: &Setup<'_>, operations: u64, writes: u64) -> (Job, BTreeMap<u64, u64>) {
    let mut rng = Seed(setup.cx.seed).child("kvaccel-mixed").rng();
    let mut newest: BTreeMap<u64, u64> = BTreeMap::new();
    let mut written: [Vec<u64>; THREADS] = Default::default();
    let mut all = Vec::new();
    for number in 0..operations {
        let (thread, turn) = (number as usize % THREADS, number / THREADS as u64 % 10);
        let known = &mut written[thread];
        if turn >= writes && !known.is_empty() {
            all.push(Op::Get(key(known[rng.below(known.len() as u64) as usize])));
            continue;
        }
        let n = rng.below(operations / THREADS as u64) * THREADS as u64 + thread as u64;
        newest.insert(n, number);
        known.push(n);
        all.push(Op::Put(key(n), value(setup.plan.value_bytes, number)));
    }
    (Job { flush: false, ..rig::job(THREADS, 1, all) }, newest)
}

/// Keys whose value is not their newest, when all has come back.
fn wrong(ran: &mut Ran, setup: &Setup<'_>, newest: &BTreeMap<u64, u64>) -> f64 {
    let Some(store) = &mut ran.store else { return f64::NAN };
    let expected = |n: u64| value(setup.plan.value_bytes, newest[&n]);
    let mut wrong = 0;
    for n in newest.keys() {
        let found = super::range::get(store, key(*n));
        wrong += u64::from(found != Some(expected(*n)));
    }
    wrong as f64
}

fn point(cell: &Cell) -> Point {
    let mut point = Point::at([("system", json!(cell.system.name())), ("workload", json!(cell.workload))]);
    add_run(&mut point, &cell.result);
    point.add("read_us_mean", cell.result.gets.mean_ns() / 1e3);
    point.add("read_us_longest", cell.result.gets.longest_ns as f64 / 1e3);
    point.add("copies_at_the_end", cell.at_end);
    point
}

fn judge(cx: &Context<'_>, cells: &[Cell]) -> Vec<crate::report::Check> {
    let of = |workload: &str, system: System| {
        cells.iter().find(|cell| cell.workload == workload && cell.system == system)
    };
    let rate = |w: &str, policy| of(w, System::KvAccel(policy)).map_or(f64::NAN, |cell| cell.result.rate());
    let read =
        |w: &str, policy| of(w, System::KvAccel(policy)).map_or(f64::NAN, |cell| cell.result.gets.mean_ns());
    let at_end = |w: &str, policy| of(w, System::KvAccel(policy)).map_or(f64::NAN, |cell| cell.at_end);
    let (mut similar, mut shorter, mut adaptive) = (Vec::new(), Vec::new(), Vec::new());
    let mut comparable = Vec::new();
    for (w, _) in WORKLOADS {
        let (eager, lazy) = (rate(w, Rollback::Eager), rate(w, Rollback::Lazy));
        similar.push(Part::within(format!("{w}: eager over lazy, throughput"), eager / lazy, 0.93, 1.07));
        let adoc = of(w, System::ADOC).map_or(f64::NAN, |cell| cell.result.rate());
        let lead = eager.min(lazy) / adoc;
        similar.push(Part::new(format!("{w}: the lesser of both over ADOC"), lead, lead >= 1.15));
        comparable.push(Part::within(format!("{w}: eager over ADOC, throughput"), eager / adoc, 0.85, 1.15));
        let ratio = read(w, Rollback::Eager) / read(w, Rollback::Lazy);
        shorter.push(Part::new(format!("{w}: eager over lazy, mean read"), ratio, ratio < 1.0));
        let left = at_end(w, Rollback::Lazy);
        shorter.push(Part::new(format!("{w}: copies of lazy when writing is over"), left, left > 0.0));
        let writes = rate(w, Rollback::Adaptive) / lazy.max(eager);
        let reads = read(w, Rollback::Adaptive) / read(w, Rollback::Eager).min(read(w, Rollback::Lazy));
        let either = writes >= 0.98 || reads <= 1.02;
        adaptive.push(Part::new(format!("{w}: adaptive writes over the better"), writes, either));
        let is_dominated = |policy| {
            rate(w, Rollback::Adaptive) < 0.98 * rate(w, policy)
                && read(w, Rollback::Adaptive) > 1.02 * read(w, policy)
        };
        let is_free = !is_dominated(Rollback::Eager) && !is_dominated(Rollback::Lazy);
        adaptive.push(Part::new(format!("{w}: adaptive reads over the better"), reads, is_free));
    }
    let mut book = cx.book();
    book.order("AC-kvaccel-rb-1", &similar, told(cells));
    book.order("AC-kvaccel-rb-2", &shorter, kept(cells));
    // Of all hybrids the worst.
    let worst = |n: usize| {
        cells.iter().map(|cell| cell.left[n]).filter(|left| left.is_finite()).fold(f64::MIN, f64::max)
    };
    book.numbers(
        "AC-kvaccel-rb-3",
        &[worst(0), worst(1), worst(2)],
        "Copies and bytes of metadata that are left, and keys without their newest value: the most of all policies and workloads.",
    );
    book.order("AC-kvaccel-rb-4", &adaptive, "");
    book.order("AC-kvaccel-rb-5", &comparable, against_adoc(cells));
    book.finish()
}

/// What the threads of KVAccel and of ADOC spend their time with.
fn against_adoc(cells: &[Cell]) -> String {
    let of = |workload: &str, system: System| {
        cells.iter().find(|cell| cell.workload == workload && cell.system == system)
    };
    let reads = |cell: &Cell| {
        let (gets, elapsed) = (cell.result.gets, cell.result.elapsed.as_secs_f64());
        let percent = gets.sum_ns as f64 / 1e7 / THREADS as f64 / elapsed;
        format!("{percent:.0} % of the threads' time, {:.0} us each", gets.mean_ns() / 1e3)
    };
    let each = WORKLOADS.into_iter().filter_map(|(w, _)| {
        let (eager, adoc) = (of(w, System::KvAccel(Rollback::Eager))?, of(w, System::ADOC)?);
        let (writes, times) = (eager.counter("redirected_writes"), eager.counter("redirections"));
        Some(format!(
            "{w}: reads take {} with KVAccel, {} with ADOC; the device takes {writes} writes in {times} redirections",
            reads(eager),
            reads(adoc),
        ))
    });
    format!("{}.", each.collect::<Vec<_>>().join("; "))
}

/// Why copies of eager did not begin to go back while writing went on.
fn kept(cells: &[Cell]) -> String {
    let eager = cells.iter().filter(|cell| cell.system == System::KvAccel(Rollback::Eager));
    let each = eager.map(|cell| {
        format!(
            "{}: {} rollbacks began; of the looks at which copies were there and none began, {} found the main tree stopped, delayed or redirected, and {} \
             only its level 0 above the limit",
            cell.workload,
            cell.counter("rollbacks"),
            cell.counter("rollback_kept_by_stalls"),
            cell.counter("rollback_kept_by_level0")
        )
    });
    format!("Eager: {}.", each.collect::<Vec<_>>().join("; "))
}

fn told(cells: &[Cell]) -> String {
    let each = |cell: &Cell| {
        let r = &cell.result;
        format!(
            "{} {}: {:.1} thousand a second, reads {:.0} us in the mean",
            cell.workload,
            cell.system.name(),
            r.rate() / 1e3,
            r.gets.mean_ns() / 1e3
        )
    };
    format!("{}.", cells.iter().map(each).collect::<Vec<_>>().join("; "))
}
