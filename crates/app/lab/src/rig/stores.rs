//! Stores of a workload by one transfer policy: what most of the experiments measure.

use crate::error::LabError;
use crate::rig::complete;
use saker_host::{Pacing, TransferOptions, TransferPolicy};
use saker_sim::profile::Profile;
use saker_workload::{Suite, SuiteOptions};
use saker_world::{Build, Job, RunResult, Side, run_disk_kv};

/// One run: a workload and how its values go.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload.
    pub suite: Suite,
    /// Value size where the workload has one.
    pub value_bytes: u32,
    /// Who chooses the method.
    pub policy: TransferPolicy,
    /// One command at a time, or all of a value at once.
    pub pacing: Pacing,
    /// Whether pages are programmed.
    pub nand: bool,
}

/// A finished run.
#[derive(Debug)]
pub struct Stored {
    /// The sizes of its values, for counts that do not come from the device.
    pub sizes: Vec<u32>,
    /// What was measured.
    pub result: RunResult,
    /// The device.
    pub build: Build,
}

/// Least flash of a run.
const FLASH_BYTES_MIN: u64 = 1 << 30;
/// Bytes of a record beside its value, generously.
const RECORD_BYTES: u64 = 128;

/// Runs `operations` stores, one at a time from one thread, as the papers' benchmark does.
///
/// # Errors
/// [`LabError`], also when a store was refused.
pub fn stores(profile: &Profile, seed: u64, operations: u64, cell: &Cell) -> Result<Stored, LabError> {
    let options = SuiteOptions { operations, value_bytes: cell.value_bytes, key_bytes: None, seed };
    let plan = cell.suite.plan(&options)?;
    let (keys, values) = (plan.key_space()?, plan.value_source());
    let mut sizes = Vec::new();
    let mut put = |operation: saker_workload::Operation| {
        let mut value = vec![0; operation.size as usize];
        values.fill(operation.key, operation.version, &mut value);
        sizes.push(operation.size);
        Side::Put(keys.key(operation.key), value)
    };
    let operations: Vec<Side> = plan.operations()?.map(&mut put).collect();
    let bytes: u64 = sizes.iter().map(|size| u64::from(*size) + RECORD_BYTES).sum();
    let mut build = Build::kv(profile, (bytes * 3).max(FLASH_BYTES_MIN), seed)?;
    build.nand = cell.nand;
    let transfer = TransferOptions { policy: cell.policy.clone(), pacing: cell.pacing };
    let job = Job { threads: 1, depth: 1, operations, flush: false, transfer };
    let result = complete(run_disk_kv(&build, &[job])?.remove(0), cell.suite.name())?;
    Ok(Stored { sizes, result, build })
}

impl Stored {
    /// Bytes of values.
    pub fn value_bytes(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }
}
