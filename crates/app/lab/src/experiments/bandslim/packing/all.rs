// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All policies and our own, also where large values are rare among small ones.

use super::path::Path;
use super::workload::{adaptive, rare, sizes};
use super::{Packed, Policy};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use saker_flash::packing::Arrival;
use saker_host::TransferPolicy;
use saker_host::transfer::Adaptive;
use saker_workload::Suite;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    threshold1_bytes: u32,
    large_bytes: u32,
    large_per_million: Vec<u64>,
}

/// A workload with what each policy came to.
struct Row {
    name: String,
    runs: Vec<(Policy, Packed)>,
}

impl Row {
    fn of(&self, policy: Policy) -> &Packed {
        &self.runs.iter().find(|(p, _)| *p == policy).expect("every policy is run").1
    }

    fn best(&self, what: fn(&Packed) -> f64) -> f64 {
        Policy::PAPER.iter().map(|p| what(self.of(*p))).fold(f64::MAX, f64::min)
    }
}

fn pages(p: &Packed) -> f64 {
    p.pages as f64
}

fn time(p: &Packed) -> f64 {
    p.us
}

/// Runs packing-all.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let operations = cx.operations(1000);
    let mut workloads: Vec<(String, Vec<u32>)> = Vec::new();
    for suite in [Suite::B, Suite::C, Suite::D, Suite::M] {
        workloads.push((suite.name().to_uppercase(), sizes(suite, operations, 0, cx.seed)?));
    }
    for per_million in &plan.large_per_million {
        let sizes = rare(operations, *per_million, plan.large_bytes, cx.seed);
        workloads.push((format!("rare {} %", *per_million as f64 / 10_000.0), sizes));
    }
    let mut rows = Vec::new();
    for (name, sizes) in workloads {
        cx.note(name.clone());
        let values: Vec<Arrival> = adaptive(&sizes, plan.threshold1_bytes);
        let transfer = TransferPolicy::Adaptive(Adaptive::new(plan.threshold1_bytes, 0));
        let path = Path::new(&profile, cx.seed, transfer, &values)?;
        let mut runs = Vec::new();
        for policy in Policy::PAPER.into_iter().chain(Policy::OURS) {
            runs.push((policy, path.run(policy)?));
        }
        rows.push(Row { name, runs });
    }
    let mut book = cx.book();
    let near = |policy: Policy, what: fn(&Packed) -> f64, of: &str| -> Vec<Part> {
        let part = |row: &Row| {
            let over = what(row.of(policy)) / row.best(what);
            Part::within(format!("{}: {of} of {} over the best", row.name, policy.name()), over, 0.0, 1.02)
        };
        rows.iter().map(part).collect()
    };
    book.order("AC-packing-all-1", &near(Policy::Auto, pages, "pages"), "");
    book.order("AC-packing-all-2", &near(Policy::AutoTime, time, "time"), "");
    book.order("AC-packing-all-3", &never_worse_in_both(&rows), "");
    book.order("AC-packing-all-4", &gains(&rows), "");
    let series = rows
        .iter()
        .flat_map(|row| row.runs.iter().map(|(p, run)| run.point([("workload", json!(row.name))], *p)))
        .collect();
    Ok(Outcome { checks: book.finish(), series })
}

fn never_worse_in_both(rows: &[Row]) -> Vec<Part> {
    let mut parts = Vec::new();
    for row in rows {
        for ours in Policy::OURS {
            let mine = row.of(ours);
            let worse = |p: &&Policy| mine.pages > row.of(**p).pages && mine.us > row.of(**p).us;
            let beaten = Policy::PAPER.iter().filter(worse).count();
            let name = format!("{}: policies better than {} in pages and in time", row.name, ours.name());
            parts.push(Part::new(name, beaten as f64, beaten == 0));
        }
    }
    parts
}

/// Where large values are rare, backfilling saves what Selective wastes.
fn gains(rows: &[Row]) -> Vec<Part> {
    let rare = rows.iter().filter(|row| row.name.starts_with("rare"));
    rare.map(|row| {
        let saved = pages(row.of(Policy::Backfill)) / pages(row.of(Policy::Selective));
        Part::new(format!("{}: pages of backfill over select", row.name), saved, saved < 1.0)
    })
    .collect()
}
