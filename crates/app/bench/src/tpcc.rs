//! TPC-C's New-Order and Payment on the device of a URL.

use crate::{BenchReport, latencies};
use saker::{CacheStats, Kv};
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_workload::tpcc::{Row, Step, Tpcc};
use serde_json::json;
use std::time::Instant;

/// Stores the database and runs so many transactions, each read and write awaited.
///
/// # Errors
/// [`LabError`], also for a row that is not there.
pub fn on_url(kv: &mut Kv, url: &str, tpcc: &Tpcc, transactions: usize) -> Result<BenchReport, LabError> {
    for row in tpcc.rows() {
        kv.put_queued(&row.key_bytes(), &value(&row))?;
    }
    kv.drain()?;
    let mut latency = latencies();
    let (mut reads, mut writes) = (0u64, 0u64);
    let begun = Instant::now();
    for transaction in tpcc.transactions().take(transactions) {
        let started = Instant::now();
        for step in transaction.steps {
            match step {
                Step::Read(row) => {
                    let found = kv.get(&row.key_bytes())?;
                    found.ok_or_else(|| LabError::Missing(format!("{:?} {:016x}", row.table, row.key)))?;
                    reads += 1;
                }
                Step::Write(row) => {
                    kv.put(&row.key_bytes(), &value(&row))?;
                    writes += 1;
                }
            }
        }
        latency.saturating_record(started.elapsed().as_nanos() as u64);
    }
    let elapsed = begun.elapsed().as_secs_f64();
    let mut point = Point::at([
        ("workload", json!("tpcc")),
        ("device", json!(url)),
        ("warehouses", json!(tpcc.warehouses)),
        ("lines", json!(format!("{:?}", tpcc.lines))),
    ]);
    point.add("transactions", transactions as f64);
    point.add("elapsed_s", elapsed);
    point.add("transactions_per_s", transactions as f64 / elapsed);
    point.add("reads", reads as f64);
    point.add("writes", writes as f64);
    if kv.cache_stats() != CacheStats::default() {
        point.add("cache_hit_ratio", kv.cache_stats().hit_ratio());
    }
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)] {
        point.add(&format!("latency_us_{name}"), latency.value_at_quantile(quantile) as f64 / 1e3);
    }
    Ok(BenchReport { point, traces: Vec::new(), lines: Vec::new() })
}

fn value(row: &Row) -> Vec<u8> {
    vec![row.table as u8; row.value_bytes() as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_workload::tpcc::Lines;

    #[test]
    fn every_row_is_found_and_hot_rows_are_cached() {
        let url = "mem:?size=64MiB&profile=tiny&cache=1MiB";
        let mut kv = Kv::open(url).unwrap();
        let tpcc = Tpcc::scaled(1, 1000, Lines::OrderLineAndStock, 1);
        let report = on_url(&mut kv, url, &tpcc, 50).unwrap();
        let get = |name: &str| report.point.get(name).unwrap();
        assert!(get("reads") > 500.0 && get("writes") > 500.0);
        assert!(get("cache_hit_ratio") > 0.5, "{:?}", report.point);
        // Half of the transactions took at least the median, and none more than all the time there was.
        let (elapsed, median) = (get("elapsed_s") * 1e6, get("latency_us_p50"));
        assert!(median * 25.0 <= elapsed * 1.001 && get("latency_us_p999") <= elapsed * 1.001);
        assert!(median > 1.0, "about 25 reads and writes pass two queues: {:?}", report.point);
    }
}
