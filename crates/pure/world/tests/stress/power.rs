// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Power cut, and the process killed, at any event of a history and of the recovery from it.

use crate::contract::stores::side_by_side;
use crate::stress::cells::{KEYS, key};
use crate::stress::history::{History, Plan, list_all, read_all};
use crate::stress::rig::{self, BLOCK, KV, Rig, power_on_or_damage};
use crate::stress::tier;
use saker_assembly::Build;
use saker_device::{Device, EngineKind, Stats, Timed};
use saker_flash::{FaultPlan, MemCells, PowerCut};
use saker_segment_store::{PageBuffer, PowerHistory};
use saker_sim::{Chance, Seed};
use saker_world::Clocked;

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Power is cut.
    Cut,
    /// The process is killed.
    Killed,
}

impl End {
    pub fn leaves(self, build: &Build, device: &Device<Timed>, seed: u64) -> (MemCells, PageBuffer) {
        let (history, (mut media, ring)) = match self {
            Self::Cut => (PowerHistory::Cut { ring_kept: build.config.capacitor }, device.cut(seed)),
            Self::Killed => (PowerHistory::Killed, device.flash().cut(PowerCut { seed, ring_kept: true })),
        };
        media.set_history(history);
        (media, ring)
    }

    /// Whether only what a Flush covered must be there.
    fn forgets(self, build: &Build) -> bool {
        self == Self::Cut && !build.config.capacitor
    }
}

/// Compares what a recovered device holds with what it must hold. Nothing here damages an image, but a fault that is planted can
/// leave behind what recovery takes for damage.
fn check(history: &History, rig: Result<Rig<Clocked>, String>, forgets: bool, violations: &mut Vec<String>) {
    let rig = &mut match rig {
        Ok(rig) => rig,
        Err(damage) => return violations.push(damage),
    };
    let found = read_all(rig);
    let mut present = Vec::new();
    for (c, (cell, found)) in history.cells.iter().zip(found).enumerate() {
        let floor = if forgets { cell.durable } else { cell.acked };
        match found {
            Err(status) => violations.push(format!("cell {c}: {status}")),
            Ok(found) => {
                if let Err(why) = cell.judge(floor, found.as_deref()) {
                    violations.push(format!("cell {c}: {why}"));
                }
                if c < KEYS && found.is_some() {
                    present.push(key(c));
                }
            }
        }
    }
    let mut listed = list_all(rig);
    listed.sort();
    present.sort();
    if listed != present {
        violations.push(format!("List returns {} keys of {}", listed.len(), present.len()));
    }
}

/// Operations from which on a history must have had everything in it.
const RICH: u32 = 1600;

/// What a campaign counted.
#[derive(Debug, Default)]
pub struct Tally {
    events: u64,
    cuts: u64,
    second_cuts: u64,
    /// Different images that these left.
    second_images: u64,
    pub violations: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    pub end: End,
    /// Every how many events of the history there is a cut.
    pub stride: u64,
    /// Every how many cuts the recovery is cut too.
    pub recut: u64,
    /// Every how many events of such a recovery.
    pub recut_stride: u64,
    /// Whether blocks are copied, and made zeros, by commands of their own too.
    pub block_commands: bool,
}

/// What the cuts of a recovery leave. It mostly reads, so most of its steps leave what one before left, and of equal images the same
/// device comes: each is looked at once.
#[derive(Default)]
struct Seconds {
    cuts: u64,
    /// With whether only what a Flush covered must be there.
    images: Vec<(bool, MemCells, PageBuffer)>,
}

impl Seconds {
    fn add(&mut self, forgets: bool, (media, ring): (MemCells, PageBuffer)) {
        self.cuts += 1;
        let is_known = |(f, m, r): &(bool, MemCells, PageBuffer)| {
            *f == forgets && r.memory() == ring.memory() && *m == media
        };
        if !self.images.iter().rev().any(is_known) {
            self.images.push((forgets, media, ring));
        }
    }
}

