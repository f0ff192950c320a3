//! Measures what each method of transfer takes on a profile, in virtual time, and where BandSlim's thresholds lie.
//!
//! BandSlim (ICPP'24, section 3.2) finds its thresholds by benchmarks over 4 B to 8 KB. Here the NAND is off, commands go one at
//! a time, and the least response time of a few stores counts: what comes on top of it (page switches, background work)
//! is not the method's.

use crate::build::{Build, BuildError};
use crate::disk_kv::run_disk_kv;
use crate::result::{Job, Side};
use saker_host::transfer::{Adaptive, CostTable, Method, Pacing, TransferOptions};
use saker_host::{HostError, TransferPolicy};
use saker_nvme::vendor::{HYBRID_PAGE_BYTES, PIGGYBACK_BYTES, TRANSFER_BYTES};
use saker_sim::profile::Profile;
use std::collections::BTreeSet;
use std::sync::Arc;
use thiserror::Error;

/// Largest value that is measured.
pub const BYTES_MAX: u32 = 8192;
/// Stores of each size by each method.
const STORES: usize = 3;
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

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// Response times, for [`Objective::Time`](saker_host::transfer::Objective).
    pub table: Arc<CostTable>,
    /// BandSlim's thresholds with alpha = beta = 1. A threshold of 0: the method never wins.
    pub adaptive: Adaptive,
}

/// Measures a profile.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate(profile: &Profile, pacing: Pacing) -> Result<Calibration, CalibrationError> {
    let table = measure(profile, pacing, &sizes())?;
    let adaptive = Adaptive::new(threshold1(&table), threshold2(&table));
    Ok(Calibration { table: Arc::new(table), adaptive })
}

/// Response times of stores of those sizes, in ascending order, by every method.
///
/// # Errors
/// [`CalibrationError`].
pub fn measure(profile: &Profile, pacing: Pacing, sizes: &[u32]) -> Result<CostTable, CalibrationError> {
    let build = quiet(profile)?;
    let mut jobs = Vec::new();
    for bytes in sizes {
        for method in Method::ALL {
            jobs.push(job(*bytes, TransferOptions::fixed(method, pacing), jobs.len()));
        }
    }
    let results = run_disk_kv(&build, &jobs)?;
    let mut rows = Vec::new();
    for (bytes, results) in sizes.iter().zip(results.chunks(Method::ALL.len())) {
        let mut costs = [None; Method::ALL.len()];
        for (cost, result) in costs.iter_mut().zip(results) {
            *cost = (result.errors == 0).then(|| result.latency.min());
        }
        rows.push((*bytes, costs));
    }
    Ok(CostTable { rows })
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
    let jobs = bytes.iter().enumerate().map(|(n, bytes)| job(*bytes, options(policy), n));
    let results = run_disk_kv(&build, &jobs.collect::<Vec<_>>())?;
    Ok(results.iter().map(|r| r.latency.min()).collect())
}

fn quiet(profile: &Profile) -> Result<Build, BuildError> {
    let build = match Build::kv(profile, FLASH_BYTES, 1) {
        Err(BuildError::TooSmall { least, .. }) => Build::kv(profile, least, 1),
        built => built,
    };
    build.map(|build| Build { nand: false, ..build })
}

fn job(bytes: u32, transfer: TransferOptions, number: usize) -> Job {
    let put = |n: usize| {
        let key = ((number * STORES + n) as u32).to_le_bytes();
        Side::Put(key.to_vec(), vec![n as u8; bytes as usize])
    };
    Job { threads: 1, depth: 1, operations: (0..STORES).map(put).collect(), flush: false, transfer }
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
    let better = |costs: &[Option<u64>; 6]| is_less(costs, Method::Piggyback);
    let wins = table.rows.iter().take_while(|(_, costs)| better(costs));
    wins.last().map_or(0, |(bytes, _)| bytes + 1)
}

/// The same for what follows a page, and hybrid.
fn threshold2(table: &CostTable) -> u32 {
    let beyond = table.rows.iter().filter(|(bytes, _)| *bytes > HYBRID_PAGE_BYTES);
    let wins = beyond.take_while(|(_, costs)| is_less(costs, Method::Hybrid));
    wins.last().map_or(0, |(bytes, _)| bytes - HYBRID_PAGE_BYTES + 1)
}

fn is_less(costs: &[Option<u64>; 6], method: Method) -> bool {
    let prp = costs[Method::Prp.index()];
    costs[method.index()].is_some_and(|cost| prp.is_none_or(|prp| cost < prp))
}
