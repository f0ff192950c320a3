//! A workload on the device of a URL, by this machine's clock.

use crate::BenchReport;
use hdrhistogram::Histogram;
use saker::{CacheStats, Kv};
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_workload::{Kind, Plan, Suite, SuiteOptions};
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
    let begun = Instant::now();
    let latency = execute(kv, &plan, run.queued)?;
    let elapsed = begun.elapsed().as_secs_f64();
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
    Ok(BenchReport { point, traces: Vec::new(), lines: Vec::new() })
}

/// One operation after the other. Latencies are in nanoseconds.
fn execute(kv: &mut Kv, plan: &Plan, queued: bool) -> Result<Histogram<u64>, LabError> {
    let (keys, values) = (plan.key_space()?, plan.value_source());
    let mut latency = super::latencies();
    let mut key = vec![0; plan.key_bytes];
    let mut value = Vec::new();
    for operation in plan.operations()? {
        keys.fill(operation.key, &mut key);
        if operation.kind.writes_value() {
            value.resize(operation.size as usize, 0);
            values.fill(operation.key, operation.version, &mut value);
        }
        let begun = Instant::now();
        let writes = operation.kind.writes_value();
        if writes && queued {
            kv.put_queued(&key, &value)?;
        } else if writes {
            kv.put(&key, &value)?;
        } else if operation.kind == Kind::Delete {
            kv.delete(&key)?;
        } else if operation.kind == Kind::List {
            // A scan of a device ordered by hash: so many keys from that one on, in the device's order.
            for listed in kv.list(Some(&key)).take(operation.size as usize) {
                listed?;
            }
        } else {
            let found = kv.get(&key)?;
            if plan.mix.delete == 0 {
                present(found)?;
            }
        }
        latency.saturating_record(begun.elapsed().as_nanos() as u64);
    }
    kv.drain()?;
    Ok(latency)
}

fn present(found: Option<Vec<u8>>) -> Result<(), LabError> {
    found.map(drop).ok_or_else(|| LabError::Missing("a key of the preload".to_owned()))
}
