// SPDX-License-Identifier: Apache-2.0 OR MIT
//! KVAccel (IPDPS'25; Kim, seminar of April 2025): writes that the tree at the host would stop go to a tree in the device.

pub mod adaptive;
pub mod link;
pub mod range;
pub mod rollback;
pub mod sweep;
mod systems;
pub mod throughput;
pub mod timelines;
mod workload_a;

use crate::context::Context;
use crate::error::LabError;
use crate::report::Point;
use crate::rig;
use saker_engine::write_gate::Hold;
use saker_sim::{Duration, Seed};
use saker_world::{Job, Op, RunResult};
use serde::Deserialize;

/// Bytes of a key.
const KEY_BYTES: usize = 4;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Without the stamp.
    value_bytes: usize,
    /// At full scale.
    flash_bytes: u64,
    threads: Vec<u32>,
    judged_threads: u32,
}

/// How much smaller than at full scale everything is. A run of the least length is smaller than its scale says.
fn factor(cx: &Context<'_>, operations: u64) -> u64 {
    (cx.plan.operations / operations.max(1)).max(1)
}

/// A second of the run as published.
fn second(factor: u64) -> Duration {
    Duration::from_nanos(1_000_000_000 / factor)
}

/// A random one of so many keys.
fn key(n: u64) -> Vec<u8> {
    (n as u32).to_be_bytes()[..KEY_BYTES].to_vec()
}

/// A value that tells which write it is of.
fn value(bytes: usize, number: u64) -> Vec<u8> {
    let mut value = vec![0x5a; bytes.max(8)];
    value[..8].copy_from_slice(&number.to_le_bytes());
    value
}

/// Workload A: so many random writes by one thread.
fn writes(cx: &Context<'_>, operations: u64, value_bytes: usize) -> Job {
    let mut rng = Seed(cx.seed).child("kvaccel").rng();
    let put = |number| Op::Put(key(rng.below(operations)), value(value_bytes, number));
    Job { flush: false, ..rig::job(1, 1, (0..operations).map(put).collect()) }
}

/// Adds what all runs tell.
fn add_run(point: &mut Point, result: &RunResult) {
    let us = |ns: f64| ns / 1e3;
    point.add("kops_per_s", result.rate() / 1e3);
    point.add("write_mb_per_s", result.write_megabytes_per_s());
    point.add("latency_us_mean", us(result.latency.mean()));
    point.add("write_us_p99", us(result.latency.value_at_quantile(0.99) as f64));
    point.add("write_us_p999", us(result.latency.value_at_quantile(0.999) as f64));
    point.add("write_us_longest", us(result.latency.max() as f64));
    point.add("mb_per_s_per_cpu_percent", result.write_megabytes_per_s_per_cpu_percent());
    point.add("write_amplification", result.write_amplification());
    point.add("link_mb_per_s", result.link_bytes as f64 / 1e6 / result.elapsed.as_secs_f64());
    let (stopped, delayed) = (result.stalls.all(Hold::Stopped), result.stalls.all(Hold::Delayed));
    point.add("stopped_writes", stopped.writes as f64);
    point.add("stopped_s", stopped.time.as_secs_f64());
    point.add("delayed_writes", delayed.writes as f64);
    for name in COUNTED {
        let counted = result.counters.iter().find(|(known, _)| *known == name);
        counted.into_iter().for_each(|(_, n)| point.add(name, *n as f64));
    }
    point.add_stalls(&result.stalls);
}

/// Counters of the hybrid that points have.
const COUNTED: [&str; 23] = [
    "longest_write_ns",
    "longest_write_in_line_ns",
    "longest_write_held_ns",
    "longest_write_in_main_ns",
    "longest_write_in_device_ns",
    "main_read_mean_ns",
    "device_read_mean_ns",
    "rollback_copy_mean_ns",
    "reads_lost_ns",
    "redirected_writes",
    "redirected_bytes",
    "redirections",
    "redirected_held",
    "redirected_turned_back",
    "device_reads",
    "rollbacks",
    "rollback_kept_by_stalls",
    "rollback_kept_by_level0",
    "rollback_moved",
    "rollback_stale",
    "device_emptied",
    "metadata_keys_peak",
    "metadata_bytes_per_key",
];

/// Seconds of the run that had fewer operations than `part` of the mean; the last one, which is not whole, does not count.
fn poor_seconds(result: &RunResult, part: f64) -> usize {
    let whole = result.timeline.len().saturating_sub(1);
    let all = &result.timeline[..whole];
    let mean = all.iter().sum::<u64>() as f64 / all.len().max(1) as f64;
    all.iter().filter(|n| (**n as f64) < part * mean || **n == 0).count()
}

/// Runs that refuse nothing.
fn complete(results: Vec<RunResult>, place: &str) -> Result<Vec<RunResult>, LabError> {
    results.into_iter().map(|result| rig::complete(result, place)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_below_a_part_of_the_mean_are_poor() {
        let result = RunResult { timeline: vec![100, 100, 0, 9, 91, 3], ..RunResult::new() };
        assert_eq!(
            (poor_seconds(&result, 0.0), poor_seconds(&result, 0.1), poor_seconds(&result, 0.5)),
            (1, 1, 2)
        );
    }

    #[test]
    fn values_tell_their_write_and_keys_are_short() {
        assert_eq!((value(4088, 7).len(), value(4088, 7)[0], key(258)), (4088, 7, vec![0, 0, 1, 2]));
    }
}
