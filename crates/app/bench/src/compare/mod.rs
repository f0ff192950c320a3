// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV against DiskKV, with operations alone, in groups, and gathered by SAKER's host layer, on the same pairs, by size of
//! value and store.

mod pairs;
mod runs;

use crate::clock::Cpus;
use pairs::{Pair, classes, jobs};
use runs::Runs;
use saker::{NamespaceConfig, NamespaceKind};
use saker_assembly::{Build, BuildError};
use saker_device::{EngineKind, Settings};
use saker_host::{CacheOptions, HostError};
pub use saker_hybrid::{Options as HybridOptions, Rollback as RollbackPolicy};
use saker_lab::Settings as Changes;
use saker_lab::settings::SettingError;
use saker_profile::{Profile, ProfileError};
use saker_workload::WorkloadError;
use saker_workload::records::RecordSet;
use saker_world::{RunResult, StoreKind};
use thiserror::Error;

/// Which clock latencies are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Deterministic events.
    Virtual,
    /// The operating system's clock.
    Real,
    /// No latencies.
    Off,
}

impl Timing {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
            Self::Off => "off",
        }
    }
}

/// Where the pairs come from.
#[derive(Debug)]
pub enum Input {
    /// The user's records, grouped by size of value.
    Records(RecordSet),
    /// Random keys of 16 bytes and values of these sizes, that many of each.
    Made {
        /// Sizes of values in bytes.
        sizes: Vec<usize>,
        /// Pairs of each size.
        pairs: usize,
    },
}

/// What to compare.
#[derive(Debug)]
pub struct Plan {
    /// The pairs.
    pub input: Input,
    /// The timings to run in.
    pub timings: Vec<Timing>,
    /// The profile.
    pub profile: String,
    /// Application threads.
    pub threads: usize,
    /// Operations in flight for each thread, on either side; with the host layer containers and reads.
    pub depth: u16,
    /// What keeps the pairs, on both sides: rows for each.
    pub stores: Vec<EngineKind>,
    /// Operations of a group command: a column for each.
    pub groups: Vec<u16>,
    /// Writes of a container of the host layer: a column for each.
    pub batches: Vec<u16>,
    /// HostKV with a tree in the device beside it: a column for each, of stores that can be one.
    pub hybrids: Vec<HybridOptions>,
    /// Exponent of a zipfian choice of what is read; `None`: each pair is read once.
    pub skew: Option<f64>,
    /// The read cache at the host: of HostKV, and of the host layer.
    pub cache: CacheOptions,
    /// Bytes of the store's own cache, of stores that have one ([`has_cache`]).
    pub store_cache: Option<u64>,
    /// Bytes of HostKV's cache for blocks that were read; 0: none.
    pub block_cache_bytes: u64,
    /// Changes of the profile, and of the stores' engines.
    pub changes: Changes,
    /// Where threads run in `real` and `off`.
    pub cpus: Cpus,
    /// Seed of keys, values and order.
    pub seed: u64,
}

/// One system's result on one group of values: storing all pairs, then retrieving them in another order.
#[derive(Debug)]
pub struct Cell {
    /// Its name.
    pub system: String,
    /// What keeps its pairs.
    pub store: EngineKind,
    /// Operations of its group commands, if it sends groups.
    pub group: Option<u16>,
    /// Storing.
    pub put: RunResult,
    /// Retrieving.
    pub get: RunResult,
}

/// The systems side by side on one group of values with one store in one timing.
#[derive(Debug)]
pub struct Row {
    /// The timing.
    pub timing: Timing,
    /// The store asked for.
    pub store: EngineKind,
    /// The values.
    pub values: String,
    /// In `real`: the device's events, and how many of them came more than 5 us late.
    pub lag: Option<(u64, u64)>,
    /// Why it does not count, if it does not.
    pub invalid: Option<String>,
    /// HostKV, the hybrids of it, DiskKV, DiskKV with groups, DiskKV with the host layer.
    pub cells: Vec<Cell>,
}

