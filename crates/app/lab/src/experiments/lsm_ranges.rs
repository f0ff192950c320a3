// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ranges and tails of the LSM tree, pinned or with filters, beside the hash store: one table. No paper has it.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig;
use saker_assembly::Build;
use saker_device::Settings;
use saker_engine::EngineKind;
use saker_sim::{Rng, Seed};
use saker_workload::Permutation;
use saker_world::{Alone, Clocked, DiskStore, Op, Outcome as Answer};
use serde::Deserialize;
use serde_json::json;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    pairs: u64,
    value_bytes: u32,
    range_pairs: u32,
    write_buffer_bytes: u64,
    level_base_bytes: u64,
    pinned_levels: u64,
    listed_ranges: u32,
}

/// The stores of the table.
const STORES: [&str; 3] = ["lsm", "lsm-pinned", "hash_store"];
const PAIRS_MIN: u64 = 2_000;
const FLASH_BYTES: u64 = 1 << 30;

/// Runs lsm-ranges.
pub fn run(cx: &Context<'_>) -> Result<Outcome, LabError> {
    let mut plan: Parameters = cx.plan.parameters();
    plan.pairs = (plan.pairs / u64::from(cx.scale.max(1))).max(PAIRS_MIN);
    let mut rows = Vec::new();
    for store in STORES {
        cx.note(store);
        rows.push(Table::open(cx, &plan, store)?.run(cx.operations(400))?);
    }
    let [filtered, pinned, hashed] = [&rows[0], &rows[1], &rows[2]];
    let ratio = |what: &str, a: &Row, b: &Row, of: fn(&Row) -> f64, most: f64| {
        let ratio = of(a) / of(b);
        Part::new(format!("{what}: {} over {}", a.store, b.store), ratio, ratio < most)
    };
    let mut book = cx.book();
    let ranges = [
        ratio("mean range", filtered, hashed, |r| mean(&r.ranges), 1.0),
        ratio("mean range", pinned, hashed, |r| mean(&r.ranges), 1.0),
    ];
    book.order("AC-lsm-ranges-1", &ranges, "");
    let gets = [
        ratio("mean get", pinned, filtered, |r| mean(&r.gets), 1.0),
        ratio("p99.9 of gets", pinned, filtered, |r| quantile(&r.gets, 0.999), 1.0),
    ];
    book.order("AC-lsm-ranges-2", &gets, format!("{}; {}.", filtered.reads(), pinned.reads()));
    let hash = mean(&hashed.gets) / mean(&filtered.gets);
    book.order("AC-lsm-ranges-3", &[Part::within("mean get: hash_store over lsm", hash, 0.0, 1.0)], "");
    let memory = pinned.memory_bytes / filtered.memory_bytes;
    book.order("AC-lsm-ranges-4", &[Part::new("memory: lsm-pinned over lsm", memory, memory > 1.0)], "");
    Ok(Outcome { checks: book.finish(), series: rows.iter().map(Row::point).collect() })
}

/// What a store came to; times in microseconds, rising.
struct Row {
    store: &'static str,
    /// The profile whose flash it is on.
    flash: String,
    gets: Vec<f64>,
    puts: Vec<f64>,
    ranges: Vec<f64>,
    pages_read_per_get: f64,
    memory_bytes: f64,
}

impl Row {
    fn reads(&self) -> String {
        format!("{} reads {:.2} pages of flash an operation", self.store, self.pages_read_per_get)
    }

    fn point(&self) -> Point {
        let mut point = Point::at([("store", json!(self.store)), ("flash", json!(self.flash))]);
        for (name, times) in [("get", &self.gets), ("put", &self.puts), ("range", &self.ranges)] {
            point.add(&format!("{name}_us_mean"), mean(times));
            point.add(&format!("{name}_us_p99"), quantile(times, 0.99));
            point.add(&format!("{name}_us_p999"), quantile(times, 0.999));
        }
        point.add("flash_pages_read_per_operation", self.pages_read_per_get);
        point.add("memory_bytes", self.memory_bytes);
        point
    }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / times.len().max(1) as f64
}

/// Of rising times.
fn quantile(times: &[f64], q: f64) -> f64 {
    let at = (times.len() as f64 * q).ceil() as usize;
    times.get(at.clamp(1, times.len().max(1)) - 1).copied().unwrap_or(f64::NAN)
}

/// A device with its pairs.
struct Table {
    store: &'static str,
    flash: String,
    plan: Parameters,
    disk: Alone<DiskStore<Clocked>>,
    rng: Rng,
}

impl Table {
    fn open(cx: &Context<'_>, plan: &Parameters, store: &'static str) -> Result<Self, LabError> {
        let kind = if store == "hash_store" { EngineKind::HASH_STORE } else { EngineKind::LSM };
        let profile = cx.profile()?;
        let mut build = Build::kv(&profile, FLASH_BYTES, cx.seed)?.with_engine(kind);
        build.ask(&tuning(plan, store, cx.settings_of(EngineKind::LSM)?));
        let rng = Seed(cx.seed).child("lsm-ranges").rng();
        let disk = Alone::new(DiskStore::timed(&build, &[rig::job(1, 1, Vec::new())], None)?)?;
        let mut it = Self { store, flash: profile.name, plan: plan.clone(), disk, rng };
        let order = Permutation::new(Seed(cx.seed).child("order").0, plan.pairs);
        for n in 0..plan.pairs {
            it.put(order.map(n))?;
        }
        Ok(it)
    }

