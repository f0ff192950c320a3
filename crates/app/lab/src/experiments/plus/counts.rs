//! What YCSB A with uniform keys reads and writes, by cause.

use super::device::{Ftl, Measured, Size, measure};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::run::{Context, Outcome};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    superblocks: u64,
    pairs: u64,
}

struct Both {
    original: Arc<Measured>,
    plus: Arc<Measured>,
}

fn both(cx: &Context<'_>) -> Result<Both, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let size = Size::of(plan.superblocks, plan.pairs, cx.plan.operations, cx.scale, cx.seed);
    cx.note("Original");
    let original = measure(Ftl::Original, size)?;
    cx.note("Plus");
    Ok(Both { original, plus: measure(Ftl::Plus, size)? })
}

impl Both {
    /// By how many percent Plus has less.
    fn reduction(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        (1.0 - of(&self.plus) / of(&self.original)) * 100.0
    }

    fn series(&self) -> Vec<Point> {
        [("original", &self.original), ("plus", &self.plus)].map(|(ftl, m)| point(ftl, m)).to_vec()
    }
}

fn gc_table_bytes(m: &Measured) -> f64 {
    (m.ftl.table_bytes_read[1] + m.ftl.table_bytes_written[1]) as f64
}

fn gc_table_pages(m: &Measured) -> f64 {
    (m.ftl.table_pages_read[1] + m.ftl.table_pages_written[1]) as f64
}

fn point(ftl: &str, m: &Measured) -> Point {
    let mut point = Point::at([("ftl", json!(ftl)), ("phase", json!("YCSB A uniform"))]);
    point.add("operations", m.operations as f64);
    point.add("updates", m.updates as f64);
    point.add("load", m.load);
    point.add("collections", m.collections as f64);
    point.add("pages_programmed", m.pages_programmed as f64);
    point.add("kv_pages_read_per_operation", m.ftl.kv_pages_read as f64 / m.operations as f64);
    point.add("gc_table_bytes_per_update", gc_table_bytes(m) / m.updates as f64);
    point.add("gc_table_pages_per_update", gc_table_pages(m) / m.updates as f64);
    for (name, n) in m.ftl.named() {
        point.add(name, n as f64);
    }
    point
}

/// Runs plus-fig3-left.
pub fn kv_data(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let less = both.reduction(|m| m.ftl.kv_pages_read as f64);
    let mut book = cx.book();
    let note = format!(
        "Random probing at these loads ({:.3} and {:.3}) predicts {:.1} %.",
        both.original.load,
        both.plus.load,
        (1.0 - theory(both.plus.load) / theory(both.original.load)) * 100.0
    );
    book.order("AC-plus-fig3l-1", &[Part::within("percent less", less, 15.0, 30.0)], note);
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Runs plus-fig3-mid.
pub fn table_data(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let less = both.reduction(|m| gc_table_bytes(m) / m.updates as f64);
    let pages = both.reduction(|m| gc_table_pages(m) / m.updates as f64);
    let mut book = cx.book();
    let note = format!(
        "Bytes of sections. In pages, which flash reads and writes as a whole, it is {pages:.1} % less: a section that is \
         read brings a page that others share."
    );
    book.order("AC-plus-fig3m-1", &[Part::within("percent less", less, 85.0, 95.0)], note);
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Runs plus-invmap-io.
pub fn invalid_mappings(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let m = &both.plus;
    let per_update = m.ftl.invalid_bytes_written as f64 / m.updates as f64;
    let share = m.ftl.invalid_bytes_written as f64 / (m.pages_programmed * 4096) as f64 * 100.0;
    let mut book = cx.book();
    let read = m.ftl.invalid_bytes_read as f64 / m.updates as f64;
    let note = format!(
        "Read back in collections: {read:.2} B an update. What is still in buffers when a superblock is collected is never \
         written; the run is short against the buffers of all superblocks."
    );
    book.numbers("AC-plus-invmap-1", &[per_update], note);
    book.order("AC-plus-invmap-2", &[Part::within("percent of all written", share, 0.0, 0.1)], "");
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Runs plus-collision.
pub fn collisions(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let both = both(cx)?;
    let part = |name: &str, m: &Measured| {
        let probes = m.ftl.probes as f64 / m.ftl.lookups as f64;
        let ratio = probes / theory(m.load);
        Part::within(format!("{name}: {probes:.3} at load {:.3}, over theory", m.load), ratio, 0.97, 1.03)
    };
    let mut book = cx.book();
    let parts = [part("Original", &both.original), part("Plus", &both.plus)];
    book.order("AC-plus-collision-1", &parts, "Probing is quadratic, by triangular numbers.");
    Ok(Outcome { checks: book.finish(), series: both.series() })
}

/// Mean hash indexes of a successful search with uniform probing at load `a`.
fn theory(a: f64) -> f64 {
    (1.0 / (1.0 - a)).ln() / a
}