/// Why a comparison cannot be run.
#[derive(Debug, Error)]
pub enum CompareError {
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A change that cannot be made.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The device cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A device could not be used.
    #[error(transparent)]
    Host(#[from] HostError),
    /// There is no such choice of pairs.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// Nothing to compare on.
    #[error("the input has no records")]
    Empty,
    /// Values that the device does not take.
    #[error("values of {bytes} bytes are too long for profile {profile}: the most is {most}")]
    TooLong {
        /// Bytes of the longest value.
        bytes: usize,
        /// The profile.
        profile: String,
        /// Bytes of the longest value that is taken.
        most: u32,
    },
    /// Nobody can say when in the model's time a thread of an engine's own is through.
    #[error("store `{store}` has threads of its own, which timing {timing} cannot follow: use timing off")]
    Workers {
        /// The store.
        store: &'static str,
        /// The timing that was asked for.
        timing: &'static str,
    },
    /// A store from outside at the host is on a device of a URL, which names a profile and does not change it.
    #[error(
        "store `{store}` is compared on profiles as they are: leave their changes out, or name a file of a changed one"
    )]
    Changed {
        /// The store.
        store: &'static str,
    },
    /// Pairs that no memory is meant to hold.
    #[error("the pairs take {bytes} bytes of memory: the most is {PAIRS_BYTES_MAX}")]
    TooMuch {
        /// Bytes of all pairs.
        bytes: u64,
    },
}

/// All pairs are made before anything runs. A number with too many digits shall be an error, not the end of the process.
const PAIRS_BYTES_MAX: u64 = 16 << 30;
/// Bytes of a pair beside its value, about: the key, and what the allocator and two vectors take.
const PAIR_BYTES: u64 = 128;

/// Share of a real-time run's events that may be late.
const LATE_PERCENT_MAX: u64 = 1;

/// Runs a plan; `note` hears of each step.
///
/// # Errors
/// [`CompareError`].
pub fn compare(plan: &Plan, note: &mut dyn FnMut(&str)) -> Result<Vec<Row>, CompareError> {
    plan.changes.check(&plan.profile)?;
    let engines: Vec<String> = plan.stores.iter().map(|store| store.name().to_owned()).collect();
    plan.changes.check_engines("this comparison", &engines)?;
    let profile = plan.changes.profile_named(&plan.profile)?;
    refuse_workers(plan, &profile)?;
    ensure_possible(plan, &profile)?;
    let classes = classes(plan);
    if classes.is_empty() {
        return Err(CompareError::Empty);
    }
    let mut rows = Vec::new();
    for timing in &plan.timings {
        for store in &plan.stores {
            for (values, pairs) in &classes {
                let (name, count) = (store.name(), pairs.len());
                note(&format!("{}, {name}: values of {values}, {count} pairs", timing.name()));
                rows.push(row(plan, &profile, (*timing, *store), values, pairs)?);
            }
        }
    }
    Ok(rows)
}

/// Only a device without time waits for threads of an engine's own.
fn refuse_workers(plan: &Plan, profile: &Profile) -> Result<(), CompareError> {
    let store = plan.stores.iter().find(|store| store.has_workers());
    let timing = plan.timings.iter().find(|timing| **timing != Timing::Off);
    match (store, timing) {
        (Some(store), Some(timing)) => {
            Err(CompareError::Workers { store: store.name(), timing: timing.name() })
        }
        (Some(store), None) if *profile != Changes::default().profile_named(&plan.profile)? => {
            Err(CompareError::Changed { store: store.name() })
        }
        _ => Ok(()),
    }
}

