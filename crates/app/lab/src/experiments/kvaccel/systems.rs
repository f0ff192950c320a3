// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The systems: our tree at the host with RocksDB's triggers, KVAccel as its script has it, and the hybrid with an exact detector.

use super::{Parameters, second};
use crate::context::Context;
use crate::error::LabError;
use saker_assembly::Build;
use saker_device::{EngineKind, Settings};
use saker_hybrid::{Detector, Objective, Options, Rollback};
use saker_sim::Duration;
use saker_world::stores::adoc::{AdocOptions, WhenNoneWaits};
use saker_world::stores::hybrid::iter_kvssd;
use saker_world::stores::run_tuned;
use saker_world::stores::{Dual, HostStore, HybridStore, run_hybrid};
use saker_world::{Job, RunResult, StoreKind, run_virtual};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// What RocksDB's compactions read at once (its `include/rocksdb/options.h`, `compaction_readahead_size`). Not scaled, as pages are not.
const READAHEAD: u64 = 2 * MIB;

/// Tables in level 0 that slow writes down, RocksDB's default.
const SLOWDOWN_TRIGGER: u64 = 20;

/// ADOC's memtables at least (`DOTA_tuner.h`, see [`saker_world::stores::adoc`]) and at most (`max_memtable_size` in supermt/FEAT_7.11,
/// `include/rocksdb/options.h`, 65e7662).
const BUFFER_LEAST: u64 = 64 * MIB;
const BUFFER_MOST: u64 = 512 * MIB;

/// Cores that the talk's host is limited to: ADOC's threads at most (its `core_num`, 20 unless told).
const HOST_CORES: u32 = 8;

/// Least sizes: below them a memtable would be a few records.
const MEMTABLE_MIN: u64 = 32 << 10;
const FLASH_MIN: u64 = 1 << 30;

/// What is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    /// RocksDB's triggers and two memtables, with slowdown or without.
    RocksDb { slowdown: bool },
    /// RocksDB's triggers, tuned by ADOC's rules, with slowdown or without; of one rule both readings.
    Adoc { slowdown: bool, when_none_waits: WhenNoneWaits },
    /// As its script; with another policy of rollback.
    KvAccel(Rollback),
    /// The same, and writers wait for rollbacks, as in the public code.
    KvAccelBlocking,
    /// RocksDB's triggers, without slowdown, and writes that would stop go to the device.
    Exact(Rollback),
    /// The same, adaptive, with what that is to make small.
    Adaptive(Objective),
}

impl System {
    /// As its public code and script have it.
    pub const ADOC: Self = Self::Adoc { slowdown: true, when_none_waits: WhenNoneWaits::Larger };

    pub fn name(self) -> String {
        match self {
            Self::RocksDb { slowdown: true } => "RocksDB".to_owned(),
            Self::RocksDb { slowdown: false } => "RocksDB without slowdown".to_owned(),
            Self::Adoc { slowdown, when_none_waits } => {
                let rule = match when_none_waits {
                    WhenNoneWaits::Larger => "",
                    WhenNoneWaits::Smaller => ", smaller when none waits",
                };
                format!("ADOC{}{rule}", if slowdown { "" } else { " without slowdown" })
            }
            Self::KvAccel(Rollback::Eager) => "KVAccel".to_owned(),
            Self::KvAccel(rollback) => format!("KVAccel {}", rollback.name()),
            Self::KvAccelBlocking => "KVAccel, writers wait".to_owned(),
            Self::Exact(Rollback::Eager) => "exact".to_owned(),
            Self::Exact(rollback) => format!("exact {}", rollback.name()),
            Self::Adaptive(Objective::Writes) => "adaptive for writes".to_owned(),
            Self::Adaptive(Objective::Reads) => "adaptive for reads".to_owned(),
            Self::Adaptive(Objective::Weighted) => "adaptive for both".to_owned(),
        }
    }

    /// What is asked of the main tree.
    fn settings(self, threads: u32, factor: u64) -> Settings {
        let of = |bytes: u64| (bytes / factor).max(MEMTABLE_MIN);
        let is_script = matches!(self, Self::KvAccel(_) | Self::KvAccelBlocking);
        let memtables = if is_script { 8 } else { 2 };
        // What is tuned has room for the most that it may become.
        let (buffer, level_base, threads) = match self {
            Self::Adoc { .. } => (BUFFER_MOST, 4 * BUFFER_MOST, HOST_CORES),
            _ => (128 * MIB, 256 * MIB, threads),
        };
        let (slowdown_at, stop_at) = if is_script { (1000, 1000) } else { (SLOWDOWN_TRIGGER, 36) };
        Settings::told(&[
            ("write_buffer_size", of(buffer)),
            ("max_write_buffer_number", memtables),
            ("compaction_threads", threads.into()),
            ("compaction_readahead_size", READAHEAD),
            ("level0_slowdown_writes_trigger", slowdown_at),
            ("level0_stop_writes_trigger", stop_at),
            ("soft_pending_compaction_bytes_limit", of(64 * GIB)),
            ("hard_pending_compaction_bytes_limit", of(256 * GIB)),
            ("slowdown", u64::from(self.slows_down())),
            ("target_file_size_base", of(64 * MIB)),
            ("max_bytes_for_level_base", of(level_base)),
            ("level_base_limit", of(256 * MIB)),
            // All values in the tree.
            ("min_blob_size", 14),
        ])
    }

