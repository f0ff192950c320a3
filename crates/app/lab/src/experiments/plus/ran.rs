// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a workload came to: times, and what was counted meanwhile.

use saker_device::Stats;
use saker_flash::FlashStats;
use saker_world::RunResult;

/// What a workload came to.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its name and the distribution of its keys.
    pub workload: &'static str,
    /// `uniform`, `zipfian` or `latest`.
    pub keys: &'static str,
    /// Times and counts.
    pub result: RunResult,
    /// Operations that wrote a value.
    pub updates: u64,
    /// What the FTL counted meanwhile, by name.
    pub counters: Vec<(&'static str, f64)>,
    /// The same at the end.
    pub now: Vec<(&'static str, f64)>,
}

/// A count by its name; 0 if there is none.
pub fn named(counters: &[(&'static str, f64)], name: &str) -> f64 {
    counters.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, count)| *count)
}

impl Ran {
    /// Of what the FTL counted meanwhile.
    pub fn count(&self, name: &str) -> f64 {
        named(&self.counters, name)
    }

    /// The same for each operation.
    pub fn per_operation(&self, name: &str) -> f64 {
        self.count(name) / self.result.operations.max(1) as f64
    }

    /// What the FTL has at the end, such as memory.
    pub fn at_end(&self, name: &str) -> f64 {
        named(&self.now, name)
    }
}

/// What the FTL counts, its memory, and pages as the flash counts them.
pub fn counters(snapshot: Stats) -> Vec<(&'static str, f64)> {
    let namespace = snapshot.namespaces.into_iter().next();
    let memory_bytes = namespace.as_ref().map_or(0, |n| n.memory.total());
    let mut all: Vec<_> = namespace.map(|n| n.counters).unwrap_or_default();
    let FlashStats { pages_programmed, pages_read, .. } = snapshot.flash;
    all.extend([
        ("pages_programmed", pages_programmed),
        ("flash_pages_read", pages_read),
        ("memory_bytes", memory_bytes),
    ]);
    all.into_iter().map(|(name, n)| (name, n as f64)).collect()
}
