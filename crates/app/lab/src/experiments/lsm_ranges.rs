//! Ranges and tails of the LSM tree, pinned or with filters, beside the hash store: one table. No paper has it.

use crate::context::{Context, Outcome};
use crate::error::LabError;
use crate::judge::Part;
use crate::report::Point;
use crate::rig::Serial;
use saker_assembly::Build;
use saker_device::Settings;
use saker_engine::EngineKind;
use saker_host::KeyRange;
use saker_nvme::Key;
use saker_sim::{Rng, Seed};
use saker_workload::Permutation;
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
    disk: Serial,
    rng: Rng,
}

impl Table {
    fn open(cx: &Context<'_>, plan: &Parameters, store: &'static str) -> Result<Self, LabError> {
        let kind = if store == "hash_store" { EngineKind::HASH_STORE } else { EngineKind::LSM };
        let profile = cx.profile()?;
        let mut build = Build::kv(&profile, FLASH_BYTES, cx.seed)?.with_engine(kind);
        build.ask(&tuning(plan, store, cx.settings_of(EngineKind::LSM)?));
        let rng = Seed(cx.seed).child("lsm-ranges").rng();
        let mut it = Self { store, flash: profile.name, plan: plan.clone(), disk: Serial::of(build)?, rng };
        let order = Permutation::new(Seed(cx.seed).child("order").0, plan.pairs);
        for n in 0..plan.pairs {
            it.put(order.map(n))?;
        }
        Ok(it)
    }

    fn put(&mut self, number: u64) -> Result<(), LabError> {
        let mut value = vec![0; self.plan.value_bytes as usize];
        self.rng.fill(&mut value);
        Ok(self.disk.client.put(&key(number)?, &value)?)
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
        let memory = self.disk.client.driver_mut().0.stats().namespaces[0].memory;
        let memory_bytes = (memory.index_bytes + memory.directory_bytes + memory.segment_bytes) as f64;
        Ok(Row { store: self.store, flash: self.flash, gets, puts, ranges, pages_read_per_get, memory_bytes })
    }

    fn pages_read(&mut self) -> u64 {
        self.disk.client.driver_mut().0.stats().flash.pages_read
    }

    fn get(&mut self, number: u64) -> Result<(), LabError> {
        let found = self.disk.client.get(&key(number)?)?;
        found.map(drop).ok_or_else(|| LabError::Missing("a pair that was stored".into()))
    }

    /// Pairs that a range from a number on has.
    fn wanted(&self, number: u64) -> u64 {
        u64::from(self.plan.range_pairs).min(self.plan.pairs - number)
    }

    fn range(&mut self, number: u64) -> Result<(), LabError> {
        let (first, wanted) = (key(number)?, self.wanted(number));
        let range = KeyRange { from: first.as_bytes(), ..KeyRange::default() };
        let client = &mut self.disk.client;
        let missing = || LabError::Missing("an iterator of the device".into());
        let mut iterator = client.open_iterator(&range, false, None)?.ok_or_else(missing)?;
        let mut seen = 0;
        while seen < wanted {
            let batch = client.next_pairs(&mut iterator, (wanted - seen) as u32, false, None)?;
            seen += batch.pairs().len() as u64;
            if batch.is_last() && seen < wanted {
                return Err(LabError::Missing("pairs of a range".into()));
            }
        }
        Ok(client.close_iterator(iterator)?)
    }

    /// Without ranges in the device: every key is listed, and what is wanted is read.
    fn listed_range(&mut self, number: u64) -> Result<(), LabError> {
        let (first, wanted) = (key(number)?, self.wanted(number));
        let mut keys = Vec::new();
        for listed in self.disk.client.list(None) {
            let listed = listed?;
            if listed.as_bytes() >= first.as_bytes() {
                keys.push(listed);
            }
        }
        keys.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
        for k in keys.iter().take(wanted as usize) {
            self.disk.client.get(k)?;
        }
        Ok(())
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
fn key(number: u64) -> Result<Key, LabError> {
    let bytes = [number.to_be_bytes(), *b"saker-00"].concat();
    Key::new(&bytes).map_err(|_| LabError::Missing("a key".into()))
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
