// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finding the thresholds of adaptive transfer by measurement (section 3.2).

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::experiments::bandslim::sizes;
use crate::judge::Part;
use saker_host::transfer::Adaptive;
use saker_host::{Method, Pacing};
use saker_world::calibrate;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    small_bytes: Vec<u32>,
    page_bytes: u32,
    tail_bytes: Vec<u32>,
    coefficients_percent: Vec<u32>,
}

const TIME: &str = "transfer_us_mean";

/// Runs bandslim-threshold.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let above: Vec<u32> = plan.tail_bytes.iter().map(|tail| plan.page_bytes + tail).collect();
    let small = sizes(cx, &[Method::Prp, Method::Piggyback], &plan.small_bytes)?;
    let large = sizes(cx, &[Method::Prp, Method::Hybrid], &above)?;
    let slower = |size: &u32| small.ratio(Method::Piggyback, Method::Prp, *size, TIME) > 1.0;
    let threshold1 = plan.small_bytes.iter().copied().find(slower).unwrap_or(u32::MAX);
    let loses = |tail: &u32| large.ratio(Method::Hybrid, Method::Prp, plan.page_bytes + tail, TIME) > 1.0;
    let threshold2 = plan.tail_bytes.iter().copied().find(loses).unwrap_or(u32::MAX);
    let mut book = cx.book();
    let tool = calibrate(&cx.profile()?, Pacing::Passthrough)?.adaptive;
    let note = format!(
        "Smallest measured size at which piggybacking takes longer than a page; threshold2, by the same rule for tails \
         after a page, is {threshold2} B."
    );
    let inside = |bytes: u32| bytes > 32 && bytes <= 128;
    let found = [
        Part::new("threshold1 of the calibration (B)", f64::from(tool.threshold1), inside(tool.threshold1)),
        Part::new("threshold1 of these runs (B)", f64::from(threshold1), inside(threshold1)),
    ];
    book.order("AC-bandslim-threshold-1", &found, note);
    let measured = Adaptive::new(threshold1, threshold2.min(plan.page_bytes));
    book.order(
        "AC-bandslim-threshold-2",
        &coefficients(measured, &plan),
        "Sizes of 1 B to 64 KB by the policy at the measured thresholds.",
    );
    let series = small.into_series().into_iter().chain(large.into_series()).collect();
    Ok(Outcome { checks: book.finish(), series })
}

/// A larger alpha never takes sizes from piggybacking; a larger beta widens the hybrid band.
fn coefficients(base: Adaptive, plan: &Parameters) -> Vec<Part> {
    let share =
        |policy: Adaptive, method| (1..=65_536).filter(|size| policy.choose(*size) == method).count() as f64;
    let by = |of: &dyn Fn(u32) -> f64| plan.coefficients_percent.iter().map(|c| of(*c)).collect::<Vec<f64>>();
    let alpha = by(&|percent| share(Adaptive { alpha_percent: percent, ..base }, Method::Piggyback));
    let beta = by(&|percent| share(Adaptive { beta_percent: percent, ..base }, Method::Hybrid));
    let part = |name: &str, all: &[f64], least: fn(f64, f64) -> bool| {
        let good = all.windows(2).all(|w| least(w[0], w[1]));
        Part::new(
            format!("{name}: sizes at the largest coefficient"),
            all.last().copied().unwrap_or(f64::NAN),
            good,
        )
    };
    vec![
        Part::new("piggyback sizes at alpha 1", alpha[0], alpha[0] > 0.0),
        part("piggyback over alpha", &alpha, |a, b| b >= a),
        Part::new("hybrid sizes at beta 1", beta[0], true),
        part("hybrid over beta", &beta, |a, b| b > a),
    ]
}