fn cut_here(build: &Build, plan: Campaign, history: &History, device: &Device<Timed>, tally: &mut Tally) {
    let seed = Seed(tally.events).child("cut").0;
    let again = tally.cuts.is_multiple_of(plan.recut);
    tally.cuts += 1;
    let (media, ring) = plan.end.leaves(build, device, seed);
    // What a device has at power-on is looked at, and not whether it can be read just then.
    let build = &Build { faults: FaultPlan { read: Chance::NEVER, ..build.faults }, ..build.clone() };
    let forgets = plan.end.forgets(build);
    let mut seconds = Seconds::default();
    let mut step = 0_u64;
    let rig = power_on_or_damage(build, media, &ring, |device| {
        step += 1;
        if again && step.is_multiple_of(plan.recut_stride) {
            // The second end is of either kind.
            let end = if (step / plan.recut_stride).is_multiple_of(2) { End::Cut } else { End::Killed };
            seconds.add(forgets || end.forgets(build), end.leaves(build, device, seed ^ step));
        }
    });
    let before = tally.violations.len();
    check(history, rig, forgets, &mut tally.violations);
    tally.second_cuts += seconds.cuts;
    for (forgets, media, ring) in seconds.images {
        tally.second_images += 1;
        let rig = power_on_or_damage(build, media, &ring, |_| {});
        check(history, rig, forgets, &mut tally.violations);
    }
    for v in &mut tally.violations[before..] {
        v.insert_str(0, &format!("event {}: ", tally.events));
    }
}

/// The history must have had everything in it that a cut can hit.
fn is_rich(engine: EngineKind, s: &Stats) {
    let (kv, block) = (&s.namespaces[KV as usize - 1], &s.namespaces[BLOCK as usize - 1]);
    assert!(s.flash.pages_programmed >= 200, "{}", s.flash.pages_programmed);
    assert!(s.flash.segments_erased >= 10, "{}", s.flash.segments_erased);
    assert!(engine != EngineKind::HASH_STORE || kv.store.checkpoints >= 2, "{:?}", kv.store);
    assert!(kv.store.gc_segments >= 1, "{:?}", kv.store);
    assert!(kv.store.gc_records_copied >= 1, "{:?}", kv.store);
    assert!(block.store.checkpoints >= 2 && block.store.gc_segments >= 1, "{:?}", block.store);
    assert!(block.gc_blocks_copied >= 1, "{block:?}");
}

/// The hash store's history of this seed goes where each planted fault shows.
pub const SHOWING: u64 = 7;

/// Runs a history to its end, or until there are violations enough.
pub fn campaign(build: &Build, seed: u64, operations: u32, plan: Campaign) -> Tally {
    let mut rig = Rig::<Clocked>::new(build);
    let faults = build.faults.program != Chance::NEVER;
    let mut history = History::new(Plan { seed, operations, faults, block_commands: plan.block_commands });
    let mut tally = Tally::default();
    history.run(&mut rig, |history, rig| {
        tally.events += 1;
        if tally.events.is_multiple_of(plan.stride) {
            cut_here(build, plan, history, &rig.machine.0, &mut tally);
        }
        tally.violations.len() < 20
    });
    tally.violations.extend(history.violations.iter().cloned());
    if history.blind > 0 && !build.engine.has_grains() {
        tally.violations.push(format!("{} writes needed what cannot be read", history.blind));
    }
    if tally.violations.is_empty() && operations >= RICH {
        use crate::stress::rig::Machine;
        is_rich(build.engine, &rig.machine.stats());
    }
    tally
}

fn hold(capacitor: bool, end: End, faults: FaultPlan) {
    hold_engine(EngineKind::HASH_STORE, 7, capacitor, end, faults);
}

/// `stride`: every how many events there is a cut in the check tier.
fn hold_engine(engine: EngineKind, stride: u64, capacitor: bool, end: End, faults: FaultPlan) {
    let first = if engine == EngineKind::HASH_STORE { SHOWING } else { 0 };
    for seed in first..first + tier(1, 2) {
        let (recut, recut_stride) = if engine == EngineKind::HASH_STORE { (500, 1) } else { (6, 19) };
        let plan = Campaign {
            end,
            stride: tier(stride, 1),
            recut: tier(recut, 300),
            recut_stride: tier(recut_stride, 1),
            block_commands: false,
        };
        let faults = FaultPlan { seed: faults.seed + seed, ..faults };
        let build = Build { faults, ..rig::small_with(engine, capacitor, seed) };
        let tally = campaign(&build, seed, 1600, plan);
        println!(
            "{engine:?}, capacitor {capacitor}, {end:?}, seed {seed}: {} events, {} cuts, {} of recoveries with {} images, \
             {} violations",
            tally.events,
            tally.cuts,
            tally.second_cuts,
            tally.second_images,
            tally.violations.len()
        );
        assert_eq!(tally.violations, [""; 0], "capacitor {capacitor}, {end:?}, seed {seed}");
        let least = if stride < FTL_STRIDE { (100, 10) } else { (15, 10) };
        assert!(tally.cuts > least.0 && tally.second_cuts > least.1, "{tally:?}");
    }
}

