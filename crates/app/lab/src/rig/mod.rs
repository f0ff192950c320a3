// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What experiments run on: one device, one host, jobs, and what is measured of them.

mod cpu;
mod metrics;
mod serial;
mod stores;

use crate::error::LabError;
use saker_host::TransferOptions;
use saker_world::{Job, Op, RunResult};

pub use cpu::{add_cpu, cpu};
pub use metrics::add_metrics;
pub use serial::{DEPTH, Serial, Took, connect, queue};
pub use stores::{Cell, Stored, stores};

/// A job of these operations by PRPs. It ends with a Flush that counts: a scaled run would otherwise fit the buffers on
/// the way and never meet the media.
pub fn job(threads: usize, depth: u16, operations: Vec<Op>) -> Job {
    Job { threads, depth, operations, flush: true, transfer: TransferOptions::default() }
}

/// The result, if all of its operations succeeded.
///
/// # Errors
/// `Refused`.
pub fn complete(result: RunResult, place: &str) -> Result<RunResult, LabError> {
    if result.errors == 0 {
        return Ok(result);
    }
    Err(LabError::Refused { errors: result.errors, operations: result.operations, place: place.to_owned() })
}
