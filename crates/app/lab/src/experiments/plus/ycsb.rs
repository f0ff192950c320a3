// SPDX-License-Identifier: Apache-2.0 OR MIT
//! YCSB on Original and Plus, and Plus with small values, in virtual time.

use super::ran::Ran;
use super::shared::runs;
use super::size::{Published, Size};
use super::timed::{CELLS, Case, Cell};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_engine::EngineKind;
use saker_engine::Settings;
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

/// A published run.
#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    disk_bytes: u64,
    superblock_pages: u32,
    page_bytes: u32,
    pairs: u64,
    value_bytes: u32,
    /// What is otherwise than this program does; of plans that state nothing, nothing.
    #[serde(default)]
    conditions: Conditions,
}

/// What the public code and the paper do otherwise than this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Conditions {
    /// Victims are those with the fewest valid grains.
    pub greedy: bool,
    /// Programs of what collections copy take time.
    pub copies_charged: bool,
    /// A block's erase, if it is another than the profile's.
    pub erase_ns: Option<u64>,
    /// The device-CPU factor.
    pub cpu_factor_percent: u32,
    /// Pages that a program writes, if they are others than the profile's.
    pub program_pages: Option<u32>,
    /// Cores for background work.
    pub background_cores: u32,
    /// Popular keys lie beside each other.
    pub zipfian_in_order: bool,
    /// Original's table over the cache, if it is another than in the public runs.
    pub table_to_cache: Option<u64>,
}

impl Default for Conditions {
    fn default() -> Self {
        Self {
            greedy: false,
            copies_charged: true,
            erase_ns: None,
            cpu_factor_percent: 100,
            program_pages: None,
            background_cores: 2,
            zipfian_in_order: false,
            table_to_cache: None,
        }
    }
}

impl Conditions {
    /// The profile that has them.
    fn profile(&self, cx: &Context<'_>) -> Result<Profile, LabError> {
        let mut own = vec![
            ("media.copies_charged", self.copies_charged.to_string()),
            ("firmware.cpu_factor_percent", self.cpu_factor_percent.to_string()),
            ("firmware.background_cores", self.background_cores.to_string()),
        ];
        own.extend(self.erase_ns.map(|ns| ("media.erase_ns", ns.to_string())));
        own.extend(self.program_pages.map(|pages| ("media.program_pages", pages.to_string())));
        cx.profile_with(&own)
    }

    /// What they ask of an FTL.
    fn settings(&self) -> Settings {
        Settings::told(&[("victims", u64::from(self.greedy))])
    }
}

impl Run {
    /// It under other conditions.
    pub fn with(self, change: impl FnOnce(&mut Conditions)) -> Self {
        let mut conditions = self.conditions;
        change(&mut conditions);
        Self { conditions, ..self }
    }

    /// It by the scale.
    ///
    /// # Errors
    /// A setting that cannot be made.
    pub fn size(&self, cx: &Context<'_>) -> Result<Size, LabError> {
        let Self { disk_bytes, superblock_pages, page_bytes, pairs, .. } = *self;
        let operations = cx.plan.operations;
        let published = Published { disk_bytes, superblock_pages, page_bytes, pairs, operations };
        let size = Size::of(&published, cx.scale);
        let asked = cx.table_to_cache()?.or(self.conditions.table_to_cache);
        Ok(Size { table_to_cache: asked.unwrap_or(size.table_to_cache), ..size })
    }

    /// It on an FTL, by the scale.
    ///
    /// # Errors
    /// A setting that cannot be made.
    pub fn case(&self, kind: EngineKind, settings: Settings, cx: &Context<'_>) -> Result<Case, LabError> {
        let settings = settings.over(&self.conditions.settings());
        let Self { value_bytes, conditions: Conditions { zipfian_in_order, .. }, .. } = *self;
        Ok(Case { kind, settings, size: self.size(cx)?, value_bytes, zipfian_in_order, seed: cx.seed })
    }

    /// The profile of its conditions.
    ///
    /// # Errors
    /// A change that cannot be made.
    pub fn profile(&self, cx: &Context<'_>) -> Result<Profile, LabError> {
        self.conditions.profile(cx)
    }