/// Looks at sizes before anything is made.
fn ensure_possible(plan: &Plan, profile: &Profile) -> Result<(), CompareError> {
    let (longest, bytes) = match &plan.input {
        Input::Made { sizes, pairs } => {
            let of = |size: &usize| (*pairs as u64).saturating_mul((*size as u64).saturating_add(PAIR_BYTES));
            let bytes = sizes.iter().map(of).fold(0, u64::saturating_add);
            (sizes.iter().copied().max().unwrap_or(0), bytes)
        }
        // They are in memory already.
        Input::Records(records) => (records.iter().map(|r| r.value.len()).max().unwrap_or(0), 0),
    };
    let most = value_bytes_max(&Build::kv(profile, FLASH_BYTES_MIN, plan.seed)?);
    if longest > most as usize {
        return Err(CompareError::TooLong { bytes: longest, profile: profile.name.clone(), most });
    }
    if bytes > PAIRS_BYTES_MAX { Err(CompareError::TooMuch { bytes }) } else { Ok(()) }
}

fn value_bytes_max(build: &Build) -> u32 {
    let of = |ns: &NamespaceConfig| match ns.kind {
        NamespaceKind::Kv { value_bytes_max, .. } => value_bytes_max,
        NamespaceKind::Block { .. } => 0,
    };
    build.config.namespaces.first().map_or(0, of)
}

/// Flash at least.
const FLASH_BYTES_MIN: u64 = 2 << 30;

/// Flash for the pairs with room to spare, so that both systems are compared before garbage collection.
fn flash_bytes(pairs: &[Pair]) -> u64 {
    let bytes: u64 = pairs.iter().map(|(k, v)| (k.len() + v.len() + 64) as u64).sum();
    (bytes * 3).max(FLASH_BYTES_MIN)
}

/// Whether a store has a cache of its own in its memory, whose size can be set: pages of the hash table, or nodes.
pub fn has_cache(store: EngineKind) -> bool {
    store.has_setting(CACHE)
}

/// Whether it can be the main tree of a store over both namespaces.
pub fn has_hybrid(store: EngineKind) -> bool {
    store == EngineKind::LSM || saker::main_tree::has(store.name())
}

/// The setting that is its size.
const CACHE: &str = "cache_bytes";

fn with_store(plan: &Plan, store: EngineKind, build: Build) -> Result<Build, CompareError> {
    let (cache, block_cache_bytes) = (plan.cache, plan.block_cache_bytes);
    let build = Build { cache, block_cache_bytes, ..build.with_engine(store) };
    let own = plan.store_cache.map_or(Settings::NONE, |bytes| Settings::told(&[(CACHE, bytes)]));
    Ok(build.asked([&own, &plan.changes.of_engine(store)?])?)
}

fn row(
    plan: &Plan,
    profile: &Profile,
    (timing, store): (Timing, EngineKind),
    values: &str,
    pairs: &[Pair],
) -> Result<Row, CompareError> {
    let bytes = flash_bytes(pairs);
    let block = with_store(plan, store, Build::block(profile, bytes, plan.seed)?)?;
    let kv = with_store(plan, store, Build::kv(profile, bytes, plan.seed)?)?;
    let jobs = jobs(plan, pairs)?;
    let mut runs = Runs { timing, cpus: &plan.cpus, lag: (0, 0) };
    let host = runs.run(StoreKind::Host, &block, &jobs)?;
    let mut cells = vec![cell(StoreKind::Host, store.over_blocks(), host)];
    for options in plan.hybrids.iter().filter(|_| has_hybrid(store)) {
        let kind = StoreKind::Hybrid(*options);
        cells.push(cell(kind, store, runs.run(kind, &block, &jobs)?));
    }
    let groups = plan.groups.iter().map(|group| StoreKind::Groups { operations: usize::from(*group) });
    let sessions = plan.batches.iter().map(|batch| StoreKind::Sessions { batch: *batch });
    for kind in std::iter::once(StoreKind::Disk).chain(groups).chain(sessions) {
        cells.push(cell(kind, store, runs.run(kind, &kv, &jobs)?));
    }
    let lag = (timing == Timing::Real).then_some(runs.lag);
    Ok(Row { timing, store, values: values.into(), lag, invalid: lag.and_then(verdict), cells })
}

