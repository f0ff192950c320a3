// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tails of gets: a tree whose upper levels are pinned in memory, beside the hash FTLs with the same memory. No paper has it.

use super::ran::Ran;
use super::timed::{CELLS, Case, Cell, conditioned};
use super::ycsb::Run;
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_engine::{EngineKind, Settings};
use serde::Deserialize;
use serde_json::json;

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    run: Run,
    write_buffer_bytes: u64,
    level_base_bytes: u64,
    level_multiplier: u64,
    pinned_levels: u64,
    gets_clients: usize,
    mixed_clients: usize,
}

/// Gets alone, and YCSB A; keys are uniform.
const PHASES: [(&str, Cell); 2] = [("gets", CELLS[4]), ("mixed", CELLS[0])];
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0)];
const MEMTABLE_MIN: u64 = 16 << 10;
const CACHE_MIN: u64 = 128 << 10;

/// A store with both phases.
struct Row {
    store: &'static str,
    memory_bytes: f64,
    gets: Ran,
    mixed: Ran,
}

impl Row {
    /// Both phases on copies of a device.
    fn of(cx: &Context<'_>, plan: &Parameters, store: &'static str, case: Case) -> Result<Self, LabError> {
        cx.note(store);
        let mut device = conditioned(&plan.run.profile(cx)?, case)?;
        let memory_bytes = device.counted("memory_bytes");
        let gets = device.run_by(plan.gets_clients, PHASES[0].1)?;
        let mixed = device.run_by(plan.mixed_clients, PHASES[1].1)?;
        Ok(Self { store, memory_bytes, gets, mixed })
    }

    fn hits(&self) -> f64 {
        self.gets.count("sections_found_user") / self.gets.count("sections_wanted_user").max(1.0)
    }

    fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let phases = [(PHASES[0].0, &self.gets), (PHASES[1].0, &self.mixed)];
        phases.into_iter().flat_map(move |(phase, ran)| {
            QUANTILES.into_iter().map(move |(name, quantile)| {
                let place =
                    [("store", json!(self.store)), ("phase", json!(phase)), ("quantile", json!(name))];
                let mut point = Point::at(place);
                point.add("get_us", us(ran, quantile));
                point.add("get_us_mean", ran.result.gets.mean_ns() / 1e3);
                point.add("kops", ran.result.rate() / 1e3);
                point.add("flash_pages_read_per_operation", ran.per_operation("flash_pages_read"));
                point.add("memory_bytes", ran.at_end("memory_bytes"));
                point
            })
        })
    }

    /// The quantiles of a phase, and what an operation of it reads.
    fn told(&self, ran: &Ran) -> String {
        let times: Vec<String> =
            QUANTILES.iter().map(|(name, q)| format!("{name} {:.0}", us(ran, *q))).collect();
        let pages = ran.per_operation("flash_pages_read");
        format!("{} {} us, {pages:.2} pages read an operation", self.store, times.join(", "))
    }
}

/// A quantile of gets, in microseconds.
fn us(ran: &Ran, quantile: f64) -> f64 {
    ran.result.get_latency.value_at_quantile(quantile) as f64 / 1e3
}

/// Runs plus-tail.
///
/// # Errors
/// [`LabError`].
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let tree = plan.run.case(EngineKind::LSM, tree_settings(cx, &plan)?, cx)?;
    let tree = Row::of(cx, &plan, "lsm-pinned", tree)?;
    let ftls = [("original", EngineKind::HASH_ORIGINAL), ("plus", EngineKind::HASH_PLUS)];
    let mut rows = vec![tree];
    for (name, kind) in ftls {
        let case = with_memory(cx, &plan.run, kind, rows[0].memory_bytes)?;
        rows.push(Row::of(cx, &plan, name, case)?);
    }
    let checks = judge(cx, &rows);
    Ok(Outcome { checks, series: rows.iter().flat_map(Row::points).collect() })
}

