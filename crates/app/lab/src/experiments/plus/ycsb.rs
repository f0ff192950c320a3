//! YCSB on Original and Plus in virtual time.

use super::timed::{CELLS, Case, Ran, conditioned};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::run::{Context, Outcome};
use saker_engine::EngineKind;
use saker_engine::hash_ftl::HashFtlTuning;
use serde::Deserialize;
use serde_json::json;

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    disk_bytes: u64,
    pairs: u64,
    value_bytes: u32,
}

impl Run {
    fn all(&self, kind: EngineKind, cx: &Context<'_>) -> Result<Vec<Ran>, LabError> {
        cx.note(format!("{} with values of {} B", kind.name(), self.value_bytes));
        let case = Case {
            kind,
            tuning: HashFtlTuning::default(),
            bytes: self.disk_bytes,
            pairs: self.pairs,
            operations: cx.plan.operations,
            value_bytes: self.value_bytes,
            seed: cx.seed,
        };
        let mut device = conditioned(&cx.profile()?, case.scaled(cx.scale))?;
        CELLS.into_iter().map(|cell| device.run(cell)).collect()
    }
}

/// The point of a workload on an FTL.
pub fn point(ftl: &str, ran: &Ran) -> Point {
    let mut point = Point::at([
        ("ftl", json!(ftl)),
        ("workload", json!(ran.workload)),
        ("keys", json!(ran.keys)),
        ("cell", json!(format!("{} {}", ran.workload, ran.keys))),
    ]);
    point.add("operations", ran.result.operations as f64);
    point.add("not_found", ran.result.errors as f64);
    point.add("kops", ran.result.rate() / 1e3);
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
        point.add(&format!("latency_us_{name}"), ran.result.latency.value_at_quantile(quantile) as f64 / 1e3);
    }
    point.add("nand_pages_per_operation", ran.result.nand_pages as f64 / ran.result.operations as f64);
    let wanted = ran.count("sections_wanted_user").max(1.0);
    point.add("section_hit_ratio", ran.count("sections_found_user") / wanted);
    for name in [
        "table_pages_read_user",
        "table_pages_read_gc",
        "table_pages_written_user",
        "kv_pages_read",
        "gc_pages_read",
    ] {
        point.add(&format!("{name}_per_operation"), ran.per_operation(name));
    }
    point
}

fn cell(ran: &Ran) -> String {
    format!("{} {}", ran.workload, ran.keys)
}

/// The band that a claim gives a cell.
fn band(workload: &str, keys: &str) -> Option<(f64, f64)> {
    match (workload, keys) {
        ("A", "uniform") => Some((1.7, 2.5)),
        ("A", "zipfian") => Some((1.05, 1.40)),
        ("B" | "C", "uniform") | ("D", _) => Some((1.1, 1.6)),
        ("C", "zipfian") => Some((0.93, 1.00)),
        _ => None,
    }
}

/// Runs plus-ycsb.
pub fn ycsb(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let run: Run = cx.plan.parameters();
    let original = run.all(EngineKind::HashOriginal, cx)?;
    let plus = run.all(EngineKind::HashPlus, cx)?;
    let gains: Vec<_> =
        original.iter().zip(&plus).map(|(o, p)| (o, p.result.rate() / o.result.rate())).collect();
    let bands = gains.iter().filter_map(|(o, gain)| {
        let (least, most) = band(o.workload, o.keys)?;
        Some(Part::within(format!("{} {least} to {most}", cell(o)), *gain, least, most))
    });
    let mut book = cx.book();
    book.order("AC-plus-ycsb-1", &bands.collect::<Vec<_>>(), causes(&original, &plus));
    let order = gains.iter().filter(|(o, _)| (o.workload, o.keys) != ("C", "zipfian"));
    let order: Vec<_> =
        order.map(|(o, gain)| Part::new(format!("{} not slower", cell(o)), *gain, *gain >= 1.0)).collect();
    book.order("AC-plus-ycsb-2", &order, "");
    let mut series: Vec<_> = original.iter().map(|r| point("original", r)).collect();
    series.extend(plus.iter().map(|r| point("plus", r)));
    Ok(Outcome { checks: book.finish(), series })
}

/// Where the operations of A and C with uniform keys spend flash reads and writes.
fn causes(original: &[Ran], plus: &[Ran]) -> String {
    let of = |runs: &[Ran], workload: &str| {
        let found = runs.iter().find(|r| (r.workload, r.keys) == (workload, "uniform"));
        found.map_or_else(String::new, |r| {
            format!(
                "{:.2} section reads, {:.2} pair reads, {:.2} pages programmed, {:.2} read by collections",
                r.per_operation("table_pages_read_user"),
                r.per_operation("kv_pages_read"),
                r.result.nand_pages as f64 / r.result.operations as f64,
                r.per_operation("gc_pages_read") + r.per_operation("table_pages_read_gc"),
            )
        })
    };
    format!(
        "An operation of A uniform takes: Original {}; Plus {}. Of C uniform: Original {}; Plus {}.",
        of(original, "A"),
        of(plus, "A"),
        of(original, "C"),
        of(plus, "C")
    )
}
