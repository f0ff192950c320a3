// SPDX-License-Identifier: Apache-2.0 OR MIT
//! ADOC (FAST'23): a tuner that changes the size of memtables and the number of threads as data flow, by the rules of its public code:
//! supermt/FEAT_7.11, `utilities/DOTA/DOTA_tuner.cc` (638efca; `FEAT_Tuner`, both parts on), `include/rocksdb/utilities/DOTA_tuner.h`
//! (65e7662) and `db/flush_job.cc`.
//!
//! Once a period it looks, if a flush has ended since it looked last. The first such look only begins. Later rules win:
//!
//! | what it sees | threads | memtable |
//! |---|---|---|
//! | a memtable waits for its flush, or several | 2 more | |
//! | flushes slower than half of the fastest mean | half | one more of the first size |
//! | level 1 has as many tables as slow writes down in level 0, or the debt is at its soft limit | 2 more | |
//! | several memtables wait | | one more of the first size |
//! | none waits | | one more of the first size ([`WhenNoneWaits`]) |
//! | the debt is at its soft limit | | half |
//!
//! Level 1 is what its code looks at: the base level, which is 1 where levels are not sized dynamically. With a memtable level 1 changes too. Not
//! followed: tables of the size of a memtable, since room for manifests depends on it.

use saker_engine::JobKind;
use saker_host::host_kv::HostKv;
use saker_sim::{Duration, Instant};

/// What memtables do when none waits: the public code makes them larger, and prints that it makes them smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenNoneWaits {
    /// As the code does.
    Larger,
    /// As it says.
    Smaller,
}

/// What a tuner begins with, and how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdocOptions {
    /// Between two looks.
    pub period: Duration,
    /// Bytes of a memtable at first.
    pub buffer: u64,
    /// The least and the most.
    pub buffers: (u64, u64),
    /// Threads at first, of which a quarter, but at least one, flush.
    pub jobs: u32,
    /// At most; at least 2.
    pub jobs_max: u32,
    /// The rule that the public code leaves open.
    pub when_none_waits: WhenNoneWaits,
    /// Tables in level 0 that slow writes down.
    pub slowdown_trigger: u64,
    /// Debt that slows writes down, in bytes.
    pub soft_limit: u64,
}

const JOBS_MIN: u32 = 2;
/// Memtables that level 1 has: the trigger of compactions of level 0, times memtables of a flush.
const BUFFERS_OF_LEVEL_1: u64 = 4;

/// What it sees at a look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    /// The mean of the flushes that have ended, in whole megabytes a second each.
    flush_rate: f64,
    immutables: u64,
    level1_tables: u64,
    debt: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Keep,
    More,
    Half,
}

/// Steps for threads and for memtables.
fn steps(options: &AdocOptions, seen: &Seen, fastest: f64) -> (Step, Step) {
    let (mut threads, mut buffer) = (Step::Keep, Step::Keep);
    let (is_slow, owes) = (seen.flush_rate < fastest * 0.5, seen.debt >= options.soft_limit);
    if seen.immutables >= 1 {
        threads = Step::More;
    }
    if is_slow {
        threads = Step::Half;
    }
    if owes || seen.level1_tables >= options.slowdown_trigger {
        threads = Step::More;
    }
    if is_slow || seen.immutables > 1 {
        buffer = Step::More;
    }
    if seen.immutables == 0 {
        buffer = match options.when_none_waits {
            WhenNoneWaits::Larger => Step::More,
            WhenNoneWaits::Smaller => Step::Half,
        };
    }
    if owes {
        buffer = Step::Half;
    }
    (threads, buffer)
}

/// Threads of so many that compact: a quarter, but at least one, flush (RocksDB, `DBImpl::GetBGJobLimits`).
fn compacting(jobs: u32) -> u32 {
    (jobs - (jobs / 4).max(1).min(jobs)).max(1)
}

/// The tuner of a store.
#[derive(Clone, Debug)]
pub struct Adoc {
    options: AdocOptions,
    next: Instant,
    has_begun: bool,
    fastest: f64,
    jobs: u32,
    buffer: u64,
    /// The flush that goes on: since when.
    flush: Option<Instant>,
    flushes: u64,
    flushed_bytes: u64,
    rates: Vec<f64>,
    /// How often it changed threads, and memtables.
    pub changed: [u64; 2],
}