fn tree_settings(cx: &Context<'_>, plan: &Parameters) -> Result<Settings, LabError> {
    let scaled = |bytes: u64, least: u64| (bytes / u64::from(cx.scale.max(1))).max(least);
    let own = Settings::told(&[
        ("write_buffer_size", scaled(plan.write_buffer_bytes, MEMTABLE_MIN)),
        ("max_bytes_for_level_base", scaled(plan.level_base_bytes, 4 * MEMTABLE_MIN)),
        ("max_bytes_for_level_multiplier", plan.level_multiplier),
        ("pinned_levels", plan.pinned_levels),
    ]);
    Ok(cx.settings_of(EngineKind::LSM)?.over(&own))
}

/// An FTL that has so much memory in all: its cache is what the other structures leave, as a filled device of its kind has them, or the
/// least that it takes.
///
/// # Errors
/// [`LabError`].
pub fn with_memory(cx: &Context<'_>, run: &Run, kind: EngineKind, bytes: f64) -> Result<Case, LabError> {
    let asked = cx.settings_of(kind)?;
    let with_cache = |cache: f64| {
        let cache = Settings::told(&[("cache_bytes", (cache as u64).max(CACHE_MIN))]);
        run.case(kind, asked.over(&cache), cx)
    };
    cx.note(format!("what {} has besides its cache", kind.name()));
    let mut device = conditioned(&run.profile(cx)?, with_cache(bytes / 2.0)?)?;
    let others = device.counted("memory_bytes") - device.counted("cache_bytes");
    with_cache(bytes - others)
}

fn judge(cx: &Context<'_>, rows: &[Row]) -> Vec<crate::report::Check> {
    let (tree, ftls) = rows.split_first().expect("the tree is the first");
    let below = |what: &str, of: &dyn Fn(&Row) -> f64| -> Vec<Part> {
        let part = |ftl: &Row| {
            let ratio = of(tree) / of(ftl);
            Part::new(format!("{what}: {} over {}", tree.store, ftl.store), ratio, ratio < 1.0)
        };
        ftls.iter().map(part).collect()
    };
    let mut book = cx.book();
    let same = ftls.iter().flat_map(|ftl| {
        let (memory, hits) = (ftl.gets.at_end("memory_bytes") / tree.memory_bytes, ftl.hits());
        [
            Part::within(format!("memory: {} over {}", ftl.store, tree.store), memory, 0.95, 1.05),
            Part::new(format!("sections found: {}", ftl.store), hits, hits < 0.9),
        ]
    });
    let told = format!("{} has {:.2} MiB.", tree.store, tree.memory_bytes / f64::from(1 << 20));
    book.order("AC-plus-tail-1", &same.collect::<Vec<_>>(), told);
    let all = |of: fn(&Row) -> &Ran| {
        format!("{}.", rows.iter().map(|row| row.told(of(row))).collect::<Vec<_>>().join("; "))
    };
    let spread = |row: &Row| us(&row.gets, 0.999) / us(&row.gets, 0.5);
    book.order("AC-plus-tail-2", &below("p99.9 over p50", &spread), all(|row| &row.gets));
    book.order("AC-plus-tail-3", &below("p99.9", &|row| us(&row.gets, 0.999)), "");
    book.order("AC-plus-tail-4", &below("p99.9", &|row| us(&row.mixed, 0.999)), all(|row| &row.mixed));
    let plus = ftls.last().expect("Plus is the last");
    let fewest = rows.iter().filter(|row| row.store != plus.store).map(|row| {
        let of = |row: &Row| row.gets.per_operation("flash_pages_read");
        let ratio = of(plus) / of(row);
        Part::new(format!("pages read: {} over {}", plus.store, row.store), ratio, ratio < 1.0)
    });
    book.order("AC-plus-tail-5", &fewest.collect::<Vec<_>>(), "");
    book.finish()
}
