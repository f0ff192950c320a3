//! What experiments run on: one device, one host, jobs.

use crate::error::LabError;
use saker_host::TransferOptions;
use saker_world::{Job, RunResult, Side};

/// A job of these operations, without a Flush at its end.
pub fn job(threads: usize, depth: u16, operations: Vec<Side>) -> Job {
    Job { threads, depth, operations, flush: false, transfer: TransferOptions::default() }
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
