// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One workload by one transfer policy: what most of the experiments measure.

use crate::error::LabError;
use crate::rig::complete;
use saker_assembly::Build;
use saker_host::{Method, Pacing, TransferOptions, TransferPolicy};
use saker_nvme::Key;
use saker_profile::Profile;
use saker_workload::{Operation, Plan, Suite, SuiteOptions};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

/// One run: a workload and how its values go.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The workload.
    pub suite: Suite,
    /// Value size where the workload has one.
    pub value_bytes: u32,
    /// Key size; otherwise the workload's own.
    pub key_bytes: Option<usize>,
    /// Who chooses the method.
    pub policy: TransferPolicy,
    /// One command at a time, or all of a value at once.
    pub pacing: Pacing,
    /// Whether pages are programmed.
    pub nand: bool,
    /// Application threads.
    pub threads: usize,
    /// Operations of each thread in flight.
    pub depth: u16,
    /// Whether the times of commands are collected.
    pub traces: bool,
}

impl Cell {
    /// Workload A by one method, one store at a time and each command awaited, without NAND: as BandSlim's section 4.2
    /// measures transfers.
    pub fn transfer(method: Method, value_bytes: u32) -> Self {
        Self {
            suite: Suite::A,
            value_bytes,
            key_bytes: None,
            policy: TransferPolicy::Fixed(method),
            pacing: Pacing::Passthrough,
            nand: false,
            threads: 1,
            depth: 1,
            traces: false,
        }
    }
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

/// Runs `operations` operations of a workload, after its preload.
///
/// # Errors
/// [`LabError`], also when an operation was refused.
pub fn stores(profile: &Profile, seed: u64, operations: u64, cell: &Cell) -> Result<Stored, LabError> {
    if matches!(cell.suite, Suite::YcsbD | Suite::YcsbE) {
        return Err(LabError::OnDeviceOnly(cell.suite.name()));
    }
    let options = SuiteOptions { operations, value_bytes: cell.value_bytes, key_bytes: cell.key_bytes, seed };
    let mut plan = cell.suite.plan(&options)?;
    if plan.mix.delete > 0 {
        return Err(LabError::OnDeviceOnly(cell.suite.name()));
    }
    // Of a long key the device sees a digest.
    plan.key_bytes = plan.key_bytes.min(Key::MAX_LEN);
    let mut build = Build::kv(profile, flash_bytes(&plan)?, seed)?;
    (build.nand, build.traces) = (cell.nand, cell.traces);
    let mut jobs = Vec::new();
    if cell.suite.needs_preload() {
        jobs.push(job(cell, sides(&plan.preload())?.0));
    }
    let (sides, sizes) = sides(&plan)?;
    jobs.push(job(cell, sides));
    let mut result = None;
    for done in run_virtual(StoreKind::Disk, &build, &jobs)? {
        result = Some(complete(done, cell.suite.name())?);
    }
    Ok(Stored { sizes, result: result.unwrap_or_default(), build })
}

fn job(cell: &Cell, operations: Vec<Op>) -> Job {
    let transfer =
        TransferOptions { policy: cell.policy.clone(), pacing: cell.pacing, ..TransferOptions::default() };
    Job { threads: cell.threads, depth: cell.depth, operations, flush: false, transfer }
}

/// Flash for the values of a plan and of its preload, with room to spare.
fn flash_bytes(plan: &Plan) -> Result<u64, LabError> {
    let sum = |plan: &Plan| -> Result<u64, LabError> {
        Ok(plan.operations()?.map(|o| u64::from(o.size) + RECORD_BYTES).sum())
    };
    Ok(((sum(plan)? + sum(&plan.preload())?) * 2).max(FLASH_BYTES_MIN))
}

/// The operations of a plan, and the sizes of the values they write.
fn sides(plan: &Plan) -> Result<(Vec<Op>, Vec<u32>), LabError> {
    let (keys, values) = (plan.key_space()?, plan.value_source());
    let mut sizes = Vec::new();
    let mut side = |operation: Operation| {
        let key = keys.key(operation.key);
        if !operation.kind.writes_value() {
            return Op::Get(key);
        }
        let mut value = vec![0; operation.size as usize];
        values.fill(operation.key, operation.version, &mut value);
        sizes.push(operation.size);
        Op::Put(key, value)
    };
    let all = plan.operations()?.map(&mut side).collect();
    Ok((all, sizes))
}

impl Stored {
    /// Whether every operation wrote a value.
    pub fn only_writes(&self) -> bool {
        self.result.operations > 0 && self.sizes.len() as u64 == self.result.operations
    }

    /// Bytes of values written.
    pub fn value_bytes(&self) -> u64 {
        self.sizes.iter().map(|size| u64::from(*size)).sum()
    }
}