/// Why a run against the clock does not count.
fn verdict((events, late): (u64, u64)) -> Option<String> {
    let too_many = late.saturating_mul(100) > events.saturating_mul(LATE_PERCENT_MAX);
    too_many.then(|| format!("{late} of {events} device events came more than 5 us late"))
}

fn cell(kind: StoreKind, store: EngineKind, mut results: Vec<RunResult>) -> Cell {
    let get = results.pop().unwrap_or_default();
    let put = results.pop().unwrap_or_default();
    let group = match kind {
        StoreKind::Groups { operations } => u16::try_from(operations).ok(),
        _ => None,
    };
    Cell { system: kind.name(), store, group, put, get }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(sizes: &[usize], pairs: usize) -> Plan {
        Plan {
            input: Input::Made { sizes: sizes.to_vec(), pairs },
            timings: vec![Timing::Virtual],
            profile: "default".into(),
            threads: 1,
            depth: 1,
            stores: vec![EngineKind::HASH_STORE],
            groups: Vec::new(),
            batches: Vec::new(),
            hybrids: Vec::new(),
            skew: None,
            cache: CacheOptions::NONE,
            store_cache: None,
            block_cache_bytes: 0,
            changes: Changes::default(),
            cpus: Cpus::default(),
            seed: 1,
        }
    }

    #[test]
    fn what_is_too_large_is_refused_before_anything_is_made() {
        let refused = |sizes: &[usize], pairs| {
            let silent = &mut |line: &str| panic!("{line}");
            compare(&plan(sizes, pairs), silent).unwrap_err().to_string()
        };
        let long = "values of 3145728 bytes are too long for profile default: the most is 2097152";
        assert_eq!(refused(&[16, 3 << 20], 100_000), long);
        let much = "the pairs take 144000000000000 bytes of memory: the most is 17179869184";
        assert_eq!(refused(&[16], 1_000_000_000_000), much);
        assert!(refused(&[16, 64], usize::MAX).contains("18446744073709551615"));
    }

    /// What is read again is in the host's cache, in HostKV and in the host layer and nowhere else.
    #[test]
    fn skewed_reads_hit_the_cache_at_the_host_on_every_store() {
        let stores = vec![EngineKind::HASH_PLUS, EngineKind::TREE, EngineKind::LSM];
        let cache = CacheOptions::sized(1 << 20);
        let plan = Plan {
            stores,
            groups: vec![8],
            batches: vec![8],
            skew: Some(1.2),
            cache,
            store_cache: Some(1 << 20),
            ..plan(&[100], 400)
        };
        let rows = compare(&plan, &mut |_| {}).expect("runs");
        assert_eq!(rows.iter().map(|row| row.store.name()).collect::<Vec<_>>(), ["hash_plus", "tree", "lsm"]);
        for row in &rows {
            assert_eq!(row.cells[0].store, row.store.over_blocks());
            for cell in &row.cells {
                assert_eq!((cell.put.errors, cell.get.errors, cell.get.operations), (0, 0, 400));
                let hits = cell.get.cache.hits;
                let has_cache = matches!(cell.system.as_str(), "HostKV" | "DiskKV+SAKER x8");
                assert!(if has_cache { hits > 200 } else { hits == 0 }, "{}: {hits} hits", cell.system);
            }
            assert_eq!(row.cells[2].put.commands, 51, "eight a command, and a Flush");
        }
    }

    #[test]
    fn more_than_one_in_a_hundred_late_events_make_a_run_invalid() {
        assert_eq!(verdict((0, 0)), None);
        assert_eq!(verdict((1000, 10)), None);
        let why = "11 of 1000 device events came more than 5 us late";
        assert_eq!(verdict((1000, 11)).as_deref(), Some(why));
    }
}
