// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing policies with adaptive transfer (section 4.3, Fig. 12).

use super::board::Tree;
use super::clock::Times;
use super::path::Path;
use super::workload::{adaptive, sizes};
use super::{Packed, Policy, buffer};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use saker_host::TransferPolicy;
use saker_host::transfer::Adaptive;
use saker_profile::Profile;
use saker_workload::Suite;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    threshold1_bytes: u32,
    tree: Tree,
}

/// Counts take no time, so they are of more stores: at the plan's scale of all that were published.
const COUNTED_PER_TIMED: u64 = 10;

const SUITES: [Suite; 4] = [Suite::B, Suite::C, Suite::D, Suite::M];

/// A cell: the board's path with programs beside later stores, with stores that wait, and with the tree besides, which is judged; the
/// engine's path, and the same with stores that wait.
struct Cell {
    suite: Suite,
    policy: Policy,
    beside: Packed,
    waiting: Packed,
    judged: Packed,
    engine: Packed,
    engine_waiting: Packed,
}

type Way = fn(&Cell) -> Packed;

/// Runs by workload and policy.
struct AnyCells(Vec<Cell>);

impl AnyCells {
    fn get(&self, suite: Suite, policy: Policy) -> &Cell {
        let is_it = |cell: &&Cell| cell.suite == suite && cell.policy == policy;
        self.0.iter().find(is_it).expect("every cell is run")
    }

    fn rate_of(&self, way: Way, suite: Suite, policy: Policy, base: Policy) -> f64 {
        way(self.get(suite, base)).us / way(self.get(suite, policy)).us
    }

    /// Throughput of a policy over another's.
    fn rate(&self, suite: Suite, policy: Policy, base: Policy) -> f64 {
        self.rate_of(|cell| cell.judged, suite, policy, base)
    }

    fn parts(&self, suites: &[Suite], (policy, base): (Policy, Policy), least: f64, most: f64) -> Vec<Part> {
        let part = |suite: &Suite| {
            let name =
                format!("{}: rate of {} over {}", suite.name().to_uppercase(), policy.name(), base.name());
            Part::within(name, self.rate(*suite, policy, base), least, most)
        };
        suites.iter().map(part).collect()
    }

    /// What the same comes to otherwise.
    fn otherwise(&self) -> String {
        let of = |way: Way, suite: Suite| {
            let over = |policy, base| self.rate_of(way, suite, policy, base);
            format!(
                "{} {:.2}, {:.2}, {:.2}",
                suite.name().to_uppercase(),
                over(Policy::Selective, Policy::All),
                over(Policy::Backfill, Policy::All),
                over(Policy::Block, Policy::All)
            )
        };
        let told =
            |name: &str, way: Way| format!("{name}: {}. ", SUITES.map(|suite| of(way, suite)).join("; "));
        let ways: [(&str, Way); 5] = [
            ("Select, backfill and block over All, as judged", |cell| cell.judged),
            ("without the tree", |cell| cell.waiting),
            ("with programs beside later stores, and without the tree", |cell| cell.beside),
            ("on the engine's path", |cell| cell.engine),
            ("there with firmware.programs_awaited", |cell| cell.engine_waiting),
        ];
        ways.into_iter().map(|(name, way)| told(name, way)).collect()
    }
}

