//! HostKV against DiskKV, and against DiskKV with SAKER's host layer, on the same pairs, by size of value.

use saker_host::{HostError, TransferOptions};
use saker_realtime::bench::{Cpus, How, RealRun, run_disk_kv_real, run_host_kv_real, run_saker_real};
use saker_realtime::url::Timing as RealTiming;
use saker_realtime::{NamespaceConfig, NamespaceKind, profile_named};
use saker_sim::Seed;
use saker_sim::profile::{Profile, ProfileError};
use saker_workload::records::RecordSet;
use saker_world::{Build, BuildError, Job, RunResult, Side, run_disk_kv, run_host_kv, run_saker};
use thiserror::Error;
use xxhash_rust::xxh3::xxh3_128;

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
    /// Writes of a container of the host layer: a column for each.
    pub batches: Vec<u16>,
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
    /// Storing.
    pub put: RunResult,
    /// Retrieving.
    pub get: RunResult,
}

/// The systems side by side on one group of values in one timing.
#[derive(Debug)]
pub struct Row {
    /// The timing.
    pub timing: Timing,
    /// The values.
    pub values: String,
    /// In `real`: the device's events, and how many of them came more than 5 us late.
    pub lag: Option<(u64, u64)>,
    /// Why it does not count, if it does not.
    pub invalid: Option<String>,
    /// HostKV, DiskKV, DiskKV with the host layer.
    pub cells: Vec<Cell>,
}

/// Why a comparison cannot be run.
#[derive(Debug, Error)]
pub enum CompareError {
    /// There is no such profile.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The device cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A device could not be used.
    #[error(transparent)]
    Host(#[from] HostError),
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
    let profile = profile_named(&plan.profile)?;
    ensure_possible(plan, &profile)?;
    let groups = groups(plan);
    if groups.is_empty() {
        return Err(CompareError::Empty);
    }
    let mut rows = Vec::new();
    for timing in &plan.timings {
        for (values, pairs) in &groups {
            note(&format!("{}: values of {values}, {} pairs", timing.name(), pairs.len()));
            rows.push(row(plan, &profile, *timing, values, pairs)?);
        }
    }
    Ok(rows)
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

type Pair = (Vec<u8>, Vec<u8>);

fn groups(plan: &Plan) -> Vec<(String, Vec<Pair>)> {
    match &plan.input {
        Input::Made { sizes, pairs } => {
            let group = |size: &usize| (format!("{size} B"), made(plan.seed, *size, *pairs));
            sizes.iter().map(group).collect()
        }
        Input::Records(records) => by_size(records),
    }
}

fn by_size(records: &RecordSet) -> Vec<(String, Vec<Pair>)> {
    let mut groups: Vec<_> = records
        .size_classes()
        .iter()
        .map(|c| ((c.bytes_min, c.bytes_max), format!("{} to {} B", c.bytes_min, c.bytes_max), Vec::new()))
        .collect();
    for record in records.iter() {
        let n = record.value.len();
        let group = groups.iter_mut().find(|((min, max), ..)| (*min..=*max).contains(&n));
        if let Some((.., pairs)) = group {
            pairs.push((native_key(record.key), record.value.to_vec()));
        }
    }
    groups.into_iter().map(|(_, name, pairs)| (name, pairs)).collect()
}

/// Both systems index keys of up to 16 bytes; longer ones are compared by their digest.
fn native_key(key: &[u8]) -> Vec<u8> {
    if key.len() <= 16 { key.to_vec() } else { xxh3_128(key).to_le_bytes().to_vec() }
}

fn made(seed: u64, size: usize, pairs: usize) -> Vec<Pair> {
    let mut rng = Seed(seed).child("compare").index(size as u64).rng();
    let mut pair = || {
        let (mut key, mut value) = (vec![0; 16], vec![0; size]);
        rng.fill(&mut key);
        rng.fill(&mut value);
        (key, value)
    };
    (0..pairs).map(|_| pair()).collect()
}

fn jobs(plan: &Plan, pairs: &[Pair]) -> Vec<Job> {
    let puts = pairs.iter().map(|(k, v)| Side::Put(k.clone(), v.clone())).collect();
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    let mut rng = Seed(plan.seed).child("order").rng();
    for n in (1..order.len()).rev() {
        order.swap(n, rng.below(n as u64 + 1) as usize);
    }
    let gets = order.iter().map(|n| Side::Get(pairs[*n].0.clone())).collect();
    let job = |operations, flush| Job {
        threads: plan.threads,
        depth: plan.depth,
        operations,
        flush,
        transfer: TransferOptions::default(),
    };
    vec![job(puts, true), job(gets, false)]
}

/// Flash at least.
const FLASH_BYTES_MIN: u64 = 2 << 30;

/// Flash for the pairs with room to spare, so that both systems are compared before garbage collection.
fn flash_bytes(pairs: &[Pair]) -> u64 {
    let bytes: u64 = pairs.iter().map(|(k, v)| (k.len() + v.len() + 64) as u64).sum();
    (bytes * 3).max(FLASH_BYTES_MIN)
}

fn row(
    plan: &Plan,
    profile: &Profile,
    timing: Timing,
    values: &str,
    pairs: &[Pair],
) -> Result<Row, CompareError> {
    let bytes = flash_bytes(pairs);
    let (block, kv) = (Build::block(profile, bytes, plan.seed)?, Build::kv(profile, bytes, plan.seed)?);
    let jobs = jobs(plan, pairs);
    let mut runs = Runs { timing, cpus: &plan.cpus, lag: (0, 0) };
    let mut cells = vec![cell("HostKV".into(), runs.host_kv(&block, &jobs)?)];
    cells.push(cell("DiskKV".into(), runs.disk_kv(&kv, &jobs)?));
    for batch in &plan.batches {
        cells.push(cell(format!("DiskKV+SAKER x{batch}"), runs.saker(&kv, &jobs, *batch)?));
    }
    let lag = (timing == Timing::Real).then_some(runs.lag);
    Ok(Row { timing, values: values.into(), lag, invalid: lag.and_then(verdict), cells })
}

/// Runs systems in one timing; adds up how far devices lag behind the clock.
struct Runs<'p> {
    timing: Timing,
    cpus: &'p Cpus,
    lag: (u64, u64),
}

impl Runs<'_> {
    fn how(&self) -> How {
        let timing = if self.timing == Timing::Real { RealTiming::Real } else { RealTiming::Off };
        How { timing, cpus: self.cpus.clone() }
    }

