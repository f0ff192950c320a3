// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where threads run.

use saker::url::Timing;

/// Cores for threads. An empty list leaves them to the system.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpus {
    /// Application threads, one core each, dealt round.
    pub host: Vec<usize>,
    /// The device's thread.
    pub device: Vec<usize>,
}

/// How a comparison runs: on which clock, and where.
#[derive(Clone, Debug)]
pub struct How {
    /// The clock.
    pub timing: Timing,
    /// The cores.
    pub cpus: Cpus,
}

impl From<Timing> for How {
    fn from(timing: Timing) -> Self {
        Self { timing, cpus: Cpus::default() }
    }
}

impl Cpus {
    /// Puts application thread `n`, which is the caller, on its core.
    pub(super) fn pin_host(&self, n: usize) {
        if !self.host.is_empty() {
            pin(&[self.host[n % self.host.len()]]);
        }
    }
}

/// Puts the calling thread on these cores, unless none is named. Where threads run changes speed only: without them it stays where it is.
pub(super) fn pin(cpus: &[usize]) {
    if !cpus.is_empty() {
        let _ = saker_runtime::cpus::pin(cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity};

    #[test]
    fn a_thread_runs_where_it_is_put_and_a_core_that_is_not_there_changes_nothing() {
        let before = sched_getaffinity(None).expect("the system tells");
        let mine = (0..CpuSet::MAX_CPU).find(|cpu| before.is_set(*cpu)).expect("this thread runs somewhere");
        std::thread::spawn(move || {
            Cpus { host: vec![mine], device: Vec::new() }.pin_host(3);
            let now = sched_getaffinity(None).expect("the system tells");
            assert!(now.count() == 1 && now.is_set(mine));
            for cpus in [&[][..], &[CpuSet::MAX_CPU + 1]] {
                pin(cpus);
                assert!(sched_getaffinity(None).expect("the system tells").is_set(mine));
            }
        })
        .join()
        .expect("no panic");
    }
}
