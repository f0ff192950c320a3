// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What YCSB A with uniform keys reads and writes, by cause.

use super::ran::Ran;
use super::timed::CELLS;
use super::ycsb::{self, Run};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_engine::EngineKind;
use saker_engine::hash_ftl::config::{ORIGINAL_GRAIN_BYTES, PLUS_GRAIN_BYTES};
use saker_engine::hash_ftl::settings::grain_bytes;
use saker_engine::hash_ftl::validity::invalid::MAPPING_BYTES;
use serde_json::json;
use std::sync::Arc;

/// Both; they have as many hash indexes as grains.
const FTLS: [(EngineKind, u32); 2] =
    [(EngineKind::HASH_ORIGINAL, ORIGINAL_GRAIN_BYTES), (EngineKind::HASH_PLUS, PLUS_GRAIN_BYTES)];

struct Both {
    original: Arc<Ran>,
    plus: Arc<Ran>,
    /// Pairs per hash index of both.
    loads: [f64; 2],
}

fn both(cx: &Context<'_>) -> Result<Both, LabError> {
    let run: Run = cx.plan.parameters();
    let [mut original, mut plus] = ycsb::both(run, &CELLS[..1], cx)?;
    let size = run.size(cx)?;
    let mut loads = [0.0; 2];
    for (load, (kind, own)) in loads.iter_mut().zip(FTLS) {
        let grain = grain_bytes(&cx.settings_of(kind)?).unwrap_or(own);
        *load = size.pairs as f64 * f64::from(grain) / size.bytes() as f64;
    }
    Ok(Both { original: original.swap_remove(0), plus: plus.swap_remove(0), loads })
}

impl Both {
    /// By how many percent Plus has less.
    fn reduction(&self, of: impl Fn(&Ran) -> f64) -> f64 {
        (1.0 - of(&self.plus) / of(&self.original)) * 100.0
    }

    fn series(&self) -> Vec<Point> {
        let all = [("original", &self.original), ("plus", &self.plus)];
        all.into_iter().zip(self.loads).map(|((ftl, ran), load)| point(ftl, ran, load)).collect()
    }
}

/// Pages that the paper's run writes for an operation: roughly 100 GB for 10 M (section V-D).
const PAPER_PAGES: f64 = 2.44;

fn gc_table_bytes(ran: &Ran) -> f64 {
    (ran.count("table_bytes_read_gc") + ran.count("table_bytes_written_gc")) / ran.updates as f64
}

fn gc_table_pages(ran: &Ran) -> f64 {
    (ran.count("table_pages_read_gc") + ran.count("table_pages_written_gc")) / ran.updates as f64
}

fn point(ftl: &str, ran: &Ran, load: f64) -> Point {
    let mut point = Point::at([("ftl", json!(ftl)), ("phase", json!("YCSB A uniform"))]);
    point.add("operations", ran.result.operations as f64);
    point.add("updates", ran.updates as f64);
    point.add("load", load);
    point.add("kv_pages_read_per_operation", ran.per_operation("kv_pages_read"));
    point.add("gc_table_bytes_per_update", gc_table_bytes(ran));
    point.add("gc_table_pages_per_update", gc_table_pages(ran));
    for (name, n) in &ran.counters {
        point.add(name, *n);
    }
    point
}

/// Runs plus-fig3-left.
pub fn kv_data(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let less = both.reduction(|r| r.per_operation("kv_pages_read"));
    let mut book = cx.book();
    let note = format!(
        "Random probing at these loads ({:.3} and {:.3}) predicts {:.1} %.",
        both.loads[0],
        both.loads[1],
        (1.0 - theory(both.loads[1]) / theory(both.loads[0])) * 100.0
    );
    book.order("AC-plus-fig3l-1", &[Part::within("percent less", less, 15.0, 30.0)], note);
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Runs plus-fig3-mid.
pub fn table_data(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let (less, pages) = (both.reduction(gc_table_bytes), both.reduction(gc_table_pages));
    let mut book = cx.book();
    let within = |less| [Part::within("percent less", less, 85.0, 95.0)];
    book.order("AC-plus-fig3m-1", &within(less), "Bytes of sections.");
    let of_a_page = gc_table_bytes(&both.plus) / gc_table_pages(&both.plus);
    let note = format!(
        "Pages, which flash reads and writes as a whole: a page that Plus reads or writes for a collection has {of_a_page:.0} B of sections that are wanted, \
         of Original all {:.0}. The paper does not say which of the two its figure counts.",
        gc_table_bytes(&both.original) / gc_table_pages(&both.original)
    );
    book.order("AC-plus-fig3m-2", &within(pages), note);
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Runs plus-invmap-io.
pub fn invalid_mappings(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let (ran, size) = (&both.plus, cx.plan.parameters::<Run>().size(cx)?);
    // A page holds fewer mappings where superblocks are smaller than published, and counts for what it holds.
    let mapped = ran.count("invalid_bytes_written") / f64::from(size.shrunk);
    let per_update = mapped / ran.updates as f64;
    let share = mapped / (ran.count("pages_programmed") * f64::from(size.page_bytes)) * 100.0;
    let mut book = cx.book();
    let read = ran.count("invalid_bytes_read") / f64::from(size.shrunk) / ran.updates as f64;
    let dropped = ran.count("invalid_mappings_dropped") * MAPPING_BYTES as f64 / ran.updates as f64;
    let note = format!(
        "Read back in collections: {read:.2} B an update. {dropped:.2} B an update are still in buffers when their superblock is collected and are \
         never written; with them it is {:.2}.",
        per_update + dropped
    );
    book.numbers("AC-plus-invmap-1", &[per_update], note);
    let written = ran.count("pages_programmed") / ran.result.operations.max(1) as f64;
    let as_much = share * written / PAPER_PAGES;
    let note = format!(
        "{written:.2} pages of 4 KiB are written for an operation; the paper's roughly 100 GB for 10 M operations are {PAPER_PAGES}, of which these \
         mappings would be {as_much:.3} %."
    );
    book.order("AC-plus-invmap-2", &[Part::within("percent of all written", share, 0.0, 0.1)], note);
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Runs plus-collision.
pub fn collisions(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let part = |name: &str, ran: &Ran, load: f64| {
        let probes = ran.count("probes") / ran.count("lookups");
        let ratio = probes / theory(load);
        Part::within(format!("{name}: {probes:.3} at load {load:.3}, over theory"), ratio, 0.97, 1.03)
    };
    let mut book = cx.book();
    let parts = [part("Original", &both.original, both.loads[0]), part("Plus", &both.plus, both.loads[1])];
    book.order("AC-plus-collision-1", &parts, "Probing is quadratic, by triangular numbers.");
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Mean hash indexes of a successful search with uniform probing at load `a`.
fn theory(a: f64) -> f64 {
    (1.0 / (1.0 - a)).ln() / a
}
