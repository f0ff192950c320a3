// SPDX-License-Identifier: Apache-2.0 OR MIT
//! TPC-C's New-Order and Payment on the device of a URL.

use crate::door::{Buffers, DoorStore, carry_out, drain};
use crate::{BenchReport, latencies};
use hdrhistogram::Histogram;
use saker::{CacheStats, Kv};
use saker_host::HostError;
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_store::{KvStore, Lane, Op, Outcome};
use saker_workload::tpcc::{Row, Step, Tpcc};
use serde_json::json;
use std::time::Instant;

/// Stores the database and runs so many transactions, each read and write awaited.
///
/// # Errors
/// [`LabError`], also for a row that is not there.
pub fn on_url(kv: &mut Kv, url: &str, tpcc: &Tpcc, transactions: usize) -> Result<BenchReport, LabError> {
    store_all(kv, tpcc)?;
    let mut latency = latencies();
    let begun = Instant::now();
    let (reads, writes) = run(&mut DoorStore::new(kv, false).open_lane()?, tpcc, transactions, &mut latency)?;
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

fn store_all(kv: &mut Kv, tpcc: &Tpcc) -> Result<(), LabError> {
    let mut lane = DoorStore::new(kv, true).open_lane()?;
    let mut buffers = Buffers::default();
    for row in tpcc.rows() {
        write(&mut lane, &row, &mut buffers)?;
    }
    drain(&mut lane)
}

/// Reads and writes of so many transactions.
fn run<L: Lane<Error = HostError>>(
    lane: &mut L,
    tpcc: &Tpcc,
    transactions: usize,
    latency: &mut Histogram<u64>,
) -> Result<(u64, u64), LabError> {
    let (mut reads, mut writes) = (0, 0);
    let mut buffers = Buffers::default();
    for transaction in tpcc.transactions().take(transactions) {
        let started = Instant::now();
        for step in transaction.steps {
            match step {
                Step::Read(row) => {
                    read(lane, &row, &mut buffers)?;
                    reads += 1;
                }
                Step::Write(row) => {
                    write(lane, &row, &mut buffers)?;
                    writes += 1;
                }
            }
        }
        latency.saturating_record(started.elapsed().as_nanos() as u64);
    }
    Ok((reads, writes))
}

fn read<L: Lane<Error = HostError>>(lane: &mut L, row: &Row, buffers: &mut Buffers) -> Result<(), LabError> {
    name(row, buffers);
    let op = buffers.with_key(Op::Get);
    let is_absent = carry_out(lane, &op, |outcome| outcome == Outcome::Absent)?;
    buffers.back(op);
    if is_absent {
        return Err(LabError::Missing(format!("{:?} {:016x}", row.table, row.key)));
    }
    Ok(())
}

fn write<L: Lane<Error = HostError>>(lane: &mut L, row: &Row, buffers: &mut Buffers) -> Result<(), LabError> {
    name(row, buffers);
    buffers.value.clear();
    buffers.value.resize(row.value_bytes() as usize, row.table as u8);
    let op = buffers.put();
    carry_out(lane, &op, |_| ())?;
    buffers.back(op);
    Ok(())
}

fn name(row: &Row, buffers: &mut Buffers) {
    buffers.key.clear();
    buffers.key.extend_from_slice(&row.key_bytes());
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
