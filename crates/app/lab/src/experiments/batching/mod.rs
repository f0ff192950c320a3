// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every way to bring small pairs, side by side. No paper has this table.

mod cuts;
mod judge;
mod layout;
mod ways;

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::report::Point;
use crate::rig::{complete, job};
use saker_assembly::Build;
use saker_link::Rule;
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::{Op, RunResult, run_virtual};
use serde::Deserialize;
use serde_json::json;
use ways::Way;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    key_bytes: usize,
    value_bytes: Vec<usize>,
    depths: Vec<u16>,
    batches: Vec<u16>,
    container_bytes: usize,
    judged_batch: u16,
    cut_value_bytes: usize,
    cut_pairs: u32,
    cut_batches: Vec<u32>,
    /// Turns of the device from cut to cut.
    cut_turns: u64,
}

/// Flash of a run.
const FLASH_BYTES: u64 = 1 << 30;

/// A run, and where it stands.
struct Cell {
    profile: String,
    way: Way,
    batch: u16,
    value_bytes: usize,
    depth: u16,
    result: RunResult,
}

/// Runs batching-all.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let plan: Parameters = cx.plan.parameters();
    let mut cells = Vec::new();
    for name in &cx.plan.profiles {
        let profile = cx.profile_named(name)?;
        for value_bytes in plan.value_bytes.iter().copied() {
            cx.note(format!("{name}, values of {value_bytes} B"));
            for depth in plan.depths.iter().copied() {
                measure(cx, &plan, &profile, (value_bytes, depth), &mut cells)?;
            }
        }
    }
    let mut series: Vec<Point> = cells.iter().map(|cell| point(&plan, cell)).collect();
    let tallies = cuts::all(cx, &plan, &mut series)?;
    let checks = judge::judge(cx, &plan, &cells, &tallies, &unsummed(cx, &plan)?);
    Ok(Outcome { series, checks })
}

/// Bulk PUT over groups where sums cost nothing: a group is summed as a whole beside its pairs.
fn unsummed(cx: &Context<'_>, plan: &Parameters) -> Result<String, LabError> {
    let mut profile = cx.profile()?;
    profile.set(SUMS, "0")?;
    let at = |way: Way| {
        let (batch, value_bytes) = (most(&plan.batches), most(&plan.value_bytes));
        one(cx, plan, &profile, way, (value_bytes, 1, batch)).map(|result| result.rate())
    };
    let ratio = at(Way::Bulk)? / at(Way::Group)?;
    Ok(format!("{}, largest values and batch, depth 1, with {SUMS}=0: {ratio:.2}.", profile.name))
}

const SUMS: &str = "firmware.cpu.checksum_byte_ps";

fn most<T: Copy + Ord + Default>(of: &[T]) -> T {
    of.iter().copied().max().unwrap_or_default()
}

/// One run.
fn one(
    cx: &Context<'_>,
    plan: &Parameters,
    profile: &Profile,
    way: Way,
    (value_bytes, depth, batch): (usize, u16, u16),
) -> Result<RunResult, LabError> {
    let mut job = job(1, depth, operations(cx, plan, value_bytes));
    job.transfer.policy = way.policy();
    let build = Build::kv(profile, FLASH_BYTES, cx.seed)?;
    let result = run_virtual(way.store(batch), &build, std::slice::from_ref(&job))?.remove(0);
    complete(result, way.name())
}

fn measure(
    cx: &Context<'_>,
    plan: &Parameters,
    profile: &Profile,
    (value_bytes, depth): (usize, u16),
    cells: &mut Vec<Cell>,
) -> Result<(), LabError> {
    for way in Way::all() {
        for batch in way.batches(&plan.batches) {
            let result = one(cx, plan, profile, way, (value_bytes, depth, batch))?;
            cells.push(Cell { profile: profile.name.clone(), way, batch, value_bytes, depth, result });
        }
    }
    Ok(())
}

/// Puts of different keys.
fn operations(cx: &Context<'_>, plan: &Parameters, value_bytes: usize) -> Vec<Op> {
    let mut rng = Seed(cx.seed).child("batching-all").rng();
    let put = |n: u64| {
        let mut key = rng.next_u64().to_be_bytes().to_vec();
        key[4..].copy_from_slice(&(n as u32).to_be_bytes());
        key.resize(plan.key_bytes, 0);
        Op::Put(key, vec![0x5A; value_bytes])
    };
    (0..cx.operations(u64::from(most(&plan.batches)))).map(put).collect()
}

fn point(plan: &Parameters, cell: &Cell) -> Point {
    let result = &cell.result;
    let pairs = result.operations.max(1) as f64;
    let batches = cell.way.batches(&plan.batches);
    let is_judged = batches.len() == 1 || cell.batch == plan.judged_batch;
    let mut point = Point::at([
        ("profile", json!(cell.profile)),
        ("way", json!(cell.way.name())),
        ("done_when", json!(cell.way.done_when())),
        ("batch", json!(cell.batch)),
        ("value_bytes", json!(cell.value_bytes)),
        ("depth", json!(cell.depth)),
        ("is_judged", json!(is_judged)),
    ]);
    point.add("pairs_per_s", result.rate());
    point.add("answer_us_mean", result.latency.mean() / 1e3);
    point.add("answer_us_p99", result.latency.value_at_quantile(0.99) as f64 / 1e3);
    point.add("link_bytes_per_pair", result.traffic.bytes(&Rule::Protocol).total() as f64 / pairs);
    point.add("commands_per_pair", result.commands as f64 / pairs);
    point.add("pages_per_1000_pairs", result.nand_pages as f64 / pairs * 1e3);
    point.add("host_us_per_pair", result.host_busy.as_nanos() as f64 / 1e3 / pairs);
    point
}
