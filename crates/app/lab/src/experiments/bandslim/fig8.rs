// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Piggybacking against pages by value size (section 4.2, Fig. 8).

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::{Grid, otherwise, sizes};
use crate::judge::Part;
use saker_host::Method::{Piggyback, Prp};
use serde::Deserialize;
use std::fmt::Write as _;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    value_bytes: Vec<u32>,
    step_bytes: Vec<u32>,
    guessed: Vec<Guess>,
}

/// A cost that is not published, with other values that it might have.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guess {
    path: String,
    values: Vec<u64>,
}

const BYTES: &str = "link_bytes_per_operation";
const TIME: &str = "transfer_us_mean";
/// R15 around a half and around one.
const NEAR: f64 = 0.15;

/// Runs bandslim-fig8.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let all: Vec<u32> = plan.value_bytes.iter().chain(&plan.step_bytes).copied().collect();
    let grid = sizes(cx, &[Prp, Piggyback], &all)?;
    let traffic = |size| grid.ratio(Piggyback, Prp, size, BYTES);
    let time = |size| grid.ratio(Piggyback, Prp, size, TIME);
    let mut book = cx.book();
    let saved: Vec<f64> = [4, 8, 16, 32].map(|size| (1.0 - traffic(size)) * 100.0).to_vec();
    book.numbers("AC-bandslim-fig8-1", &saved, by_rule(&grid));
    let crossing = [
        Part::within("bytes at 1 KB over baseline", traffic(1024), 0.0, 0.5),
        Part::within("bytes at 2 KB over baseline", traffic(2048), 0.55, 1.0),
        Part::new("bytes at 4 KB over baseline", traffic(4096), traffic(4096) > 1.0),
    ];
    book.order("AC-bandslim-fig8-2", &crossing, "");
    book.order("AC-bandslim-fig8-3", &times(&time), cause(cx, &grid, &plan.guessed)?);
    let steps: Vec<f64> =
        plan.step_bytes.iter().map(|s| grid.get(Piggyback, *s, "commands_per_operation")).collect();
    let note = format!(
        "Time over baseline at 91 B {:.2}, at 92 B {:.2}, at 127 B {:.2}: values of 92 to 127 B lie below the \
         paper's threshold of 128 B and take three commands.",
        time(91),
        time(92),
        time(127)
    );
    book.numbers("AC-bandslim-fig8-4", &steps, note);
    Ok(Outcome { checks: book.finish(), series: grid.into_series() })
}

fn times(time: &dyn Fn(u32) -> f64) -> Vec<Part> {
    let near = |size: u32, wanted: f64| {
        let name = format!("time at {size} B over baseline");
        Part::within(name, time(size), wanted * (1.0 - NEAR), wanted * (1.0 + NEAR))
    };
    let mut parts: Vec<Part> = [4, 8, 16, 32].map(|size| near(size, 0.5)).to_vec();
    parts.push(near(64, 1.0));
    parts.extend([128, 256, 512, 1024].map(|size| {
        let name = format!("time at {size} B over baseline");
        Part::new(name, time(size), time(size) > 1.2)
    }));
    parts
}

/// The saving at 32 B by each rule of counting.
fn by_rule(grid: &Grid) -> String {
    let saved = |name: &str| (1.0 - grid.ratio(Piggyback, Prp, 32, name)) * 100.0;
    format!(
        "At 32 B by rule: protocol {:.2} %, sqe-only {:.2} %, pcm-lines {:.2} %, tlp {:.2} %.",
        saved(BYTES),
        saved("link_bytes_per_operation_sqe_only"),
        saved("link_bytes_per_operation_pcm_lines"),
        saved("link_bytes_per_operation_tlp"),
    )
}

/// What the times are made of, and what other guesses would give.
fn cause(cx: &Context<'_>, grid: &Grid, guessed: &[Guess]) -> Result<String, LabError> {
    let at = |method, size| grid.get(method, size, TIME);
    let mut text = format!(
        "Measured: one page {:.2} us, one piggyback command {:.2} us, each further command {:.2} us. A half would need \
         a page to cost as much again as a command; here it costs {:.2} us. Ratio at 32 and 64 B with other values of \
         costs that are not published:",
        at(Prp, 32),
        at(Piggyback, 32),
        at(Piggyback, 64) - at(Piggyback, 32),
        at(Prp, 32) - at(Piggyback, 32),
    );
    for guess in guessed {
        for value in &guess.values {
            let other = otherwise(cx, &[(&guess.path, &value.to_string())], &[Prp, Piggyback], &[32, 64])?;
            let ratio = |size| other.ratio(Piggyback, Prp, size, TIME);
            let _ = write!(text, " {}={value}: {:.2}, {:.2};", guess.path, ratio(32), ratio(64));
        }
    }
    Ok(text.trim_end_matches(';').to_owned() + ".")
}