    fn slows_down(self) -> bool {
        matches!(self, Self::RocksDb { slowdown: true } | Self::Adoc { slowdown: true, .. })
    }

    /// What tunes the tree, if anything does.
    fn tuner(self, threads: u32, factor: u64) -> Option<AdocOptions> {
        let Self::Adoc { when_none_waits, .. } = self else { return None };
        let of = |bytes: u64| (bytes / factor).max(MEMTABLE_MIN);
        Some(AdocOptions {
            period: second(factor),
            buffer: of(128 * MIB),
            buffers: (of(BUFFER_LEAST), of(BUFFER_MOST)),
            jobs: threads + 1,
            jobs_max: HOST_CORES,
            when_none_waits,
            slowdown_trigger: SLOWDOWN_TRIGGER,
            soft_limit: of(64 * GIB),
        })
    }

    fn options(self, factor: u64) -> Options {
        let poll = Duration::from_nanos(second(factor).as_nanos() / 10);
        let (detector, rollback) = match self {
            Self::Exact(rollback) => (Detector::Exact, rollback),
            Self::Adaptive(_) => (Detector::Exact, Rollback::Adaptive),
            Self::KvAccel(rollback) => (Detector::Published, rollback),
            Self::KvAccelBlocking | Self::RocksDb { .. } | Self::Adoc { .. } => {
                (Detector::Published, Rollback::Eager)
            }
        };
        let blocks_writers = self == Self::KvAccelBlocking;
        let objective = if let Self::Adaptive(objective) = self { objective } else { Objective::Weighted };
        let reserve_bytes = Options::default().reserve_bytes / factor;
        // How long no write comes before writing is over is not scaled: it has to be more than a read takes, which is not scaled either.
        Options { detector, rollback, objective, poll, reserve_bytes, blocks_writers, ..Options::default() }
    }

    /// The build of a store at the host.
    fn build(self, setup: &Setup<'_>, threads: u32) -> Result<Build, LabError> {
        let Setup { cx, plan, factor, block_cache_bytes } = *setup;
        let mut profile = cx.profile()?;
        // ADOC's threads may become as many as the host has cores.
        let background = if matches!(self, Self::Adoc { .. }) { HOST_CORES } else { threads + 1 };
        profile.host.background_cores.value = background;
        let bytes = (plan.flash_bytes / factor).max(FLASH_MIN);
        let mut build = Build::block(&profile, bytes, cx.seed)?.with_engine(EngineKind::LSM);
        build.interval = second(factor);
        build.compact = true;
        build.block_cache_bytes = block_cache_bytes;
        build.ask(&self.settings(threads, factor));
        cx.asked(build)
    }

    fn dual(self, factor: u64) -> Dual {
        let memtable = (128 * MIB / factor).max(MEMTABLE_MIN);
        let device_settings = Settings::told(&[("write_buffer_size", memtable)]).over(&iter_kvssd());
        Dual { device_settings, options: self.options(factor), ..Dual::default() }
    }

    /// Runs jobs; of a hybrid also gives what is left when all has come back.
    pub fn run(self, setup: &Setup<'_>, threads: u32, jobs: &[Job]) -> Result<Ran, LabError> {
        let build = self.build(setup, threads)?;
        if let Some(tuner) = self.tuner(threads, setup.factor) {
            let (results, changes) = run_tuned(&build, tuner, jobs)?;
            return Ok(Ran { results, changes, store: None });
        }
        let changes = [0; 2];
        if let Self::RocksDb { .. } = self {
            return Ok(Ran { results: run_virtual(StoreKind::Host, &build, jobs)?, changes, store: None });
        }
        let (results, store) = run_hybrid(&build, &self.dual(setup.factor), jobs)?;
        Ok(Ran { results, changes, store: Some(store) })
    }

    /// A new hybrid, to be driven by hand.
    pub fn open(self, setup: &Setup<'_>, threads: u32, like: &Job) -> Result<HybridStore, LabError> {
        let build = self.build(setup, threads)?;
        Ok(HostStore::hybrid(&build, &self.dual(setup.factor), like)?)
    }
}

/// What runs have in common.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    pub cx: &'a Context<'a>,
    pub plan: &'a Parameters,
    pub factor: u64,
    /// Bytes of the host's cache for blocks that were read.
    pub block_cache_bytes: u64,
}

impl<'a> Setup<'a> {
    /// Without a cache at the host.
    pub fn new(cx: &'a Context<'a>, plan: &'a Parameters, factor: u64) -> Self {
        Self { cx, plan, factor, block_cache_bytes: 0 }
    }
}

/// What came of it.
pub struct Ran {
    pub results: Vec<RunResult>,
    /// How often a tuner changed threads, and memtables.
    pub changes: [u64; 2],
    pub store: Option<HybridStore>,
}

impl Ran {
    /// A counter of the hybrid, after everything came back.
    pub fn left(&self, name: &str) -> f64 {
        let Some(store) = &self.store else { return f64::NAN };
        let counters = store.with_store(|store| store.counters());
        counters.iter().find(|(known, _)| *known == name).map_or(f64::NAN, |(_, n)| *n as f64)
    }
}
