// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A workload on the device of a URL, by this machine's clock.

use crate::door::{Buffers, DoorStore, carry_out, drain};
use crate::{BenchReport, add_redirection, stalls_of};
use hdrhistogram::Histogram;
use saker::{CacheStats, Kv};
use saker_host::HostError;
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_store::{KvStore, Lane, Op, Outcome};
use saker_workload::{Kind, Operation, Plan, Suite, SuiteOptions};
use serde_json::json;
use std::time::Instant;

/// What to run there.
#[derive(Clone, Copy, Debug)]
pub struct RealOptions {
    /// The workload.
    pub suite: Suite,
    /// Its numbers.
    pub options: SuiteOptions,
    /// Whether stores are queued up to the device's depth instead of awaited one by one.
    pub queued: bool,
}

/// Runs it. Values that are read are checked.
///
/// # Errors
/// [`LabError`], also for values that are not what was stored.
pub fn on_url(kv: &mut Kv, url: &str, run: &RealOptions) -> Result<BenchReport, LabError> {
    let plan = run.suite.plan(&run.options)?;
    if run.suite.needs_preload() {
        execute(kv, &plan.preload(), true)?;
    }
    let before = stalls_of(kv)?;
    let begun = Instant::now();
    let latency = execute(kv, &plan, run.queued)?;
    let elapsed = begun.elapsed().as_secs_f64();
    let stalls = stalls_of(kv)?.since(&before);
    let mut point = Point::at([("workload", json!(run.suite.name())), ("device", json!(url))]);
    point.add("operations", run.options.operations as f64);
    point.add("elapsed_s", elapsed);
    point.add("operations_per_s", run.options.operations as f64 / elapsed);
    if kv.cache_stats() != CacheStats::default() {
        point.add("cache_hit_ratio", kv.cache_stats().hit_ratio());
    }
    if !run.queued {
        point.add("latency_us_mean", latency.mean() / 1e3);
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
            point.add(&format!("latency_us_{name}"), latency.value_at_quantile(quantile) as f64 / 1e3);
        }
    }
    point.add_stalls(&stalls);
    add_redirection(&mut point, kv)?;
    Ok(BenchReport { point, traces: Vec::new(), lines: Vec::new() })
}

/// One operation after the other. Latencies are in nanoseconds.
fn execute(kv: &mut Kv, plan: &Plan, queued: bool) -> Result<Histogram<u64>, LabError> {
    execute_on(&mut DoorStore::new(kv, queued).open_lane()?, plan)
}

fn execute_on<L: Lane<Error = HostError>>(lane: &mut L, plan: &Plan) -> Result<Histogram<u64>, LabError> {
    let (keys, values) = (plan.key_space()?, plan.value_source());
    let mut latency = super::latencies();
    let mut buffers = Buffers::default();
    for operation in plan.operations()? {
        buffers.key.resize(plan.key_bytes, 0);
        keys.fill(operation.key, &mut buffers.key);
        if operation.kind.writes_value() {
            buffers.value.resize(operation.size as usize, 0);
            values.fill(operation.key, operation.version, &mut buffers.value);
        }
        let op = asked(&operation, &mut buffers);
        let begun = Instant::now();
        let is_absent = carry_out(lane, &op, |outcome| outcome == Outcome::Absent)?;
        latency.saturating_record(begun.elapsed().as_nanos() as u64);
        if is_absent && plan.mix.delete == 0 && matches!(op, Op::Get(_)) {
            return Err(LabError::Missing("a key of the preload".to_owned()));
        }
        buffers.back(op);
    }
    drain(lane)?;
    Ok(latency)
}

fn asked(operation: &Operation, buffers: &mut Buffers) -> Op {
    match operation.kind {
        Kind::Put | Kind::Insert => buffers.put(),
        Kind::Delete => buffers.with_key(Op::Delete),
        // A scan of a device ordered by hash: so many keys from that one on, in the device's order.
        Kind::List => buffers.with_key(|from| Op::List { from, entries: operation.size, values: false }),
        Kind::Get | Kind::Exist => buffers.with_key(Op::Get),
    }
}
