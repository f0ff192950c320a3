// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures what each method of transfer takes on a profile, in virtual time, and where BandSlim's thresholds lie.
//!
//! BandSlim (ICPP'24, section 3.2) finds its thresholds by benchmarks over 4 B to 8 KB. Here the NAND is off. One at a time,
//! the least response time of a few stores counts: what comes on top of it (page switches, background work) is not the
//! method's. With more in flight, the time per store counts: another resource may then be the one that all wait for, so the
//! best method alone is not the best method under load.

use crate::result::{Job, RunResult};
use crate::stores::run_disk;
use saker_assembly::{Build, BuildError};
use saker_host::transfer::{Adaptive, ByMethod, CostTable, Method, Pacing, TransferOptions};
use saker_host::{HostError, TransferPolicy};
use saker_nvme::vendor_specific::{HYBRID_PAGE_BYTES, PIGGYBACK_BYTES, TRANSFER_BYTES};
use saker_profile::Profile;
use saker_store::Op;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use thiserror::Error;

/// Largest value that is measured.
pub const BYTES_MAX: u32 = 8192;
/// Stores of each size by each method, one at a time.
const STORES: usize = 3;
/// The same under load: many times what is in flight, so that beginning and end do not count.
const STORES_UNDER_LOAD: usize = 200;
/// Flash for the measurement.
const FLASH_BYTES: u64 = 1 << 30;

/// Why nothing was measured.
#[derive(Debug, Error)]
pub enum CalibrationError {
    /// No device of this profile.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The host and the device did not get on.
    #[error(transparent)]
    Host(#[from] HostError),
}

/// How many stores are on their way at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Application threads, each with a queue pair.
    pub threads: usize,
    /// Stores of each thread in flight.
    pub depth: u16,
}

impl Load {
    /// One at a time.
    pub const ONE: Self = Self { threads: 1, depth: 1 };
    /// More in flight makes no difference to who wins, and takes long to measure.
    const IN_FLIGHT_MAX: usize = 32;

    /// The same, or what stands for it.
    fn bounded(self) -> Self {
        let threads = self.threads.clamp(1, Self::IN_FLIGHT_MAX);
        Self { threads, depth: self.depth.clamp(1, (Self::IN_FLIGHT_MAX / threads) as u16) }
    }

    fn in_flight(self) -> usize {
        self.threads * usize::from(self.depth)
    }
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Response times, or times per store, for [`Objective::Time`](saker_host::transfer::Objective).
    pub table: Arc<CostTable>,
    /// BandSlim's thresholds with alpha = beta = 1. A threshold of 0: the method never wins.
    pub adaptive: Adaptive,
}

/// Measures a profile, one store at a time.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate(profile: &Profile, pacing: Pacing) -> Result<Calibration, CalibrationError> {
    calibrate_at(profile, pacing, Load::ONE)
}

/// Measures a profile under a load.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate_at(profile: &Profile, pacing: Pacing, load: Load) -> Result<Calibration, CalibrationError> {
    let table = measure(profile, pacing, load, &sizes())?;
    let adaptive = Adaptive::new(threshold1(&table), threshold2(&table));
    Ok(Calibration { table: Arc::new(table), adaptive })
}

/// Times of stores of those sizes, in ascending order, by every method.
///
/// # Errors
/// [`CalibrationError`].
pub fn measure(
    profile: &Profile,
    pacing: Pacing,
    load: Load,
    sizes: &[u32],
) -> Result<CostTable, CalibrationError> {
    let load = load.bounded();
    if load == Load::ONE {
        return measure_with(profile, pacing, load, STORES, &all_methods(sizes));
    }
    let rough = measure_with(profile, pacing, load, 2 * load.in_flight(), &all_methods(sizes))?;
    let likely: Vec<_> = rough.rows.iter().map(|(bytes, costs)| (*bytes, likely(costs))).collect();
    measure_with(profile, pacing, load, STORES_UNDER_LOAD, &likely)
}

/// A size and who is measured at it.
type Row = (u32, Vec<Method>);

fn all_methods(sizes: &[u32]) -> Vec<Row> {
    sizes.iter().map(|bytes| (*bytes, Method::ALL.to_vec())).collect()
}

/// Those that a short run leaves a chance: others only take long to measure.
fn likely(costs: &ByMethod<Option<u64>>) -> Vec<Method> {
    let least = costs.iter().flatten().min().copied().unwrap_or(0);
    let is_likely = |m: &Method| costs[m.index()].is_some_and(|cost| cost <= 2 * least);
    Method::ALL.into_iter().filter(is_likely).collect()
}

