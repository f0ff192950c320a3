//! A hash FTL in virtual time: filled, overwritten once, then YCSB's workloads one after the other.

use crate::error::LabError;
use crate::rig::complete;
use saker_engine::EngineKind;
use saker_engine::hash_ftl::HashFtlTuning;
use saker_flash::nand::Shape;
use saker_host::TransferOptions;
use saker_medium::Geometry;
use saker_sim::profile::Profile;
use saker_workload::{Distribution, Operation, Plan, Suite, SuiteOptions};
use saker_world::{Build, Job, RunResult, Running, Side};

/// As in the public runs of the papers' code: clients that wait for each answer.
const CLIENTS: usize = 20;
/// Operations that are in memory at once.
const CHUNK: usize = 10_000;
/// Fewer than this, and spare superblocks would be a large part of the device.
const SUPERBLOCKS_MIN: u64 = 64;
/// The smallest device: tests run everything once.
const DEVICE_BYTES_MIN: u64 = 8 << 20;
const KEY_BYTES: usize = 8;

/// An FTL and how large a run is.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Original or Plus, to begin with.
    pub kind: EngineKind,
    /// What is otherwise than there.
    pub tuning: HashFtlTuning,
    /// Bytes of flash.
    pub bytes: u64,
    /// Pairs.
    pub pairs: u64,
    /// Operations of each workload.
    pub operations: u64,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// The seed.
    pub seed: u64,
}

impl Case {
    /// A published run by a scale.
    pub fn scaled(mut self, scale: u32) -> Self {
        let published = self.bytes;
        self.bytes = (published / u64::from(scale.max(1))).max(DEVICE_BYTES_MIN);
        let of = |n: u64| (u128::from(n) * u128::from(self.bytes) / u128::from(published)) as u64;
        (self.pairs, self.operations) = (of(self.pairs), of(self.operations).max(300));
        self
    }

    /// The profile's flash with fewer superblocks; smaller ones where fewer than 64 would be left.
    fn build(&self, profile: &Profile) -> Result<Build, LabError> {
        let g = &profile.geometry;
        let luns = g.luns();
        let mut segment_pages = luns * g.pages_per_block.get();
        let page_bytes = g.page_bytes.get();
        while self.bytes / u64::from(segment_pages * page_bytes) < SUPERBLOCKS_MIN && segment_pages > luns / 2
        {
            segment_pages /= 2;
        }
        let segments = (self.bytes / u64::from(segment_pages * page_bytes)) as u32;
        let geometry = Geometry { page_bytes, oob_bytes: g.oob_bytes.get(), segment_pages, segments };
        let shape = Shape { geometry, channels: g.channels.get(), luns: luns.min(segment_pages) };
        let namespace = saker_device::NamespaceConfig::kv(1, &geometry, segments, self.seed);
        let mut build = Build::with(profile, shape, vec![namespace], self.seed).with_engine(self.kind);
        build.config.hash_ftl = self.tuning;
        Ok(build)
    }
}

/// What a workload came to.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its name and the distribution of its keys.
    pub workload: &'static str,
    /// `uniform`, `zipfian` or `latest`.
    pub keys: &'static str,
    /// Times and counts.
    pub result: RunResult,
    /// What the FTL counted meanwhile, by name.
    pub counters: Vec<(&'static str, f64)>,
}

impl Ran {
    /// Of what the FTL counted.
    pub fn count(&self, name: &str) -> f64 {
        self.counters.iter().find(|(n, _)| *n == name).map_or(0.0, |(_, count)| *count)
    }

    /// The same for each operation.
    pub fn per_operation(&self, name: &str) -> f64 {
        self.count(name) / self.result.operations.max(1) as f64
    }
}

/// A device that was filled and overwritten.
pub struct Conditioned {
    running: Running,
    case: Case,
    phase: u16,
}

/// Fills a device and overwrites as many pairs at random as it has.
///
/// # Errors
/// [`LabError`], also for operations that were refused.
pub fn conditioned(profile: &Profile, case: Case) -> Result<Conditioned, LabError> {
    let running = Running::start(&case.build(profile)?, &job(Vec::new()))?;
    let mut it = Conditioned { running, case, phase: 1 };
    let plan = it.plan(Suite::Overwrite)?;
    it.run_plan(&plan.preload(), "the fill")?;
    it.run_plan(&Plan { operations: case.pairs, ..plan }, "the overwrites")?;
    Ok(it)
}

/// YCSB's workloads in the order that its documentation recommends; without E, which scans.
pub const CELLS: [(Suite, &str, &str); 9] = [
    (Suite::YcsbA, "A", "uniform"),
    (Suite::YcsbA, "A", "zipfian"),
    (Suite::YcsbB, "B", "uniform"),
    (Suite::YcsbB, "B", "zipfian"),
    (Suite::YcsbC, "C", "uniform"),
    (Suite::YcsbC, "C", "zipfian"),
    (Suite::YcsbF, "F", "uniform"),
    (Suite::YcsbF, "F", "zipfian"),
    (Suite::YcsbD, "D", "latest"),
];

impl Conditioned {
    /// Runs one of [`CELLS`].
    ///
    /// # Errors
    /// [`LabError`], also for operations that were refused. D may read what is being inserted.
    pub fn run(
        &mut self,
        (suite, workload, keys): (Suite, &'static str, &'static str),
    ) -> Result<Ran, LabError> {
        let mut plan = self.plan(suite)?;
        if keys == "uniform" {
            plan.distribution = Distribution::Uniform;
        }
        let before = self.counters();
        let result = self.run_plan(&plan, workload)?;
        let counters =
            self.counters().into_iter().zip(before).map(|((name, a), (_, b))| (name, a - b)).collect();
        Ok(Ran { workload, keys, result, counters })
    }

    /// What the FTL counts.
    pub fn counters(&mut self) -> Vec<(&'static str, f64)> {
        let snapshot = self.running.snapshot();
        let engine = snapshot.namespaces.into_iter().next().map(|n| n.counters).unwrap_or_default();
        engine.into_iter().map(|(name, n)| (name, n as f64)).collect()
    }

    fn plan(&mut self, suite: Suite) -> Result<Plan, LabError> {
        let Case { pairs, operations, value_bytes, seed, .. } = self.case;
        let options = SuiteOptions { operations, value_bytes, key_bytes: Some(KEY_BYTES), seed };
        self.phase += 1;
        Ok(Plan { keys: pairs, phase: self.phase, ..suite.plan(&options)? })
    }

    fn run_plan(&mut self, plan: &Plan, place: &str) -> Result<RunResult, LabError> {
        let (keys, values) = (plan.key_space()?, plan.value_source());
        let side = |operation: Operation| {
            let key = keys.key(operation.key);
            if !operation.kind.writes_value() {
                return Side::Get(key);
            }
            let mut value = vec![0; operation.size as usize];
            values.fill(operation.key, operation.version, &mut value);
            Side::Put(key, value)
        };
        let mut operations = plan.operations()?.map(side).peekable();
        let mut sum = RunResult::new();
        while operations.peek().is_some() {
            let part = self.running.run(&job(operations.by_ref().take(CHUNK).collect()));
            let elapsed = sum.elapsed + part.elapsed;
            sum.join(&part);
            sum.elapsed = elapsed;
            sum.nand_pages += part.nand_pages;
        }
        if plan.mix.insert > 0 { Ok(sum) } else { complete(sum, place) }
    }
}

fn job(operations: Vec<Side>) -> Job {
    Job { threads: CLIENTS, depth: 1, operations, flush: false, transfer: TransferOptions::default() }
}
