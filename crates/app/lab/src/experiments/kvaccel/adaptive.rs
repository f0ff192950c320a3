// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The adaptive policy, by what it is to make small, beside eager and lazy.

use super::systems::{Setup, System};
use super::{Parameters, add_run, complete, factor, key, value};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig;
use saker_hybrid::{Objective, Rollback};
use saker_sim::Seed;
use saker_world::{Job, Op, RunResult};
use serde_json::json;

/// Operations at least.
const OPERATIONS_MIN: u64 = 4000;
/// Application threads.
const THREADS: usize = 2;
/// What is done: of ten operations so many are writes, at first and in the second half. `is_hot`: the second half reads a few keys again and
/// again, and the host has a cache for blocks.
#[derive(Clone, Copy)]
struct Workload {
    name: &'static str,
    writes: [u64; 2],
    is_hot: bool,
}

const WORKLOADS: [Workload; 5] = [
    Workload { name: "A", writes: [10, 10], is_hot: false },
    Workload { name: "B", writes: [9, 9], is_hot: false },
    Workload { name: "C", writes: [8, 8], is_hot: false },
    Workload { name: "D", writes: [10, 1], is_hot: false },
    Workload { name: "E", writes: [10, 1], is_hot: true },
];
/// Bytes of the host's cache at full scale: more than all pairs.
const CACHE_BYTES: u64 = 64 << 30;
/// Keys that each thread reads again and again.
const HOT_KEYS: usize = 32;
/// What ski rental promises.
const AT_MOST_TWICE: f64 = 2.0;
/// What is still as good as the better.
const AS_GOOD: f64 = 1.02;

const FIXED: [System; 2] = [System::Exact(Rollback::Eager), System::Exact(Rollback::Lazy)];
const OBJECTIVES: [(Objective, &str); 3] =
    [(Objective::Writes, "puts"), (Objective::Reads, "gets"), (Objective::Weighted, "all")];

/// Nanoseconds of puts, of gets, and of all.
#[derive(Clone, Copy)]
struct Cost {
    put: f64,
    get: f64,
    all: f64,
}

impl Cost {
    fn of(result: &RunResult) -> Self {
        let (operations, gets) = (result.operations as f64, result.gets.count as f64);
        let all = result.latency.mean() * operations;
        let put = (all - result.gets.sum_ns as f64) / (operations - gets).max(1.0);
        Self { put, get: result.gets.mean_ns(), all }
    }

    fn by(self, objective: Objective) -> f64 {
        match objective {
            Objective::Writes => self.put,
            Objective::Reads => self.get,
            Objective::Weighted => self.all,
        }
    }
}

struct Cell {
    workload: &'static str,
    system: System,
    cost: Cost,
    result: RunResult,
}

/// Runs kvaccel-adaptive.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let operations = cx.operations(OPERATIONS_MIN);
    let bare = Setup::new(cx, &plan, factor(cx, operations));
    let adaptive = OBJECTIVES.map(|(objective, _)| System::Adaptive(objective));
    let mut cells = Vec::new();
    for Workload { name: workload, writes, is_hot } in WORKLOADS {
        let block_cache_bytes = if is_hot { CACHE_BYTES / bare.factor } else { 0 };
        let setup = Setup { block_cache_bytes, ..bare };
        for system in FIXED.into_iter().chain(adaptive) {
            cx.note(format!("{}, workload {workload}", system.name()));
            let ran = system.run(&setup, plan.judged_threads, &[job(&setup, operations, writes, is_hot)])?;
            let result = complete(ran.results, &system.name())?.swap_remove(0);
            cells.push(Cell { workload, system, cost: Cost::of(&result), result });
        }
    }
    let mut book = cx.book();
    book.order("AC-kvaccel-adaptive-1", &within(&cells), told(&cells));
    book.order("AC-kvaccel-adaptive-2", &undominated(&cells), "");
    book.order("AC-kvaccel-adaptive-3", &hot(&cells), "");
    Ok(Outcome { series: cells.iter().map(|cell| point(cell, &cells)).collect(), checks: book.finish() })
}

