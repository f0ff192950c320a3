// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why reads of TPC-C miss a cache: workload and cache alone, without a store, a device or time.

use saker_workload::tpcc::{Row, Step, Table, Transaction};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What a read meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Meets {
    Hit,
    /// Never read before: only reads enter values.
    First,
    /// It was in the cache and had to leave for others.
    Evicted,
}

/// Least recently used, of a number of bytes.
#[derive(Clone, Debug)]
pub(super) struct Lru {
    bytes_max: u64,
    /// Bytes that an entry counts beside its value.
    entry_bytes: u64,
    /// Whether writes enter values, too.
    writes_enter: bool,
    bytes: u64,
    clock: u64,
    entries: BTreeMap<u64, (u64, u64)>,
    by_age: BTreeMap<u64, u64>,
    known: BTreeSet<u64>,
}

impl Lru {
    pub fn new(bytes_max: u64, entry_bytes: u64, writes_enter: bool) -> Self {
        Self {
            bytes_max,
            entry_bytes,
            writes_enter,
            bytes: 0,
            clock: 0,
            entries: BTreeMap::new(),
            by_age: BTreeMap::new(),
            known: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: &Step) -> Option<Meets> {
        match step {
            Step::Read(row) => Some(self.read(row)),
            // Otherwise an entry keeps its place, and a row its length.
            Step::Write(row) => {
                if self.writes_enter {
                    self.enter(row);
                }
                None
            }
        }
    }

    fn read(&mut self, row: &Row) -> Meets {
        let meets = match (self.entries.contains_key(&row.key), self.known.contains(&row.key)) {
            (true, _) => Meets::Hit,
            (false, true) => Meets::Evicted,
            (false, false) => Meets::First,
        };
        self.enter(row);
        meets
    }

    /// The row becomes the youngest.
    fn enter(&mut self, row: &Row) {
        self.known.insert(row.key);
        self.leave(row.key);
        self.clock += 1;
        let bytes = u64::from(row.value_bytes()) + self.entry_bytes;
        self.entries.insert(row.key, (self.clock, bytes));
        self.by_age.insert(self.clock, row.key);
        self.bytes += bytes;
        while self.bytes > self.bytes_max
            && let Some(key) = self.by_age.first_key_value().map(|(_, key)| *key)
        {
            self.leave(key);
        }
    }

    fn leave(&mut self, key: u64) {
        if let Some((age, bytes)) = self.entries.remove(&key) {
            self.by_age.remove(&age);
            self.bytes -= bytes;
        }
    }
}

/// Reads by table and what they met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Misses(BTreeMap<(Meets, Table), u64>);

impl Misses {
    /// Plays the first `warm` transactions without counting, then the others.
    pub fn of(mut cache: Lru, transactions: impl Iterator<Item = Transaction>, warm: usize) -> Self {
        let mut all = Self::default();
        for (n, transaction) in transactions.enumerate() {
            for step in &transaction.steps {
                let meets = cache.step(step);
                if let (Step::Read(row), Some(meets)) = (step, meets)
                    && n >= warm
                {
                    *all.0.entry((meets, row.table)).or_default() += 1;
                }
            }
        }
        all
    }

    /// Of a hundred reads.
    pub fn share(&self, meets: Meets) -> f64 {
        let of =
            |wanted: Meets| self.0.iter().filter(|((m, _), _)| *m == wanted).map(|(_, n)| *n).sum::<u64>();
        100.0 * of(meets) as f64 / self.0.values().sum::<u64>().max(1) as f64
    }

    /// The misses of a hundred reads, by what they met and by table.
    pub fn describe(&self) -> String {
        let reads = self.0.values().sum::<u64>().max(1) as f64;
        let mut tables: BTreeMap<Table, u64> = BTreeMap::new();
        let missed = self.0.iter().filter(|((meets, _), _)| *meets != Meets::Hit);
        missed.for_each(|((_, table), n)| *tables.entry(*table).or_default() += n);
        let mut tables: Vec<_> = tables.into_iter().collect();
        tables.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let mut text = format!(
            "of 100 reads {:.1} miss, {:.1} because the row was never read before, {:.1} because it had left for others (",
            100.0 - self.share(Meets::Hit),
            self.share(Meets::First),
            self.share(Meets::Evicted),
        );
        for (n, (table, count)) in tables.iter().take(3).enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            let _ = write!(text, "{comma}{table:?} {:.1}", 100.0 * *count as f64 / reads);
        }
        text + ")"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_host::{CacheOptions, ReadCache};
    use saker_nvme::Key;
    use saker_sim::Free;
    use saker_workload::tpcc::{Lines, Tpcc};

    const TPCC: Tpcc = Tpcc { warehouses: 2, items: 300, customers: 30, lines: Lines::OrderLine, seed: 3 };

    /// The model has as many hits as the cache itself, in one part.
    #[test]
    fn the_model_is_the_read_cache() {
        let bytes = 100_000;
        let model = Misses::of(Lru::new(bytes, 128, false), TPCC.transactions().take(500), 200);
        let cache = ReadCache::new(CacheOptions::sized(bytes as usize)).expect("has bytes");
        let mut before = cache.stats();
        for (n, transaction) in TPCC.transactions().take(500).enumerate() {
            if n == 200 {
                before = cache.stats();
            }
            for step in transaction.steps {
                let (Step::Read(row) | Step::Write(row)) = step;
                let (key, value) = (Key::new(&row.key_bytes()).unwrap(), vec![1; row.value_bytes() as usize]);
                match step {
                    Step::Write(_) => cache.update(&key, Some(&value), &mut Free),
                    Step::Read(_) => {
                        if cache.get(&key, &mut Free, |_| ()).is_none() {
                            cache.insert(&key, &value, &mut Free);
                        }
                    }
                }
            }
        }
        let ratio = 100.0 * cache.stats().since(&before).hit_ratio();
        assert!((model.share(Meets::Hit) - ratio).abs() < 1e-9, "{} {ratio}", model.share(Meets::Hit));
        assert!(ratio > 20.0 && ratio < 95.0, "{ratio}: some hit, some do not");
    }

    #[test]
    fn a_cache_for_everything_misses_what_was_never_read() {
        let all = Misses::of(Lru::new(u64::MAX, 128, false), TPCC.transactions().take(300), 0);
        assert_eq!(all.share(Meets::Evicted), 0.0);
        let mut read = BTreeSet::new();
        let steps = TPCC.transactions().take(300).flat_map(|t| t.steps);
        let rows: Vec<u64> =
            steps.filter_map(|s| if let Step::Read(row) = s { Some(row.key) } else { None }).collect();
        let first = rows.iter().filter(|key| read.insert(**key)).count();
        let updated_first = 100.0 * first as f64 / rows.len() as f64;
        assert!((all.share(Meets::First) - updated_first).abs() < 1e-9);
        assert!(all.describe().contains("Stock"), "{}", all.describe());
    }
}
