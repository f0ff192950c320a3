// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a store came to.

use super::jobs::{PHASES, Phase};
use crate::error::LabError;
use crate::report::Point;
use crate::rig;
use saker_assembly::Build;
use saker_world::{Job, RunResult, StoreKind, run_virtual};
use serde_json::json;

const QUANTILES: [(&str, f64); 3] = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)];

/// A store with its phases.
pub struct Row {
    /// Its name.
    pub store: String,
    /// Entries of its cached mapping table, if it has one.
    pub entries: u64,
    block_bytes: f64,
    phases: Vec<(Phase, RunResult)>,
}

impl Row {
    /// Runs the jobs, of which the first one fills it.
    pub fn of(
        store: &str,
        entries: u64,
        kind: StoreKind,
        build: &Build,
        jobs: &[Job],
    ) -> Result<Self, LabError> {
        let results = run_virtual(kind, build, jobs)?;
        let results = results.into_iter().map(|result| rig::complete(result, store)).skip(1);
        let results = results.collect::<Result<Vec<_>, _>>()?;
        let block_bytes = f64::from(build.shape.geometry.page_bytes);
        let phases = PHASES.into_iter().zip(results).collect();
        Ok(Self { store: store.to_owned(), entries, block_bytes, phases })
    }

    /// A phase that counts.
    pub fn ran(&self, name: &str, keys: &str) -> Ran<'_> {
        let found = self.phases.iter().find(|(phase, _)| (phase.name, phase.keys) == (name, keys));
        Ran { result: &found.expect("a phase of that name").1, block_bytes: self.block_bytes }
    }

    /// Modelled memory of the device at the end.
    pub fn memory_bytes(&self) -> f64 {
        self.phases.last().map_or(f64::NAN, |(_, result)| result.device.memory_bytes as f64)
    }

    /// A point for each phase that counts.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        let told = self.phases.iter().filter(|(phase, _)| phase.counts);
        told.map(|(phase, _)| {
            let place =
                [("store", json!(self.store)), ("phase", json!(phase.name)), ("keys", json!(phase.keys))];
            let mut point = Point::at(place);
            self.ran(phase.name, phase.keys).add_to(&mut point);
            point.add("memory_bytes", self.memory_bytes());
            point.add("table_entries", self.entries as f64);
            point
        })
    }
}

/// What a phase came to.
#[derive(Clone, Copy)]
pub struct Ran<'a> {
    /// Times and counts.
    pub result: &'a RunResult,
    block_bytes: f64,
}

impl Ran<'_> {
    /// A count of the device for each operation.
    pub fn per_operation(self, name: &str) -> f64 {
        self.each(self.result.device.count(name))
    }

    fn each(self, count: u64) -> f64 {
        count as f64 / self.result.operations.max(1) as f64
    }

    /// Pages of flash read for each operation.
    pub fn pages_read(self) -> f64 {
        self.each(self.result.device.flash_pages_read)
    }

    /// Pages of flash programmed for each operation.
    pub fn pages_programmed(self) -> f64 {
        self.each(self.result.nand_pages)
    }

    /// Blocks that were looked up for each operation.
    pub fn blocks(self) -> f64 {
        self.per_operation("hits") + self.per_operation("misses")
    }

    /// Blocks that were mapped at the end.
    pub fn mapped(self) -> f64 {
        self.result.device.live_bytes as f64 / self.block_bytes
    }

    /// A quantile of gets, in microseconds.
    pub fn get_us(self, quantile: f64) -> f64 {
        self.result.get_latency.value_at_quantile(quantile) as f64 / 1e3
    }

    fn add_to(self, point: &mut Point) {
        point.add("kops", self.result.rate() / 1e3);
        point.add("flash_pages_read_per_operation", self.pages_read());
        point.add("flash_pages_programmed_per_operation", self.pages_programmed());
        for name in ["hits", "misses", "translation_reads", "translation_writes", "translation_copies"] {
            point.add(&format!("{name}_per_operation"), self.per_operation(name));
        }
        if !self.result.get_latency.is_empty() {
            let times = QUANTILES.map(|(name, quantile)| (format!("get_us_{name}"), self.get_us(quantile)));
            times.into_iter().for_each(|(name, us)| point.add(&name, us));
        }
        if self.result.user_bytes > 0 {
            point.add("write_amplification", self.result.write_amplification());
        }
    }
}