fn measure_with(
    profile: &Profile,
    pacing: Pacing,
    load: Load,
    stores: usize,
    rows: &[Row],
) -> Result<CostTable, CalibrationError> {
    let mut jobs = Vec::new();
    for (bytes, methods) in rows {
        for method in methods {
            let first = jobs.len() * stores;
            jobs.push(job(*bytes, TransferOptions::fixed(*method, pacing), load, first..first + stores));
        }
    }
    let time = |result: &RunResult| (result.errors == 0).then(|| time_per_store(result, load));
    let mut times = run_disk(&quiet(profile)?, &jobs, time)?.into_iter();
    let row = |(bytes, methods): &Row| {
        let mut costs = [None; Method::ALL.len()];
        for (method, time) in methods.iter().zip(times.by_ref()) {
            costs[method.index()] = time;
        }
        (*bytes, costs)
    };
    Ok(CostTable { rows: rows.iter().map(row).collect() })
}

fn time_per_store(result: &RunResult, load: Load) -> u64 {
    if load == Load::ONE {
        result.latency.min()
    } else {
        result.elapsed.as_nanos() / result.operations.max(1)
    }
}

/// The least response time of a store of `bytes` bytes under a policy, in nanoseconds.
///
/// # Errors
/// [`CalibrationError`].
pub fn response(
    profile: &Profile,
    bytes: &[u32],
    policy: &TransferPolicy,
    pacing: Pacing,
) -> Result<Vec<u64>, CalibrationError> {
    let build = quiet(profile)?;
    let options =
        |policy: &TransferPolicy| TransferOptions { policy: policy.clone(), pacing, small_reads: 0 };
    let jobs = bytes
        .iter()
        .enumerate()
        .map(|(n, bytes)| job(*bytes, options(policy), Load::ONE, n * STORES..(n + 1) * STORES));
    Ok(run_disk(&build, &jobs.collect::<Vec<_>>(), |result| result.latency.min())?)
}

fn quiet(profile: &Profile) -> Result<Build, BuildError> {
    let build = match Build::kv(profile, FLASH_BYTES, 1) {
        Err(BuildError::TooSmall { least, .. }) => Build::kv(profile, least, 1),
        built => built,
    };
    build.map(|build| Build { nand: false, ..build })
}

/// Stores of pairs with those numbers.
fn job(bytes: u32, transfer: TransferOptions, load: Load, pairs: Range<usize>) -> Job {
    let put = |n: usize| Op::Put((n as u32).to_le_bytes().to_vec(), vec![n as u8; bytes as usize]);
    let operations = pairs.map(put).collect();
    Job { threads: load.threads, depth: load.depth, operations, flush: false, transfer }
}

/// Every size after which some method takes another step.
fn sizes() -> Vec<u32> {
    let (first, next) = (PIGGYBACK_BYTES as u32, TRANSFER_BYTES as u32);
    let mut sizes = BTreeSet::from([4, 8, 16, 32]);
    sizes.extend((0..20).map(|n| first + n * next));
    sizes.extend((1..=BYTES_MAX / 64).map(|n| n * 64));
    sizes.extend((1..=HYBRID_PAGE_BYTES / next).map(|n| HYBRID_PAGE_BYTES + n * next));
    sizes.into_iter().collect()
}

/// One more than the last size up to which piggyback beats PRPs throughout.
fn threshold1(table: &CostTable) -> u32 {
    let better = |costs: &ByMethod<Option<u64>>| is_less(costs, Method::Piggyback);
    let wins = table.rows.iter().take_while(|(_, costs)| better(costs));
    wins.last().map_or(0, |(bytes, _)| bytes + 1)
}

/// The same for what follows a page, and hybrid.
fn threshold2(table: &CostTable) -> u32 {
    let beyond = table.rows.iter().filter(|(bytes, _)| *bytes > HYBRID_PAGE_BYTES);
    let wins = beyond.take_while(|(_, costs)| is_less(costs, Method::Hybrid));
    wins.last().map_or(0, |(bytes, _)| bytes - HYBRID_PAGE_BYTES + 1)
}

fn is_less(costs: &ByMethod<Option<u64>>, method: Method) -> bool {
    let prp = costs[Method::Prp.index()];
    costs[method.index()].is_some_and(|cost| prp.is_none_or(|prp| cost < prp))
}