    fn note(&mut self, run: RealRun) -> Vec<RunResult> {
        self.lag = (self.lag.0 + run.events, self.lag.1 + run.late);
        run.results
    }

    fn host_kv(&mut self, build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
        match self.timing {
            Timing::Virtual => run_host_kv(build, jobs),
            _ => run_host_kv_real(build, self.how(), jobs).map(|run| self.note(run)),
        }
    }

    fn disk_kv(&mut self, build: &Build, jobs: &[Job]) -> Result<Vec<RunResult>, HostError> {
        match self.timing {
            Timing::Virtual => run_disk_kv(build, jobs),
            _ => run_disk_kv_real(build, self.how(), jobs).map(|run| self.note(run)),
        }
    }

    fn saker(&mut self, build: &Build, jobs: &[Job], batch: u16) -> Result<Vec<RunResult>, HostError> {
        match self.timing {
            Timing::Virtual => run_saker(build, jobs, batch),
            _ => run_saker_real(build, self.how(), jobs, batch).map(|run| self.note(run)),
        }
    }
}

/// Why a run against the clock does not count.
fn verdict((events, late): (u64, u64)) -> Option<String> {
    let too_many = late.saturating_mul(100) > events.saturating_mul(LATE_PERCENT_MAX);
    too_many.then(|| format!("{late} of {events} device events came more than 5 us late"))
}

fn cell(system: String, mut results: Vec<RunResult>) -> Cell {
    let get = results.pop().unwrap_or_default();
    let put = results.pop().unwrap_or_default();
    Cell { system, put, get }
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
            batches: Vec::new(),
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

    #[test]
    fn more_than_one_in_a_hundred_late_events_make_a_run_invalid() {
        assert_eq!(verdict((0, 0)), None);
        assert_eq!(verdict((1000, 10)), None);
        let why = "11 of 1000 device events came more than 5 us late";
        assert_eq!(verdict((1000, 11)).as_deref(), Some(why));
    }
}
