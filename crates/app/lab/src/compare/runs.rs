//! The systems, each in every timing.

use super::Timing;
use saker_assembly::Build;
use saker_host::HostError;
use saker_realtime::bench::{
    Cpus, How, RealRun, run_disk_groups_real, run_disk_kv_real, run_host_kv_real, run_saker_real,
};
use saker_realtime::url::Timing as RealTiming;
use saker_world::{Job, RunResult, run_disk_groups, run_disk_kv, run_host_kv, run_saker};

/// Runs systems in one timing; adds up how far devices lag behind the clock.
pub(super) struct Runs<'p> {
    pub timing: Timing,
    pub cpus: &'p Cpus,
    /// The device's events, and those that came late.
    pub lag: (u64, u64),
}

type Ran = Result<Vec<RunResult>, HostError>;

impl Runs<'_> {
    fn how(&self) -> How {
        let timing = if self.timing == Timing::Real { RealTiming::Real } else { RealTiming::Off };
        How { timing, cpus: self.cpus.clone() }
    }

    fn note(&mut self, run: RealRun) -> Vec<RunResult> {
        self.lag = (self.lag.0 + run.events, self.lag.1 + run.late);
        run.results
    }

    pub fn host_kv(&mut self, build: &Build, jobs: &[Job]) -> Ran {
        match self.timing {
            Timing::Virtual => run_host_kv(build, jobs),
            _ => run_host_kv_real(build, self.how(), jobs).map(|run| self.note(run)),
        }
    }

    pub fn disk_kv(&mut self, build: &Build, jobs: &[Job]) -> Ran {
        match self.timing {
            Timing::Virtual => run_disk_kv(build, jobs),
            _ => run_disk_kv_real(build, self.how(), jobs).map(|run| self.note(run)),
        }
    }

    pub fn groups(&mut self, build: &Build, jobs: &[Job], operations: usize) -> Ran {
        match self.timing {
            Timing::Virtual => run_disk_groups(build, jobs, operations),
            _ => run_disk_groups_real(build, self.how(), jobs, operations).map(|run| self.note(run)),
        }
    }

    pub fn saker(&mut self, build: &Build, jobs: &[Job], batch: u16) -> Ran {
        match self.timing {
            Timing::Virtual => run_saker(build, jobs, batch),
            _ => run_saker_real(build, self.how(), jobs, batch).map(|run| self.note(run)),
        }
    }
}