/// A cut in the middle of Copies leaves each block as it was or as it was to be, and what was acknowledged.
#[test]
fn copies_lose_nothing_at_a_cut() {
    for capacitor in [true, false] {
        let plan = Campaign {
            end: End::Cut,
            stride: tier(23, 1),
            recut: tier(100, 300),
            recut_stride: 7,
            block_commands: true,
        };
        let tally = campaign(&rig::small(capacitor, 5), 5, 1600, plan);
        println!("copies, capacitor {capacitor}: {} events, {} cuts", tally.events, tally.cuts);
        assert_eq!(tally.violations, [""; 0], "capacitor {capacitor}");
        assert!(tally.cuts > 100, "{tally:?}");
    }
}

#[test]
fn a_killed_process_loses_nothing_that_completed_with_a_capacitor() {
    hold(true, End::Killed, FaultPlan::default());
}

#[test]
fn a_killed_process_loses_nothing_that_completed_without_a_capacitor() {
    hold(false, End::Killed, FaultPlan::default());
}

/// Programs that fail now and then.
const FAILING: FaultPlan = FaultPlan {
    seed: 1,
    program: Chance::one_in(50),
    erase: Chance::NEVER,
    read: Chance::NEVER,
    spike: Chance::NEVER,
    spike_ns: 0,
    cut_at: 0,
};

#[test]
fn failed_programs_lose_nothing_at_a_cut_with_a_capacitor() {
    hold(true, End::Cut, FAILING);
}

#[test]
fn failed_programs_lose_nothing_flushed_at_a_cut_without_a_capacitor() {
    hold(false, End::Cut, FAILING);
}

/// The same for the LSM and the tree store: cuts through flushes, compactions, merges, collections and manifests.
fn hold_ordered(engine: EngineKind, capacitor: bool, end: End) {
    let plan =
        Campaign { end, stride: tier(89, 3), recut: tier(50, 300), recut_stride: 1, block_commands: false };
    let mut build = rig::roomy(capacitor, 3);
    build.config = build.config.with_engine(engine);
    build.engine = engine;
    let tally = campaign(&build, 3, 1500, plan);
    println!(
        "{engine:?}, capacitor {capacitor}, {end:?}: {} events, {} cuts, {} of recoveries with {} images",
        tally.events, tally.cuts, tally.second_cuts, tally.second_images
    );
    assert_eq!(tally.violations, [""; 0], "{engine:?}, capacitor {capacitor}, {end:?}");
    assert!(tally.cuts > 100 && tally.second_cuts > 10, "{tally:?}");
}

/// The LSM store with its jobs side by side on four cores, with values in its tree and apart.
#[test]
fn jobs_side_by_side_lose_nothing_at_a_cut() {
    for (capacitor, min_blob_size, end) in
        [(true, 0, End::Cut), (false, 14, End::Cut), (true, 14, End::Killed), (false, 0, End::Killed)]
    {
        let plan = Campaign {
            end,
            stride: tier(89, 3),
            recut: tier(50, 300),
            recut_stride: 1,
            block_commands: false,
        };
        let mut build = rig::roomy(capacitor, 3).with_engine(EngineKind::LSM);
        build.profile.firmware.background_cores.value = 4;
        build.ask(&side_by_side(min_blob_size));
        let tally = campaign(&build, 3, 1500, plan);
        println!(
            "capacitor {capacitor}, {min_blob_size}, {end:?}: {} events, {} cuts, {} of recoveries with {} images",
            tally.events, tally.cuts, tally.second_cuts, tally.second_images
        );
        assert_eq!(tally.violations, [""; 0], "capacitor {capacitor}, {min_blob_size}, {end:?}");
        assert!(tally.cuts > 100 && tally.second_cuts > 10, "{tally:?}");
    }
}