    fn put(&mut self, number: u64) -> Result<(), LabError> {
        let mut value = vec![0; self.plan.value_bytes as usize];
        self.rng.fill(&mut value);
        self.found(&Op::Put(key(number), value)).map(drop)
    }

    /// Carries an operation out; the keys that it found. What fails is an error, and so is a pair that is not there.
    fn found(&mut self, op: &Op) -> Result<Vec<Vec<u8>>, LabError> {
        let found = self.disk.carry_out(op, |answer| match answer {
            Answer::Absent => Err(LabError::Missing("a pair that was stored".into())),
            Answer::Failed(failure) => Err(failure.into()),
            answer => Ok(answer.pairs().into_iter().map(|(key, _)| key.to_vec()).collect()),
        });
        found??
    }

    /// The time of some work in microseconds.
    fn timed(&mut self, work: impl FnOnce(&mut Self) -> Result<(), LabError>) -> Result<f64, LabError> {
        let begun = self.disk.now();
        work(self)?;
        Ok(self.disk.now().since(begun).as_nanos() as f64 / 1e3)
    }

    fn run(mut self, operations: u64) -> Result<Row, LabError> {
        let (mut gets, mut puts, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        let before = self.pages_read();
        for _ in 0..operations {
            let number = self.rng.below(self.plan.pairs);
            match self.rng.below(100) {
                0..50 => gets.push(self.timed(|t| t.get(number))?),
                50..95 => puts.push(self.timed(|t| t.put(number))?),
                _ if self.store == "hash_store" => {}
                _ => ranges.push(self.timed(|t| t.range(number))?),
            }
        }
        let pages_read_per_get = (self.pages_read() - before) as f64 / operations.max(1) as f64;
        if self.store == "hash_store" {
            for _ in 0..self.plan.listed_ranges {
                let number = self.rng.below(self.plan.pairs);
                ranges.push(self.timed(|t| t.listed_range(number))?);
            }
        }
        [&mut gets, &mut puts, &mut ranges].into_iter().for_each(|times| times.sort_by(f64::total_cmp));
        let memory = self.disk.device_stats().namespaces[0].memory;
        let memory_bytes = (memory.index_bytes + memory.directory_bytes + memory.segment_bytes) as f64;
        Ok(Row { store: self.store, flash: self.flash, gets, puts, ranges, pages_read_per_get, memory_bytes })
    }

    fn pages_read(&mut self) -> u64 {
        self.disk.device_stats().flash.pages_read
    }

    fn get(&mut self, number: u64) -> Result<(), LabError> {
        self.found(&Op::Get(key(number))).map(drop)
    }

    /// Pairs that a range from a number on has.
    fn wanted(&self, number: u64) -> u64 {
        u64::from(self.plan.range_pairs).min(self.plan.pairs - number)
    }

    fn range(&mut self, number: u64) -> Result<(), LabError> {
        let wanted = self.wanted(number);
        let found = self.found(&Op::Scan { from: key(number), entries: wanted as u32, snapshot: None })?;
        if found.len() as u64 == wanted { Ok(()) } else { Err(LabError::Missing("pairs of a range".into())) }
    }

    /// Without ranges in the device: every key is listed, and what is wanted is read.
    fn listed_range(&mut self, number: u64) -> Result<(), LabError> {
        let (first, wanted) = (key(number), self.wanted(number));
        let mut keys = self.found(&Op::List { from: Vec::new(), entries: u32::MAX, values: false })?;
        keys.retain(|key| *key >= first);
        keys.sort();
        keys.into_iter().take(wanted as usize).try_for_each(|key| self.found(&Op::Get(key)).map(drop))
    }
}

/// The plan's settings, but for what was asked for.
fn tuning(plan: &Parameters, store: &str, asked: Settings) -> Settings {
    let mut own = vec![
        ("write_buffer_size", plan.write_buffer_bytes),
        ("max_bytes_for_level_base", plan.level_base_bytes),
    ];
    if store == "lsm-pinned" {
        own.push(("pinned_levels", plan.pinned_levels));
    }
    asked.over(&Settings::told(&own))
}

/// 16 bytes in the order of numbers.
fn key(number: u64) -> Vec<u8> {
    [number.to_be_bytes(), *b"saker-00"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_few_times() {
        let times: Vec<f64> = (1..=1000).map(f64::from).collect();
        assert_eq!(
            (quantile(&times, 0.999), quantile(&times, 0.5), quantile(&times, 1.0)),
            (999.0, 500.0, 1000.0)
        );
        assert!(quantile(&[], 0.5).is_nan());
        assert_eq!(mean(&[1.0, 3.0]), 2.0);
    }
}
