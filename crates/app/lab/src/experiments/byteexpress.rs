// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Payload in the submission queue against pages and piggybacking (ByteExpress).

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::{Grid, sizes};
use crate::judge::Part;
use saker_host::Method::{Inline, Piggyback, Prp, Sgl};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    value_bytes: Vec<u32>,
    judged_bytes: Vec<u32>,
}

const BYTES: &str = "link_bytes_per_operation";
const TIME: &str = "transfer_us_mean";

/// Runs byteexpress-fig5.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let grid = sizes(cx, &[Prp, Sgl, Piggyback, Inline], &plan.value_bytes)?;
    let mut book = cx.book();
    let bytes: Vec<f64> = plan.judged_bytes.iter().map(|size| grid.get(Inline, *size, BYTES)).collect();
    book.numbers("AC-byteexpress-1", &bytes, savings(&grid, &plan));
    book.order("AC-byteexpress-2", &traffic(&grid, &plan), "");
    book.order("AC-byteexpress-3", &times(&grid, &plan), cause(&grid));
    book.numbers(
        "AC-byteexpress-4",
        &[most(&grid, "cqes"), most(&grid, "sq_doorbells")],
        "Most of any run, per store.",
    );
    Ok(Outcome { checks: book.finish(), series: grid.into_series() })
}

fn savings(grid: &Grid, plan: &Parameters) -> String {
    let saved =
        |size: &u32| format!("{size} B {:.1} %", (1.0 - grid.ratio(Inline, Prp, *size, BYTES)) * 100.0);
    format!("Saved against pages: {}.", plan.judged_bytes.iter().map(saved).collect::<Vec<_>>().join(", "))
}

fn traffic(grid: &Grid, plan: &Parameters) -> Vec<Part> {
    let over = |size: u32| grid.ratio(Inline, Piggyback, size, BYTES);
    let part = |size: &u32| {
        let ratio = over(*size);
        let holds = match size {
            0..=35 => ratio > 1.0,
            36..=64 => ratio < 1.0,
            65..=91 => ratio > 1.0 && ratio < 1.3,
            _ => ratio < 1.0,
        };
        Part::new(format!("bytes at {size} B over piggyback"), ratio, holds)
    };
    let mut parts: Vec<Part> = plan.value_bytes.iter().map(part).collect();
    parts.push(Part::within("bytes at 128 B, published 0.82", over(128), 0.815, 0.825));
    parts.push(Part::within("bytes at 1 KB, published 0.67", over(1024), 0.66, 0.67));
    parts
}

fn times(grid: &Grid, plan: &Parameters) -> Vec<Part> {
    let over = |base, size: u32| grid.ratio(Inline, base, size, TIME);
    let mut parts = Vec::new();
    for size in plan.value_bytes.iter().filter(|size| **size >= 64) {
        let ratio = over(Piggyback, *size);
        parts.push(Part::new(format!("time at {size} B over piggyback"), ratio, ratio < 1.0));
    }
    for size in plan.value_bytes.iter().filter(|size| (64..=256).contains(*size)) {
        let ratio = over(Prp, *size);
        parts.push(Part::new(format!("time at {size} B over pages"), ratio, ratio <= 1.0));
    }
    let crossing = plan.value_bytes.iter().find(|size| over(Prp, **size) > 1.0);
    let at = crossing.map_or(f64::NAN, |size| f64::from(*size));
    parts.push(Part::new("first size slower than pages (B)", at, at <= 4096.0));
    parts
}

/// Most of a count per store over all runs by inline.
fn most(grid: &Grid, name: &str) -> f64 {
    let of = |run: &crate::rig::Stored| {
        let traffic = &run.result.traffic;
        let count = if name == "cqes" { traffic.cqes } else { traffic.sq_doorbells };
        count as f64 / run.result.operations.max(1) as f64
    };
    grid.runs().filter(|(method, ..)| *method == Inline.name()).map(|(.., run)| of(run)).fold(0.0, f64::max)
}

fn cause(grid: &Grid) -> String {
    let at = |method, size| grid.get(method, size, TIME);
    let slot = (at(Inline, 4096) - at(Inline, 64)) / 63.0;
    format!(
        "Measured: a page {:.2} us; inline {:.2} us with one payload entry and {slot:.3} us for each further one; \
         piggyback {:.2} us at 64 B.",
        at(Prp, 64),
        at(Inline, 64),
        at(Piggyback, 64),
    )
}