/// Every how many events of a hash FTL's history there is a cut in the check tier: recovery reads every page.
const FTL_STRIDE: u64 = 701;

/// The hash FTLs, whose tables are on flash: evictions, collections of three kinds, and recoveries are cut too.
fn hold_ftl(engine: EngineKind, capacitor: bool) {
    hold_engine(engine, FTL_STRIDE, capacitor, End::Cut, FaultPlan::default());
    if tier(false, true) {
        hold_engine(engine, FTL_STRIDE, capacitor, End::Killed, FaultPlan::default());
        hold_engine(engine, FTL_STRIDE, capacitor, End::Cut, FAILING);
    }
}

/// An engine of the registry, by what its history needs.
fn hold_any(engine: EngineKind, capacitor: bool) {
    if engine == EngineKind::HASH_STORE {
        hold(capacitor, End::Cut, FaultPlan::default());
    } else if engine.has_grains() {
        hold_ftl(engine, capacitor);
    } else {
        hold_ordered(engine, capacitor, End::Cut);
        if !capacitor {
            hold_ordered(engine, capacitor, End::Killed);
        }
    }
}

/// A module for each engine. With a capacitor nothing is lost that completed, without one nothing that was flushed.
macro_rules! power_is_cut {
    ($($name:ident $kind:ident;)*) => {
        $(mod $name {
            #[test]
            fn with_a_capacitor() {
                super::hold_any(saker_engine::EngineKind::$kind, true);
            }

            #[test]
            fn without_a_capacitor() {
                super::hold_any(saker_engine::EngineKind::$kind, false);
            }
        })*
    };
}

saker_engine::for_each_engine!(power_is_cut);

#[test]
fn failed_programs_under_a_hash_ftl_lose_nothing_at_a_cut() {
    hold_engine(EngineKind::HASH_PLUS, FTL_STRIDE, true, End::Cut, FAILING);
}

/// Programs and reads that fail: a page that a repair comes to may be unreadable just then.
const FAILING_READS: FaultPlan = FaultPlan { read: Chance::one_in(100), ..FAILING };

/// One such history, which is cut every `stride` events.
fn hold_with_failing_reads(engine: EngineKind, (capacitor, seed): (bool, u64), stride: u64) {
    let plan = Campaign { end: End::Cut, stride, recut: u64::MAX, recut_stride: 1, block_commands: false };
    let is_ordered = engine != EngineKind::HASH_STORE && !engine.has_grains();
    let mut build = if is_ordered {
        rig::roomy(capacitor, seed).with_engine(engine)
    } else {
        rig::small_with(engine, capacitor, seed)
    };
    build.faults = FaultPlan { seed, ..FAILING_READS };
    let tally = campaign(&build, seed, 1500, plan);
    assert_eq!(tally.violations, [""; 0], "{engine:?}, capacitor {capacitor}, seed {seed}");
    assert!(tally.cuts > 10, "{tally:?}");
}

fn hold_against_failing_reads(engine: EngineKind) {
    let stride = tier(if engine.has_grains() { FTL_STRIDE } else { 61 }, 7);
    for capacitor in [false, true] {
        for seed in saker_testing::seeds(tier(2, 20)) {
            hold_with_failing_reads(engine, (capacitor, seed), stride);
        }
    }
}

/// A test for each engine.
macro_rules! reads_fail {
    ($($name:ident $kind:ident;)*) => {
        mod with_failing_reads {
            $(#[test]
            fn $name() {
                super::hold_against_failing_reads(saker_engine::EngineKind::$kind);
            })*
        }
    };
}

saker_engine::for_each_engine!(reads_fail);

/// In these histories a repair comes to a record of which one page failed and another one cannot be read. Were the failed page given up, a cut would
/// bring an older value back.
#[test]
fn a_repair_keeps_what_it_cannot_copy() {
    for (engine, seed) in [(EngineKind::LSM, 17), (EngineKind::TREE, 5)] {
        hold_with_failing_reads(engine, (true, seed), 7);
    }
}
