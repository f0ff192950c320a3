// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Packing policies with adaptive transfer (section 4.3, Fig. 12).

use super::path::Path;
use super::workload::{adaptive, sizes};
use super::{Packed, Policy, buffer};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use saker_host::TransferPolicy;
use saker_host::transfer::Adaptive;
use saker_workload::Suite;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    threshold1_bytes: u32,
}

const SUITES: [Suite; 4] = [Suite::B, Suite::C, Suite::D, Suite::M];

/// Runs by workload and policy.
struct AnyCells(Vec<(Suite, Policy, Packed, Packed)>);

impl AnyCells {
    fn get(&self, suite: Suite, policy: Policy) -> &Packed {
        &self.0.iter().find(|(s, p, ..)| *s == suite && *p == policy).expect("every cell is run").2
    }

    /// Throughput of a policy over another's.
    fn rate(&self, suite: Suite, policy: Policy, base: Policy) -> f64 {
        self.get(suite, base).us / self.get(suite, policy).us
    }

    fn parts(&self, suites: &[Suite], (policy, base): (Policy, Policy), least: f64, most: f64) -> Vec<Part> {
        let part = |suite: &Suite| {
            let name =
                format!("{}: rate of {} over {}", suite.name().to_uppercase(), policy.name(), base.name());
            Part::within(name, self.rate(*suite, policy, base), least, most)
        };
        suites.iter().map(part).collect()
    }

    /// What the same comes to when programs wait for each other.
    fn serial(&self) -> String {
        let us = |suite, policy| {
            self.0.iter().find(|(s, p, ..)| *s == suite && *p == policy).map_or(f64::NAN, |c| c.3.us)
        };
        let rate = |suite: Suite, policy| us(suite, Policy::All) / us(suite, policy);
        let of = |suite: Suite| {
            format!(
                "{} select {:.2}, backfill {:.2}",
                suite.name().to_uppercase(),
                rate(suite, Policy::Selective),
                rate(suite, Policy::Backfill)
            )
        };
        format!("With one die, over All: {}.", SUITES.map(of).join("; "))
    }
}

/// Runs bandslim-fig12.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let buffer_pages = u64::from(buffer(&profile).pages);
    let operations = cx.operations(1000);
    let (mut cells, mut counts, mut bare, mut as_counted) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for suite in SUITES {
        let values = adaptive(&sizes(suite, operations, 0, cx.seed)?, plan.threshold1_bytes);
        let transfer = TransferPolicy::Adaptive(Adaptive::new(plan.threshold1_bytes, 0));
        let path = Path::new(&profile, cx.seed, transfer, &values)?;
        let serial = path.serial()?;
        for policy in Policy::PAPER {
            cx.note(format!("W({}), {}", suite.name().to_uppercase(), policy.name()));
            let (packed, count) = (path.run(policy)?, path.count(policy));
            counts.push((packed.pages, count.map_or(0, |count| count.pages)));
            bare.push(path.bare(policy, buffer_pages).pages as f64 / operations as f64);
            as_counted += usize::from(packed.is(count));
            cells.push((suite, policy, packed, serial.run(policy)?));
        }
    }
    let cells = AnyCells(cells);
    let mut book = cx.book();
    book.order("AC-bandslim-fig12-1", &first(&cells), cells.serial());
    let small = [Suite::B, Suite::M];
    let mut parts = cells.parts(&small, (Policy::Selective, Policy::All), 0.93, 1.02);
    parts.extend(cells.parts(&small, (Policy::Backfill, Policy::All), 1.00, 1.10));
    let why = format!(
        "Select and backfill need up to five times the pages of All (see -3), so only copies speak for them. {}",
        cells.serial()
    );
    book.order("AC-bandslim-fig12-2", &parts, why);
    let bare: Vec<_> = bare.iter().map(|pages| format!("{pages:.6}")).collect();
    let why = format!(
        "Counted on the engine's path and equal to an independent count of its records: each value has a head of 24 B beside its \
         key of 4 B and is padded to 8 B, which the paper's count leaves out. Without heads the same policies come to {}.",
        bare.join(", ")
    );
    book.drawn("AC-bandslim-fig12-3", &counts, operations, why);
    book.order("AC-bandslim-fig12-4", &copied(&cells, as_counted), "");
    let place = |suite: Suite| [("workload", json!(suite.name().to_uppercase()))];
    let series = cells.0.iter().map(|(s, p, packed, _)| packed.point(place(*s), *p)).collect();
    Ok(Outcome { checks: book.finish(), series })
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
    let of = |suite| cells.get(suite, Policy::All).copied as f64;
    let order = [Suite::M, Suite::B, Suite::D, Suite::C];
    let mut parts: Vec<_> = order
        .windows(2)
        .map(|w| {
            let growth = of(w[1]) / of(w[0]);
            let (a, b) = (w[1].name().to_uppercase(), w[0].name().to_uppercase());
            Part::new(format!("copies of All, {a} over {b}"), growth, growth > 1.0)
        })
        .collect();
    let name = "cells whose pages and copies equal the oracle's";
    parts.push(Part::new(name, as_counted as f64, as_counted == cells.0.len()));
    parts
}