/// Runs bandslim-fig12.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let (profile, operations) = (cx.profile()?, cx.operations(1000));
    let tree = plan.tree.cost(&profile, cx.plan.operations);
    let shape = buffer(&profile);
    let (mut cells, mut with_heads, mut as_counted) = (Vec::new(), Vec::new(), 0);
    for suite in SUITES {
        let values = adaptive(&sizes(suite, operations, 0, cx.seed)?, plan.threshold1_bytes);
        let transfer = TransferPolicy::Adaptive(Adaptive::new(plan.threshold1_bytes, 0));
        let path = Path::new(&profile, cx.seed, transfer, &values)?;
        let (path_waiting, times) = (path.waiting()?, Times::measure(&profile, cx.seed, &values)?);
        for policy in Policy::PAPER {
            cx.note(format!("W({}), {}", suite.name().to_uppercase(), policy.name()));
            let (engine, engine_waiting) = (path.run(policy)?, path_waiting.run(policy)?);
            with_heads.push(engine.pages_per_store());
            as_counted += usize::from(engine.is(path.count(policy)));
            let beside = Packed::bare(policy, shape, &values, &times);
            let waiting = Packed::bare(policy, shape, &values, &times.waiting());
            as_counted += usize::from(waiting.is(policy.bare(&values, u64::from(shape.pages))));
            let judged = waiting.with_index(tree.ns(true));
            cells.push(Cell { suite, policy, beside, waiting, judged, engine, engine_waiting });
        }
    }
    let cells = AnyCells(cells);
    let mut book = cx.book();
    book.order("AC-bandslim-fig12-1", &first(&cells), cells.otherwise());
    let small = [Suite::B, Suite::M];
    let mut parts = cells.parts(&small, (Policy::Selective, Policy::All), 0.93, 1.02);
    parts.extend(cells.parts(&small, (Policy::Backfill, Policy::All), 1.00, 1.10));
    let why = "Select and backfill need up to five times the pages of All (see -3), and a store waits for each. Without waiting only copies \
               speak for them. Ratios: see -1.";
    book.order("AC-bandslim-fig12-2", &parts, why);
    let with_heads: Vec<_> = with_heads.iter().map(|pages| format!("{pages:.6}")).collect();
    let why = format!(
        "Values without heads, as the public firmware stores them. On the engine's path each value has a head of 24 B beside its key of \
         4 B and is padded to 8 B; there the policies come to {}, which is not what is published.",
        with_heads.join(", ")
    );
    let counted = (operations * COUNTED_PER_TIMED).min(cx.plan.operations);
    let counts = counts(counted, cx.seed, &plan, &profile)?;
    book.drawn("AC-bandslim-fig12-3", &counts, counted, why);
    book.order("AC-bandslim-fig12-4", &copied(&cells, as_counted), "");
    let point = |cell: &Cell, path: &str, run: Packed| {
        run.point([("workload", json!(cell.suite.name().to_uppercase())), ("path", json!(path))], cell.policy)
    };
    let points = |cell: &Cell| {
        let ways = [
            ("board", cell.judged),
            ("engine", cell.engine),
            ("engine, programs awaited", cell.engine_waiting),
        ];
        ways.map(|(path, run)| point(cell, path, run))
    };
    let series = cells.0.iter().flat_map(points).collect();
    Ok(Outcome { checks: book.finish(), series })
}

/// Pages of bare values by the policies and by independent counts, of each workload.
fn counts(
    operations: u64,
    seed: u64,
    plan: &Parameters,
    profile: &Profile,
) -> Result<Vec<(u64, u64)>, LabError> {
    let (shape, mut counts) = (buffer(profile), Vec::new());
    for suite in SUITES {
        let values = adaptive(&sizes(suite, operations, 0, seed)?, plan.threshold1_bytes);
        counts.extend(Policy::PAPER.iter().map(|policy| {
            let count = policy.bare(&values, u64::from(shape.pages)).unwrap_or_default();
            (Packed::pages_of(*policy, shape, &values), count.pages)
        }));
    }
    Ok(counts)
}

/// Block last everywhere; Select like it on C; All first on C and D.
fn first(cells: &AnyCells) -> Vec<Part> {
    let mut parts = Vec::new();
    for policy in [Policy::All, Policy::Selective, Policy::Backfill] {
        parts.extend(cells.parts(&SUITES, (policy, Policy::Block), 1.0, f64::MAX));
    }
    let near = cells.rate(Suite::C, Policy::Selective, Policy::Block);
    parts.push(Part::within("C: select near block", near, 0.9, 1.25));
    let large = [Suite::C, Suite::D];
    parts.extend(cells.parts(&large, (Policy::All, Policy::Selective), 1.0, f64::MAX));
    parts.extend(cells.parts(&large, (Policy::All, Policy::Backfill), 1.0, f64::MAX));
    parts
}

/// Bytes copied by All rise from M over B and D to C; counts are the oracle's.
fn copied(cells: &AnyCells, as_counted: usize) -> Vec<Part> {
    let of = |suite| cells.get(suite, Policy::All).engine.copied as f64;
    let order = [Suite::M, Suite::B, Suite::D, Suite::C];
    let mut parts: Vec<_> = order
        .windows(2)
        .map(|w| {
            let growth = of(w[1]) / of(w[0]);
            let (a, b) = (w[1].name().to_uppercase(), w[0].name().to_uppercase());
            Part::new(format!("copies of All, {a} over {b}"), growth, growth > 1.0)
        })
        .collect();
    let name = "cells of both paths whose pages and copies equal the oracle's";
    parts.push(Part::new(name, as_counted as f64, as_counted == 2 * cells.0.len()));
    parts
}
