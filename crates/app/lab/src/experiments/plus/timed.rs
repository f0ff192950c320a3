// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A hash FTL in virtual time: filled and overwritten once without time, then each workload on a copy of that device.

use super::ran::{Ran, counters, named};
use super::size::Size;
use crate::error::LabError;
use crate::rig::complete;
use saker_assembly::Build;
use saker_engine::EngineKind;
use saker_engine::Settings;
use saker_engine::hash_ftl::config::PLUS_GRAIN_BYTES;
use saker_engine::hash_ftl::record::HEAD_BYTES;
use saker_flash::nand::Shape;
use saker_host::TransferOptions;
use saker_profile::{Media, Profile};
use saker_segment_store::Geometry;
use saker_workload::suite::YCSB_THETA;
use saker_workload::{Distribution, KeySpace, Operation, Plan, Suite, SuiteOptions};
use saker_world::{Job, Op, Prepared, RunResult, Running};

/// As in the public runs of the papers' code: clients that wait for each answer.
const CLIENTS: usize = 20;
/// Operations that are in memory at once. Behind them the device comes to rest, which no rate counts: where each ten thousand ended
/// so, collections had done their work between them.
const CHUNK: usize = 100_000;
const KEY_BYTES: usize = 8;
const FILLER: u8 = 7;

/// An FTL and how large a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Original or Plus, to begin with.
    pub kind: EngineKind,
    /// What is otherwise than there.
    pub settings: Settings,
    /// The device and the run.
    pub size: Size,
    /// Bytes of a value.
    pub value_bytes: u32,
    /// Whether the keys of zipfian workloads are the more popular the earlier they were filled in, as the public driver draws them.
    pub zipfian_in_order: bool,
    /// The seed.
    pub seed: u64,
}

impl Case {
    /// The empty device.
    pub fn build(&self, profile: &Profile) -> Build {
        let profile = &self.scaled(profile);
        let g = &profile.geometry;
        let (segments, segment_pages) = (self.size.superblocks, self.size.superblock_pages);
        let page_bytes = self.size.page_bytes;
        let luns = g.luns().min(segment_pages);
        let geometry = Geometry { page_bytes, oob_bytes: g.oob_bytes.get(), segment_pages, segments };
        let shape = Shape { geometry, channels: g.channels.get(), luns };
        let namespace = saker_device::NamespaceConfig::kv(1, &geometry, segments, self.seed);
        let mut build = Build::with(profile, shape, vec![namespace], self.seed).with_engine(self.kind);
        let tuned = self.size.tune(&self.settings, self.record_bytes());
        build.ask(&tuned.within(self.kind.settings()));
        build.compact = true;
        build
    }

    /// The profile, with erases of blocks that are as much smaller as superblocks are, and programs of as many pages as a LUN has of one.
    fn scaled(&self, profile: &Profile) -> Profile {
        let mut scaled = profile.clone();
        if let Media::Nand(nand) = &mut scaled.media {
            nand.erase_ns.value = self.size.erase_ns(nand.erase_ns.value);
            let luns = profile.geometry.luns().min(self.size.superblock_pages);
            (nand.program_pages.value, nand.program_ns.value) =
                self.size.program(luns, nand.program_pages.value, nand.program_ns.value);
        }
        scaled
    }

    /// Bytes of a record in grains of Plus.
    fn record_bytes(&self) -> u64 {
        u64::from((HEAD_BYTES + KEY_BYTES as u32 + self.value_bytes).next_multiple_of(PLUS_GRAIN_BYTES))
    }

    fn plan(&self, suite: Suite, phase: u16) -> Result<Plan, LabError> {
        let Self { size: Size { pairs, operations, .. }, value_bytes, seed, .. } = *self;
        let options = SuiteOptions { operations, value_bytes, key_bytes: Some(KEY_BYTES), seed };
        Ok(Plan { keys: pairs, phase, ..suite.plan(&options)? })
    }
}

/// A workload: its suite, its name, the distribution of its keys.
pub type Cell = (Suite, &'static str, &'static str);

