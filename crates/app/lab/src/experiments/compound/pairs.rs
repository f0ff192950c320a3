// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Latency per operation by the number of pairs (Figure 2).

use super::{group, single};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use saker_host::group::Op;
use saker_nvme::group::results::RESULT_BYTES;
use saker_nvme::group::{COUNT_BYTES, padded, payload_bytes};
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    pairs: Vec<u32>,
    key_bytes: usize,
    value_bytes: usize,
    /// Times of payloads under a 16-byte key if section 3.1's store of 4 KB is one of them, too.
    all_points_ns: String,
}

/// Whose payload times, and how keys are charged.
const SETTINGS: [(&str, bool); 3] =
    [("Figure 2", false), ("Figure 2", true), ("Figure 2 and section 3.1", false)];

/// Runs compound-fig2.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let mut series = Vec::new();
    for (points, batched) in SETTINGS {
        let mut profile = cx.profile()?;
        profile.set("firmware.batched_group_keys", &batched.to_string())?;
        if points != SETTINGS[0].0 {
            profile.set("media.group_store_ns", &plan.all_points_ns)?;
        }
        for op in [Op::Store, Op::Retrieve] {
            curve(cx, &plan, &profile, op, points, batched, &mut series)?;
        }
    }
    let mut book = cx.book();
    let last = plan.pairs[plan.pairs.len() - 1];
    let ratio = |op| at(&series, op, SETTINGS[0], last) / at(&series, op, SETTINGS[0], 1);
    let each = |op, n| at(&series, op, SETTINGS[0], n);
    let note = format!(
        "Store {:.2} to {:.2} us, retrieve {:.2} to {:.2} us: {:.1} and {:.1} % less. The ends of both curves are among the \
         profile's numbers.",
        each(Op::Store, 1),
        each(Op::Store, last),
        each(Op::Retrieve, 1),
        each(Op::Retrieve, last),
        (1.0 - ratio(Op::Store)) * 100.0,
        (1.0 - ratio(Op::Retrieve)) * 100.0,
    );
    book.numbers("AC-compound-fig2-1", &[ratio(Op::Store), ratio(Op::Retrieve)], note);
    book.order("AC-compound-fig2-2", &parts(&plan, &series), cause(&series));
    let exact: Vec<f64> = [Op::Store, Op::Retrieve]
        .iter()
        .flat_map(|op| [each(*op, 1), each(*op, last), (1.0 - ratio(*op)) * 100.0])
        .map(|x| (x * 10.0).round() / 10.0)
        .collect();
    book.numbers("AC-compound-fig2-3", &exact, without_keys(&plan, last));
    Ok(Outcome { checks: book.finish(), series })
}

fn curve(
    cx: &Context<'_>,
    plan: &Parameters,
    profile: &Profile,
    op: Op,
    points: &str,
    batched: bool,
    series: &mut Vec<Point>,
) -> Result<(), LabError> {
    for pairs in &plan.pairs {
        let (key, value) = (plan.key_bytes, plan.value_bytes);
        let took = if *pairs == 1 {
            single(profile, cx.seed, op, key, value)?
        } else {
            group(profile, cx.seed, op, *pairs, key, value)?
        };
        let mut point = Point::at([
            ("operation", json!(name(op))),
            ("payload_times", json!(points)),
            ("keys", json!(if batched { "batched" } else { "per pair" })),
            ("pairs", json!(pairs)),
        ]);
        point.add("operation_us", took / f64::from(*pairs));
        series.push(point);
    }
    Ok(())
}

const fn name(op: Op) -> &'static str {
    if matches!(op, Op::Store) { "store" } else { "retrieve" }
}

fn at(series: &[Point], op: Op, (points, batched): (&str, bool), pairs: u32) -> f64 {
    let keys = if batched { "batched" } else { "per pair" };
    let place = [
        ("operation", &json!(name(op))),
        ("payload_times", &json!(points)),
        ("keys", &json!(keys)),
        ("pairs", &json!(pairs)),
    ];
    series.iter().find(|p| p.is_at(&place)).and_then(|p| p.get("operation_us")).unwrap_or(f64::NAN)
}

fn parts(plan: &Parameters, series: &[Point]) -> Vec<Part> {
    let steps = |op, setting| {
        let step = |w: &[u32]| at(series, op, setting, w[1]) / at(series, op, setting, w[0]);
        plan.pairs.windows(2).map(step).fold(f64::MIN, f64::max)
    };
    let batched = |op| {
        let ratio = |n: &u32| at(series, op, SETTINGS[1], *n) / at(series, op, SETTINGS[0], *n);
        plan.pairs.iter().filter(|n| **n > 1).map(ratio).fold(f64::MIN, f64::max)
    };
    let mut parts = Vec::new();
    for op in [Op::Store, Op::Retrieve] {
        let step = steps(op, SETTINGS[0]);
        parts.push(Part::new(format!("{}: largest step", name(op)), step, step < 1.0));
        let lower = batched(op);
        parts.push(Part::new(format!("{}: batched over per pair, at most", name(op)), lower, lower < 1.0));
    }
    let step = steps(Op::Store, SETTINGS[2]);
    parts.push(Part::new("store: largest step with section 3.1's 46.14 us too", step, step < 1.0));
    parts
}

/// Why ten retrieves take less than published.
fn without_keys(plan: &Parameters, pairs: u32) -> String {
    let published =
        payload_bytes(Op::Store, std::iter::repeat_n((plan.key_bytes, plan.value_bytes), pairs as usize));
    let moved = COUNT_BYTES + pairs as usize * (RESULT_BYTES + padded(plan.value_bytes));
    format!(
        "Rounded to the paper's digits. Its retrieves return keys and values, {published} B for {pairs} pairs; results here have no \
         keys, {moved} B, and the profile's time of a payload is that of its bytes."
    )
}

fn cause(series: &[Point]) -> String {
    let with = |n| at(series, Op::Store, SETTINGS[2], n);
    format!(
        "With 46.14 us for 4 KB as a payload's time, too, three pairs take {:.2} us each and ten {:.2}; with Figure 2's times \
         alone the curves fall.",
        with(3),
        with(10),
    )
}