impl Adoc {
    /// Begins with a store: gives it what the tuner begins with.
    ///
    /// # Panics
    /// For a store of another engine than `lsm`, or made for less than the most that the tuner may ask for.
    pub fn new(options: AdocOptions, store: &mut HostKv) -> Self {
        let made = store.settings();
        let has_room = |name, most: u64| made.get(name).is_some_and(|there| there >= most);
        assert!(has_room("write_buffer_size", options.buffers.1), "memtables have room for the largest");
        let level_base = BUFFERS_OF_LEVEL_1 * options.buffers.1;
        assert!(has_room("max_bytes_for_level_base", level_base), "so has level 1");
        let compacting_most = u64::from(compacting(options.jobs_max));
        assert!(has_room("compaction_threads", compacting_most), "so have compactions");
        set(store, "write_buffer_limit", options.buffer);
        set(store, "compaction_threads_limit", compacting(options.jobs).into());
        Self {
            next: Instant::ZERO + options.period,
            has_begun: false,
            fastest: 0.0,
            jobs: options.jobs,
            buffer: options.buffer,
            flush: None,
            flushes: 0,
            flushed_bytes: 0,
            rates: Vec::new(),
            changed: [0; 2],
            options,
        }
    }

    /// A quantum of background work was for `kind`, begun now.
    pub fn worked(&mut self, kind: JobKind, now: Instant, store: &HostKv) {
        if kind != JobKind::Flush {
            return;
        }
        let began = *self.flush.get_or_insert(now);
        let [flushes, bytes] = counted(store, ["flushes", "flush_write_bytes"]);
        if flushes == self.flushes {
            return;
        }
        let micros = now.since(began).as_nanos() / 1000;
        let rate = (bytes - self.flushed_bytes).checked_div(micros);
        self.rates.extend(rate.map(|rate| rate as f64));
        (self.flush, self.flushes, self.flushed_bytes) = (None, flushes, bytes);
    }

    /// Looks, if it is time to.
    pub fn look_if_due(&mut self, now: Instant, store: &mut HostKv) {
        if now < self.next {
            return;
        }
        while self.next <= now {
            self.next = self.next + self.options.period;
        }
        let rates = std::mem::take(&mut self.rates);
        let flush_rate = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        if flush_rate == 0.0 {
            return;
        }
        let names = ["num_immutable_mem_table", "l1_tables", "estimate_pending_compaction_bytes"];
        let [immutables, level1_tables, debt] = counted(store, names);
        self.look(&Seen { flush_rate, immutables, level1_tables, debt }, store);
    }

    fn look(&mut self, seen: &Seen, store: &mut HostKv) {
        if !std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        self.fastest = self.fastest.max(seen.flush_rate);
        let (threads, buffer) = steps(&self.options, seen, self.fastest);
        self.step_buffer(buffer, store);
        self.step_threads(threads, store);
    }

    fn step_buffer(&mut self, step: Step, store: &mut HostKv) {
        let to = match step {
            Step::Keep => return,
            Step::More => self.buffer + self.options.buffer,
            Step::Half => self.buffer / 2,
        };
        let to = to.clamp(self.options.buffers.0, self.options.buffers.1);
        self.changed[1] += u64::from(to != self.buffer);
        self.buffer = to;
        set(store, "write_buffer_limit", to);
        set(store, "level_base_limit", BUFFERS_OF_LEVEL_1 * to);
    }

    fn step_threads(&mut self, step: Step, store: &mut HostKv) {
        let to = match step {
            Step::Keep => return,
            Step::More => self.jobs + 2,
            Step::Half => self.jobs / 2,
        };
        let to = to.clamp(JOBS_MIN, self.options.jobs_max);
        self.changed[0] += u64::from(to != self.jobs);
        self.jobs = to;
        set(store, "compaction_threads_limit", compacting(to).into());
    }
}

fn set(store: &mut HostKv, name: &str, number: u64) {
    store.set_setting(name, number).expect("a live setting of the tree, within its range");
}

/// Counters by name; 0 for one that the store has not.
fn counted<const N: usize>(store: &HostKv, names: [&str; N]) -> [u64; N] {
    let all = store.counters();
    names.map(|name| all.iter().find(|(known, _)| *known == name).map_or(0, |(_, n)| *n))
}

#[cfg(test)]
mod tests;