/// YCSB's workloads; without E, which scans.
pub const CELLS: [Cell; 9] = [
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

/// A device that was filled and overwritten, to begin workloads from.
pub struct Conditioned {
    device: Prepared,
    case: Case,
}

/// Fills a device and overwrites as many pairs at random as it has.
///
/// # Errors
/// [`LabError`], also for operations that were refused.
pub fn conditioned(profile: &Profile, case: Case) -> Result<Conditioned, LabError> {
    let mut device = Prepared::start(&case.build(profile))?;
    let plan = Plan { operations: case.size.pairs, ..case.plan(Suite::Overwrite, 1)? };
    for plan in [plan.preload(), plan] {
        let sides = Sides::of(&plan)?;
        device.run(plan.operations()?.map(|operation| sides.of_operation(operation)))?;
    }
    Ok(Conditioned { device, case })
}

impl Conditioned {
    /// What is counted so far, by name.
    pub fn counted(&mut self, name: &str) -> f64 {
        named(&counters(self.device.stats()), name)
    }

    /// Runs one of [`CELLS`] on a copy.
    ///
    /// # Errors
    /// [`LabError`], also for operations that were refused. D may read what is being inserted.
    pub fn run(&mut self, cell: Cell) -> Result<Ran, LabError> {
        self.run_by(CLIENTS, cell)
    }

    /// The same by so many clients.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_by(&mut self, clients: usize, (suite, workload, keys): Cell) -> Result<Ran, LabError> {
        let phase = 2 + CELLS.iter().position(|c| (c.1, c.2) == (workload, keys)).unwrap_or(0) as u16;
        let mut plan = self.case.plan(suite, phase)?;
        match keys {
            "uniform" => plan.distribution = Distribution::Uniform,
            "zipfian" if self.case.zipfian_in_order => {
                plan.distribution = Distribution::Zipfian { theta: YCSB_THETA };
            }
            _ => {}
        }
        let mut running = self.device.fork(&job(clients, Vec::new()))?;
        let before = counters(running.stats());
        let (result, updates) = run_plan(&mut running, clients, &plan, workload)?;
        let now = counters(running.stats());
        let since = now.iter().zip(before).map(|((name, a), (_, b))| (*name, a - b)).collect();
        Ok(Ran { workload, keys, result, updates, counters: since, now })
    }
}

/// A plan's keys.
struct Sides {
    keys: KeySpace,
}

impl Sides {
    fn of(plan: &Plan) -> Result<Self, LabError> {
        Ok(Self { keys: plan.key_space()? })
    }

    fn of_operation(&self, operation: Operation) -> Op {
        let key = self.keys.key(operation.key);
        if !operation.kind.writes_value() {
            return Op::Get(key);
        }
        // What a value holds changes no count and no time; filler takes no memory.
        Op::Put(key, vec![FILLER; operation.size as usize])
    }
}

/// The result, and how many operations wrote a value.
fn run_plan(
    running: &mut Running,
    clients: usize,
    plan: &Plan,
    place: &str,
) -> Result<(RunResult, u64), LabError> {
    let sides = Sides::of(plan)?;
    let mut updates = 0;
    let side = |operation: Operation| {
        updates += u64::from(operation.kind.writes_value());
        sides.of_operation(operation)
    };
    let mut operations = plan.operations()?.map(side).peekable();
    let mut sum = RunResult::new();
    while operations.peek().is_some() {
        let part = running.run(&job(clients, operations.by_ref().take(CHUNK).collect()));
        let elapsed = sum.elapsed + part.elapsed;
        sum.join(&part);
        sum.elapsed = elapsed;
        sum.nand_pages += part.nand_pages;
    }
    drop(operations);
    Ok((if plan.mix.insert > 0 { sum } else { complete(sum, place)? }, updates))
}

fn job(threads: usize, operations: Vec<Op>) -> Job {
    Job { threads, depth: 1, operations, flush: false, transfer: TransferOptions::default() }
}
