// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands of the hash store that virtual time gets through in a second of one core.

use crate::pairs::key;
use crate::{Outcome, verdict};
use saker_assembly::Build;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_world::{Job, Op, StoreKind, run_virtual};

const PAIRS: u64 = 1_000_000;
const RATE_MIN: f64 = 1e6;
const ROUNDS: usize = 3;

pub fn run() -> Outcome {
    let profile = Profile::builtin("default")?;
    let build = Build::kv(&profile, 2 << 30, 1)?;
    let put = |n| Op::Put(key(n).to_vec(), vec![7; 16]);
    let get = |n: u64| Op::Get(key(n * 7919 % PAIRS).to_vec());
    let job = |operations, flush| Job {
        threads: 4,
        depth: 32,
        operations,
        flush,
        transfer: TransferOptions::default(),
    };
    let puts = job((0..PAIRS).map(put).collect(), true);
    let gets = job((0..PAIRS).map(get).collect(), false);
    let put_s = seconds(&build, std::slice::from_ref(&puts))?;
    let both_s = seconds(&build, &[puts, gets])?;
    let rates = [PAIRS as f64 / put_s, PAIRS as f64 / (both_s - put_s), 2.0 * PAIRS as f64 / both_s];
    println!(
        "virtual, 16-byte keys and values, 4 threads, depth 32, commands a second of processor time: {:.2} M puts, {:.2} M \
         gets, {:.2} M of both: {}",
        rates[0] / 1e6,
        rates[1] / 1e6,
        rates[2] / 1e6,
        verdict(rates[2] >= RATE_MIN),
    );
    Ok(())
}

/// Processor time of the jobs, building the device included; the least of a few runs.
fn seconds(build: &Build, jobs: &[Job]) -> Result<f64, Box<dyn std::error::Error>> {
    let mut least = f64::MAX;
    for _ in 0..ROUNDS {
        let begun = processor_ns();
        let results = run_virtual(StoreKind::Disk, build, jobs)?;
        least = least.min((processor_ns() - begun) as f64 / 1e9);
        assert!(results.iter().all(|r| r.errors == 0));
    }
    Ok(least)
}

/// Nanoseconds that this thread has been on a processor (proc(5), schedstat): other processes do not count.
pub fn processor_ns() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|ns| ns.parse().ok()).unwrap_or(0)
}
