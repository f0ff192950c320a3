// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs that a disk holds, from the sizes of records and mappings.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use saker_engine::hash_ftl::record::{Head, Kind};
use saker_engine::hash_ftl::table::entry::Entry;
use serde::Deserialize;
use serde_json::json;

/// Bytes of a mapping in the table.
const ENTRY_BYTES: u64 = size_of::<Entry>() as u64;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CapacityPlan {
    disk_bytes: u64,
    key_bytes: u8,
    value_bytes: u32,
    small_run: Filled,
    large_run: Filled,
}

/// A run of the paper: its pairs, and its disk.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Filled {
    pairs: u64,
    disk_gb: u64,
}

/// Runs plus-capacity.
pub fn capacity(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: CapacityPlan = cx.plan.parameters();
    let head = Head {
        crc: 0,
        version: 0,
        kind: Kind::Pair,
        in_group: false,
        key_bytes: plan.key_bytes,
        value_bytes: plan.value_bytes,
    };
    let pair = |grain: u64| u64::from(head.bytes()).div_ceil(grain) * grain;
    let with_map = |grain| plan.disk_bytes / (pair(grain) + ENTRY_BYTES);
    let alone = |grain| plan.disk_bytes / pair(grain);
    let mut book = cx.book();
    let ratio = with_map(64) as f64 / with_map(512) as f64;
    let note =
        format!("With the map for both Plus holds {ratio:.1} times as many; the paper leaves Plus's out.");
    let published = [with_map(512) as f64, alone(64) as f64, alone(64) as f64 / alone(512) as f64];
    book.numbers("AC-plus-capacity-1", &published, note);
    let all = [with_map(512), alone(512), with_map(64), alone(64)].map(|n| n as f64);
    book.numbers("AC-plus-capacity-2", &all, "");
    let (small, large) = (&plan.small_run, &plan.large_run);
    let (pairs, disk) =
        (small.pairs as f64 / large.pairs as f64, large.disk_gb as f64 / small.disk_gb as f64);
    book.numbers("AC-plus-capacity-3", &[pairs * disk], format!("In all {pairs:.1} times as many."));
    let series = [("original", 512), ("plus", 64)].map(|(ftl, grain)| {
        let mut point = Point::at([("ftl", json!(ftl))]);
        point.add("pairs_with_map", with_map(grain) as f64);
        point.add("pairs_without_map", alone(grain) as f64);
        point
    });
    Ok(Outcome { checks: book.finish(), series: series.to_vec() })
}
