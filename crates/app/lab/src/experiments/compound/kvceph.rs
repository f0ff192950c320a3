//! Transactions of KVCeph written ahead and then pair by pair, or as one group (Figure 3): the group part.
//!
//! The rest of the figure, that a transaction is whole after a crash, belongs to transactions.

use super::{group, key, open, single, us};
use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use saker_host::group::Op;
use saker_nvme::Key;
use saker_nvme::group::payload_bytes;
use saker_profile::Profile;
use serde::Deserialize;
use serde_json::json;
use std::fmt::Write as _;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: usize,
    pairs: Vec<u32>,
    host_us: Vec<f64>,
    judged_pairs: u32,
    judged_host_us: f64,
}

/// Runs compound-fig3-kvceph.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let profile = cx.profile()?;
    let alone = single(&profile, cx.seed, Op::Store, plan.key_bytes, plan.value_bytes)?;
    let mut series = Vec::new();
    for pairs in &plan.pairs {
        let logged = write_ahead(&profile, cx.seed, &plan, *pairs)?;
        let grouped = group(&profile, cx.seed, Op::Store, *pairs, plan.key_bytes, plan.value_bytes)?;
        let software = logged + f64::from(*pairs) * alone;
        for host_us in &plan.host_us {
            series.push(point(&plan, *pairs, *host_us, software, grouped));
        }
    }
    let ratio = |pairs: u32, host_us: f64| {
        let place = [("pairs", &json!(pairs)), ("host_us", &json!(host_us))];
        series.iter().find(|p| p.is_at(&place)).and_then(|p| p.get("ratio")).unwrap_or(f64::NAN)
    };
    let mut note = String::from(
        "The paper states neither the size of its transactions nor the host's time, and the ratio depends on both:",
    );
    for pairs in &plan.pairs {
        let row: Vec<_> =
            plan.host_us.iter().map(|host| format!("{:.2} at {host} us", ratio(*pairs, *host))).collect();
        let _ = write!(note, " {pairs} pairs {};", row.join(", "));
    }
    note += " 25.6 us is what the published ratio needs at ten pairs; nothing else tests it. The first run had the log at 46.14 us, the \
             time of 4 KB, whatever its length: 1.90. No crash is part of this experiment.";
    let mut book = cx.book();
    book.numbers("AC-compound-fig3-1", &[ratio(plan.judged_pairs, plan.judged_host_us)], note);
    Ok(Outcome { checks: book.finish(), series })
}

/// All pairs of a transaction under one designated key.
fn write_ahead(profile: &Profile, seed: u64, plan: &Parameters, pairs: u32) -> Result<f64, LabError> {
    let mut serial = open(profile, seed)?;
    let pair = (plan.key_bytes, plan.value_bytes);
    let bytes = payload_bytes(Op::Store, std::iter::repeat_n(pair, pairs as usize));
    let log = Key::new(&key(u32::MAX, 16)).map_err(|e| LabError::Host(e.into()))?;
    Ok(us(serial.time(|client| Ok(client.put(&log, &vec![1; bytes])?))?))
}

fn point(plan: &Parameters, pairs: u32, host_us: f64, software: f64, grouped: f64) -> Point {
    let mut point = Point::at([("pairs", json!(pairs)), ("host_us", json!(host_us))]);
    let host = f64::from(pairs) * host_us;
    let bytes = f64::from(pairs) * (plan.key_bytes + plan.value_bytes) as f64;
    point.add("logged_mb_per_s", bytes / (software + host));
    point.add("grouped_mb_per_s", bytes / (grouped + host));
    point.add("ratio", (software + host) / (grouped + host));
    point
}
