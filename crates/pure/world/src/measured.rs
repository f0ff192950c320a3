// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a driver asks of a store so that a job can be measured.

use crate::result::{Job, RunResult};
use saker_store::KvStore;

/// A store over a device in virtual time, which can be measured.
pub(crate) trait Measured: KvStore {
    /// A job begins: everything counts from here.
    fn begin(&mut self, lanes: &mut [Self::Lane], job: &Job);

    /// A Flush that a job ended with is over.
    fn flushed(&mut self) {}

    /// What was counted since the job began.
    fn finish(&mut self, lanes: &mut [Self::Lane], result: &mut RunResult);

    /// Bytes that have crossed the link since the device was made, by the rule `protocol`; `None`: it is not asked in between.
    fn link_bytes(&mut self) -> Option<u64> {
        None
    }

    /// The device's digest of what can be observed of it.
    fn digest(&self) -> u64;
}
