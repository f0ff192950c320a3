// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hybrid transfer of values slightly above a page (section 4.2, Fig. 9).

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::{Grid, link_bytes, sizes};
use crate::judge::Part;
use saker_host::Method::{self, Hybrid, Piggyback, Prp};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    page_bytes: u32,
    tail_bytes: Vec<u32>,
}

const BYTES: &str = "link_bytes_per_operation";
const TIME: &str = "transfer_us_mean";
/// How near to the baseline the small tails' times are to be.
const NEAR: f64 = 0.03;
/// How far above the baseline piggybacking is to be.
const FAR: f64 = 5.0;

/// Runs bandslim-fig9.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let all: Vec<u32> = plan.tail_bytes.iter().map(|tail| plan.page_bytes + tail).collect();
    let grid = sizes(cx, &[Prp, Piggyback, Hybrid], &all)?;
    let at = |tail: u32| plan.page_bytes + tail;
    let saved = |tail| (1.0 - grid.ratio(Hybrid, Prp, at(tail), BYTES)) * 100.0;
    let mut book = cx.book();
    book.order(
        "AC-bandslim-fig9-1",
        &traffic(&grid, &plan),
        "At 4K+4K there is no tail: hybrid sends two pages, as PRP does.",
    );
    book.numbers("AC-bandslim-fig9-2", &[4, 8, 16, 32, 2048].map(saved), "");
    book.order("AC-bandslim-fig9-3", &times(&grid, &plan), cause(&grid, &plan));
    let mut series = grid.into_series();
    for point in &mut series {
        let size = point.at.get("value_bytes").and_then(serde_json::Value::as_u64).unwrap_or(0);
        point.at.insert("tail_bytes".into(), size.saturating_sub(u64::from(plan.page_bytes)).into());
    }
    Ok(Outcome { checks: book.finish(), series })
}

/// Least traffic up to 2 KB of tail, and every count as the published sizes give it.
fn traffic(grid: &Grid, plan: &Parameters) -> Vec<Part> {
    let bytes = |method: Method, tail: u32| grid.get(method, plan.page_bytes + tail, BYTES);
    let tails = || plan.tail_bytes.iter().copied().filter(|tail| *tail <= 2048);
    let least = |tail| bytes(Hybrid, tail) < bytes(Prp, tail) && bytes(Hybrid, tail) < bytes(Piggyback, tail);
    let counted = |method: Method| {
        let wrong = tails().filter(|tail| {
            let published = link_bytes(method, u64::from(plan.page_bytes + tail)).unwrap_or(0) as f64;
            bytes(method, *tail) != published
        });
        wrong.count() as f64
    };
    let missed = tails().filter(|tail| !least(*tail)).count() as f64;
    vec![
        Part::new("tails up to 2 KB where hybrid is not least", missed, missed == 0.0),
        Part::new("hybrid counts unlike the published sizes", counted(Hybrid), counted(Hybrid) == 0.0),
        Part::new(
            "piggyback counts unlike the published sizes",
            counted(Piggyback),
            counted(Piggyback) == 0.0,
        ),
        Part::new(
            "piggyback at 4K+1K, below baseline's 8280",
            bytes(Piggyback, 1024),
            bytes(Piggyback, 1024) < bytes(Prp, 1024),
        ),
        Part::new(
            "piggyback at 4K+2K, above baseline's 8280",
            bytes(Piggyback, 2048),
            bytes(Piggyback, 2048) > bytes(Prp, 2048),
        ),
    ]
}

fn times(grid: &Grid, plan: &Parameters) -> Vec<Part> {
    let over = |method, tail: u32| grid.ratio(method, Prp, plan.page_bytes + tail, TIME);
    let (small, large): (Vec<u32>, Vec<u32>) = plan.tail_bytes.iter().partition(|tail| **tail <= 64);
    let near = small.iter().map(|tail| {
        let name = format!("hybrid over baseline at 4K+{tail}");
        Part::within(name, over(Hybrid, *tail), 1.0 - NEAR, 1.0 + NEAR)
    });
    // A tail of a whole page is no tail.
    let above = large.iter().filter(|tail| **tail < plan.page_bytes).map(|tail| {
        let name = format!("hybrid over baseline at 4K+{tail}");
        Part::new(name, over(Hybrid, *tail), over(Hybrid, *tail) > 1.0)
    });
    let least = plan.tail_bytes.iter().map(|tail| over(Piggyback, *tail)).fold(f64::MAX, f64::min);
    let slow = Part::new("piggyback over baseline, least", least, least >= FAR);
    near.chain(above).chain([slow]).collect()
}

fn cause(grid: &Grid, plan: &Parameters) -> String {
    let at = |method, tail: u32| grid.get(method, plan.page_bytes + tail, TIME);
    format!(
        "Measured: two pages {:.2} us, a page and one awaited tail command {:.2} us, a page and two {:.2} us: a second \
         awaited command costs more than a second page (see AC-bandslim-fig8-3). The text is contradictory here \
         (\"slight decrease\" and \"still lagging behind\").",
        at(Prp, 32),
        at(Hybrid, 32),
        at(Hybrid, 64),
    )
}