/// Each thread writes so many of ten times, then reads keys that it has written.
fn job(setup: &Setup<'_>, operations: u64, writes: [u64; 2], is_hot: bool) -> Job {
    let mut rng = Seed(setup.cx.seed).child("kvaccel-adaptive").rng();
    let mut written: [Vec<u64>; THREADS] = Default::default();
    let mut all = Vec::new();
    for number in 0..operations {
        let (thread, turn) = (number as usize % THREADS, number / THREADS as u64 % 10);
        let is_second = number >= operations / 2;
        let writes = writes[usize::from(is_second)];
        let known = &mut written[thread];
        if turn >= writes && !known.is_empty() {
            // Those of the middle of the first half: some are in the device, some are not.
            let (from, count) =
                if is_hot && is_second { (known.len() / 4, HOT_KEYS) } else { (0, known.len()) };
            all.push(Op::Get(key(known[from + rng.below(count.min(known.len() - from) as u64) as usize])));
            continue;
        }
        let n = rng.below(operations / THREADS as u64) * THREADS as u64 + thread as u64;
        known.push(n);
        all.push(Op::Put(key(n), value(setup.plan.value_bytes, number)));
    }
    Job { flush: false, ..rig::job(THREADS, 1, all) }
}

fn cost(cells: &[Cell], workload: &str, system: System) -> Cost {
    let cell = cells.iter().find(|cell| cell.workload == workload && cell.system == system);
    cell.map_or(Cost { put: f64::NAN, get: f64::NAN, all: f64::NAN }, |cell| cell.cost)
}

fn better(cells: &[Cell], workload: &str, objective: Objective) -> f64 {
    let [eager, lazy] = FIXED.map(|system| cost(cells, workload, system).by(objective));
    eager.min(lazy)
}

fn within(cells: &[Cell]) -> Vec<Part> {
    let mut parts = Vec::new();
    for Workload { name: workload, .. } in WORKLOADS {
        for (objective, name) in OBJECTIVES {
            // Workload A has no get, and E is judged by what the rule promises.
            if workload == "E" || objective == Objective::Reads && workload == "A" {
                continue;
            }
            let own = cost(cells, workload, System::Adaptive(objective)).by(objective);
            let ratio = own / better(cells, workload, objective);
            let name = format!("{workload}: time of {name}, adaptive over the better");
            parts.push(Part::new(name, ratio, ratio <= AS_GOOD));
        }
    }
    parts
}

/// Where copies are the dearer ones to read: whether that is so, and what adapting costs at most.
fn hot(cells: &[Cell]) -> Vec<Part> {
    let gets = |system| cost(cells, "E", system).get;
    let [eager, lazy] = FIXED;
    let dearer = gets(lazy) / gets(eager);
    let mut parts = vec![Part::new("E: time of gets, lazy over eager", dearer, dearer > AS_GOOD)];
    for (objective, name) in OBJECTIVES.into_iter().skip(1) {
        let own = cost(cells, "E", System::Adaptive(objective)).by(objective);
        let ratio = own / better(cells, "E", objective);
        parts.push(Part::new(
            format!("E: time of {name}, adaptive over the better"),
            ratio,
            ratio <= AT_MOST_TWICE,
        ));
    }
    parts
}

fn undominated(cells: &[Cell]) -> Vec<Part> {
    let mut parts = Vec::new();
    for Workload { name: workload, .. } in WORKLOADS {
        let own = cost(cells, workload, System::Adaptive(Objective::Weighted));
        for system in FIXED {
            let other = cost(cells, workload, system);
            let (puts, gets) = (own.put / other.put, own.get / other.get);
            let is_free = puts <= AS_GOOD || workload != "A" && gets <= AS_GOOD;
            let name = format!("{workload}: time of puts, adaptive over {}", system.name());
            parts.push(Part::new(name, puts, is_free));
        }
    }
    parts
}

fn point(cell: &Cell, cells: &[Cell]) -> Point {
    let mut point = Point::at([("policy", json!(cell.system.name())), ("workload", json!(cell.workload))]);
    add_run(&mut point, &cell.result);
    point.add("put_us_mean", cell.cost.put / 1e3);
    point.add("get_us_mean", cell.cost.get / 1e3);
    let objective = match cell.system {
        System::Adaptive(objective) => objective,
        _ => Objective::Weighted,
    };
    point.add("cost_over_better", cell.cost.by(objective) / better(cells, cell.workload, objective));
    point
}

fn told(cells: &[Cell]) -> String {
    let each = |cell: &Cell| {
        let counted =
            |name: &str| cell.result.counters.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n);
        format!(
            "{} {}: puts {:.0} us, gets {:.0} us, {} redirected, {} went back",
            cell.workload,
            cell.system.name(),
            cell.cost.put / 1e3,
            cell.cost.get / 1e3,
            counted("redirected_writes"),
            counted("rollback_moved"),
        )
    };
    format!("{}.", cells.iter().map(each).collect::<Vec<_>>().join("; "))
}