    /// Workloads on the FTL as published.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn on(&self, kind: EngineKind, cells: &[Cell], cx: &Context<'_>) -> Result<Vec<Arc<Ran>>, LabError> {
        cx.note(format!("{} with values of {} B", kind.name(), self.value_bytes));
        runs(&self.profile(cx)?, self.case(kind, cx.settings_of(kind)?, cx)?, cells)
    }
}

/// Workloads on Original and on Plus, at the same time.
///
/// # Errors
/// [`LabError`].
pub fn both(run: Run, cells: &[Cell], cx: &Context<'_>) -> Result<[Vec<Arc<Ran>>; 2], LabError> {
    std::thread::scope(|scope| {
        let plus = scope.spawn(|| run.on(EngineKind::HASH_PLUS, cells, cx));
        let original = run.on(EngineKind::HASH_ORIGINAL, cells, cx)?;
        let plus = plus.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok([original, plus])
    })
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
    point.add("section_hit_ratio", ran.count("sections_found_user") / ran.count("sections_wanted_user"));
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
    let [original, plus] = both(run, &CELLS, cx)?;
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

/// Flash reads and writes of an operation.
pub fn takes(r: &Ran) -> String {
    format!(
        "{:.2} section reads, {:.2} pair reads, {:.2} pages programmed, {:.2} read by collections",
        r.per_operation("table_pages_read_user"),
        r.per_operation("kv_pages_read"),
        r.result.nand_pages as f64 / r.result.operations as f64,
        r.per_operation("gc_pages_read") + r.per_operation("table_pages_read_gc"),
    )
}

/// Where the operations of A and C with uniform keys spend flash reads and writes.
fn causes(original: &[Arc<Ran>], plus: &[Arc<Ran>]) -> String {
    let of = |runs: &[Arc<Ran>], workload: &str| {
        let found = runs.iter().find(|r| (r.workload, r.keys) == (workload, "uniform"));
        found.map_or_else(String::new, |r| takes(r))
    };
    format!(
        "An operation of A uniform takes: Original {}; Plus {}. Of C uniform: Original {}; Plus {}.",
        of(original, "A"),
        of(plus, "A"),
        of(original, "C"),
        of(plus, "C")
    )
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SmallPlan {
    small: Run,
    large: Run,
}

/// Runs plus-fig3-right.
pub fn small_values(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: SmallPlan = cx.plan.parameters();
    let small = plan.small.on(EngineKind::HASH_PLUS, &CELLS, cx)?;
    let large = plan.large.on(EngineKind::HASH_PLUS, &CELLS, cx)?;
    let ratios: Vec<_> =
        small.iter().zip(&large).map(|(s, l)| (cell(s), s.result.rate() / l.result.rate())).collect();
    let least = ratios.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (worst, ratio) = least.map_or(("none", f64::NAN), |(name, ratio)| (name.as_str(), *ratio));
    let mut book = cx.book();
    let all: Vec<_> = ratios.iter().map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
    let note = format!("Small over large: {}. {}", all.join(", "), spent(&small, &large, worst));
    let part = Part::within(format!("the worst workload, {worst}"), ratio, 0.4, 0.75);
    book.order("AC-plus-fig3r-1", &[part], note);
    let named = |name: String| move |r: &Arc<Ran>| point(&name, r);
    let mut series: Vec<_> = small.iter().map(named(format!("{} B", plan.small.value_bytes))).collect();
    series.extend(large.iter().map(named(format!("{} B", plan.large.value_bytes))));
    Ok(Outcome { checks: book.finish(), series })
}

/// What an operation of A with uniform keys, and one of the worst workload, takes with small values, and with large ones.
fn spent(small: &[Arc<Ran>], large: &[Arc<Ran>], worst: &str) -> String {
    let of = |runs: &[Arc<Ran>], name: &str| {
        runs.iter().find(|r| cell(r) == name).map_or_else(String::new, |r| takes(r))
    };
    let both = |name: &str| {
        format!("An operation of {name} takes: small {}; large {}.", of(small, name), of(large, name))
    };
    if worst == UNIFORM { both(worst) } else { format!("{} {}", both(UNIFORM), both(worst)) }
}

/// The cell that every figure of the paper begins with.
const UNIFORM: &str = "A uniform";
