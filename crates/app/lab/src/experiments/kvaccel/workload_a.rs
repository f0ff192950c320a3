// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Workload A, which most claims are about: one run a system and a number of threads, whichever experiment asks first.

use super::systems::{Setup, System};
use super::{complete, writes};
use crate::error::LabError;
use crate::shared_runs::Made;
use std::sync::Arc;

impl Setup<'_> {
    /// Runs what nobody has run yet and nobody runs now. Experiments that ask for the same runs so share the work.
    pub fn writes_ahead(&self, operations: u64, asked: &[(System, u32)]) -> Result<(), LabError> {
        asked.iter().try_for_each(|(system, threads)| {
            let key = self.key(operations, *system, *threads);
            self.cx.runs.ahead(&key, || self.write(operations, *system, *threads))
        })
    }

    /// So many random writes by one thread.
    pub fn writes(&self, operations: u64, system: System, threads: u32) -> Result<Arc<Made>, LabError> {
        let key = self.key(operations, system, threads);
        self.cx.runs.of(&key, || self.write(operations, system, threads))
    }

    fn write(&self, operations: u64, system: System, threads: u32) -> Result<Made, LabError> {
        self.cx.note(format!("{} with {threads} threads", system.name()));
        let ran = system.run(self, threads, &[writes(self.cx, operations, self.plan.value_bytes)])?;
        let changes = ran.changes;
        Ok(Made { result: complete(ran.results, &system.name())?.swap_remove(0), changes })
    }

    /// Everything that a run depends on.
    fn key(&self, operations: u64, system: System, threads: u32) -> String {
        let Setup { cx, plan, factor, block_cache_bytes } = self;
        let (value, flash, profile) = (plan.value_bytes, plan.flash_bytes, &cx.plan.profiles[0]);
        let what = (system, threads, operations, value, flash, factor, block_cache_bytes);
        format!("{what:?} {} {profile} {:?}", cx.seed, cx.settings.profile)
    }
}
