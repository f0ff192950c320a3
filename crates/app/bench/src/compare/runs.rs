// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A store in every timing.

use super::Timing;
use crate::clock::{Cpus, How, run_real};
use saker::url::Timing as RealTiming;
use saker_assembly::Build;
use saker_host::HostError;
use saker_world::{Job, RunResult, StoreKind, run_virtual};

/// Runs stores in one timing; adds up how far devices lag behind the clock.
pub(super) struct Runs<'p> {
    pub timing: Timing,
    pub cpus: &'p Cpus,
    /// The device's events, and those that came late.
    pub lag: (u64, u64),
}

impl Runs<'_> {
    pub fn run(&mut self, kind: StoreKind, build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
        let timing = match self.timing {
            Timing::Virtual => return run_virtual(kind, build, jobs),
            Timing::Real => RealTiming::Real,
            Timing::Off => RealTiming::Off,
        };
        let run = run_real(kind, build, How { timing, cpus: self.cpus.clone() }, jobs)?;
        self.lag = (self.lag.0 + run.events, self.lag.1 + run.late);
        Ok(run.results)
    }
}
