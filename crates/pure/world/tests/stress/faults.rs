// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs, erases and reads that fail, and operations that take too long: the host sees errors or
//! nothing, never wrong data, and the device goes on.

use crate::stress::history::{History, Plan, read_all};
use crate::stress::rig::{self, Machine, Rig};
use crate::stress::tier;
use saker_flash::FaultPlan;
use saker_nvme::Status;
use saker_sim::Chance;
use saker_world::Clocked;

fn all_faults(seed: u64) -> FaultPlan {
    FaultPlan {
        seed,
        program: Chance::one_in(50),
        erase: Chance::one_in(50),
        read: Chance::one_in(200),
        spike: Chance::one_in(30),
        spike_ns: 500_000,
        cut_at: 0,
    }
}

/// What a history under faults counted.
#[derive(Debug, Default)]
struct Tally {
    unreadable: u32,
    refused: u32,
    undurable: u32,
    failures: u64,
    retired: u32,
    capacity_lost: bool,
}

fn run(seed: u64, capacitor: bool, faults: FaultPlan, operations: u32) -> Tally {
    let mut build = rig::small(capacitor, seed);
    build.faults = faults;
    let mut rig = Rig::<Clocked>::new(&build);
    let capacity = |rig: &mut Rig<Clocked>| rig.machine.stats().namespaces[0].capacity_bytes;
    let before = capacity(&mut rig);
    let mut history = History::new(Plan { seed, operations, faults: true, block_commands: false });
    history.run(&mut rig, |_, _| true);
    assert_eq!(history.violations, [""; 0], "seed {seed}, {faults:?}");
    assert_eq!(history.blind, 0, "this engine writes without a look");
    // Everything is still there at the end, or says that it cannot be read.
    for (c, found) in read_all(&mut rig).into_iter().enumerate() {
        match found {
            Ok(found) => {
                let judged = history.cells[c].judge(history.cells[c].acked, found.as_deref());
                assert!(judged.is_ok(), "seed {seed}, cell {c}: {judged:?}");
            }
            Err(s) => {
                let known = s.is(Status::UNRECOVERED_ERROR) || s.is(Status::UNRECOVERED_READ_ERROR);
                assert!(known && faults.read != Chance::NEVER, "seed {seed}, cell {c}: {s}");
                history.unreadable += 1;
            }
        }
    }
    let after = rig.machine.stats();
    Tally {
        unreadable: history.unreadable,
        refused: history.refused,
        undurable: history.undurable,
        failures: after.flash.failures,
        retired: after.retired_segments,
        capacity_lost: after.namespaces[0].capacity_bytes < before,
    }
}

#[test]
fn failing_programs_lose_nothing_with_a_capacitor() {
    for seed in saker_testing::seeds(tier(6, 120)) {
        let faults = FaultPlan { read: Chance::NEVER, erase: Chance::NEVER, ..all_faults(seed) };
        let tally = run(seed, true, faults, 5000);
        assert!(tally.failures > 0, "{tally:?}");
        assert_eq!((tally.unreadable, tally.refused, tally.undurable), (0, 0, 0), "seed {seed}: {tally:?}");
    }
}

#[test]
fn failing_programs_lose_nothing_without_a_capacitor() {
    let (seeds, mut stuck) = (tier(6, 120), 0);
    for seed in saker_testing::seeds(seeds) {
        let rare = Chance::one_in(200);
        let faults =
            FaultPlan { program: rare, read: Chance::NEVER, erase: Chance::NEVER, ..all_faults(seed) };
        let tally = run(seed, false, faults, 5000);
        assert!(tally.failures > 0 && tally.unreadable == 0, "{tally:?}");
        stuck += u64::from(tally.refused + tally.undurable > 0);
    }
    assert_eq!(stuck, 0, "of {seeds} devices so many refused writes or flushes");
}

#[test]
fn failing_erases_cost_capacity_and_nothing_else() {
    let mut lost = 0;
    for seed in saker_testing::seeds(tier(6, 120)) {
        let faults = FaultPlan { seed, erase: Chance::one_in(50), ..FaultPlan::default() };
        let tally = run(seed, seed.is_multiple_of(2), faults, 5000);
        assert_eq!(u64::from(tally.retired), tally.failures, "{tally:?}");
        assert_eq!((tally.unreadable, tally.undurable), (0, 0), "{tally:?}");
        lost += u32::from(tally.capacity_lost);
    }
    assert!(lost > 0, "some failed erase hits the KV namespace");
}

#[test]
fn with_every_fault_at_once_nothing_is_ever_wrong() {
    let mut sum = Tally::default();
    for seed in saker_testing::seeds(tier(12, 240)) {
        let tally = run(seed, seed.is_multiple_of(2), all_faults(seed), 6000);
        sum.unreadable += tally.unreadable;
        sum.failures += tally.failures;
        assert!(
            !seed.is_multiple_of(2) || tally.undurable == 0,
            "with a capacitor a Flush has nothing to wait for: {tally:?}"
        );
        sum.retired += tally.retired;
    }
    println!("{sum:?}");
    assert!(sum.unreadable > 0 && sum.failures > 0 && sum.retired > 0, "{sum:?}");
}

/// How a device with very many failing programs ended.
#[derive(Debug, Default)]
struct Worn {
    failures: u64,
    refused: u32,
    undurable: u32,
    deletes: u32,
    deletes_refused: u32,
}

/// A history under failing programs, then every key deleted; at the end power is cut.
fn wear(seed: u64, capacitor: bool, one_in: u64, sum: &mut Worn) {
    let mut build = rig::small(capacitor, seed);
    build.faults = FaultPlan { seed, program: Chance::one_in(one_in), ..FaultPlan::default() };
    let mut rig = Rig::<Clocked>::new(&build);
    let mut history = History::new(Plan { seed, operations: 3000, faults: true, block_commands: false });
    history.run(&mut rig, |_, _| true);
    assert_eq!((&history.violations[..], history.unreadable), (&[][..], 0), "seed {seed}, 1 in {one_in}");
    let found = read_all(&mut rig);
    for (c, found) in found.iter().enumerate() {
        let found = found.as_ref().unwrap_or_else(|s| panic!("seed {seed}, 1 in {one_in}, cell {c}: {s}"));
        let judged = history.cells[c].judge(history.cells[c].acked, found.as_deref());
        assert!(judged.is_ok(), "seed {seed}, 1 in {one_in}, cell {c}: {judged:?}");
    }
    for c in (0..crate::stress::cells::KEYS).filter(|c| found[*c].as_ref().is_ok_and(Option::is_some)) {
        let status = crate::stress::pairs::remove(
            &mut rig,
            &saker_nvme::Key::new(&crate::stress::cells::key(c)).expect("a key"),
        );
        sum.deletes += 1;
        if status.is_success() {
            history.cells[c].versions.push(None);
            history.cells[c].acked = history.cells[c].last();
        } else {
            assert!(status.is(Status::CAPACITY_EXCEEDED), "{status}");
            sum.deletes_refused += 1;
        }
    }
    sum.failures += rig.machine.stats().flash.failures;
    sum.refused += history.refused;
    sum.undurable += history.undurable;
    cut(&build, &history, &rig, capacitor);
}

/// What was durable is there after a cut.
fn cut(build: &saker_assembly::Build, history: &History, rig: &Rig<Clocked>, capacitor: bool) {
    let (mut media, ring) = rig.machine.0.cut(1);
    media.set_history(saker_segment_store::PowerHistory::Cut { ring_kept: capacitor });
    let mut rig = rig::power_on(build, media, &ring, |_| {});
    for (c, found) in read_all(&mut rig).into_iter().enumerate() {
        let floor = if capacitor { history.cells[c].acked } else { history.cells[c].durable };
        let judged = history.cells[c].judge(floor, found.expect("reads do not fail").as_deref());
        assert!(judged.is_ok(), "cell {c} after a cut: {judged:?}");
    }
}

#[test]
fn very_many_failing_programs_lose_nothing_and_deletes_go_on() {
    for one_in in [50, 20, 8] {
        for capacitor in [true, false] {
            let mut sum = Worn::default();
            for seed in saker_testing::seeds(tier(6, 60)) {
                wear(seed, capacitor, one_in, &mut sum);
            }
            println!("1 in {one_in}, capacitor {capacitor}: {sum:?}");
            assert!(sum.failures > 0 && sum.deletes > 0, "{sum:?}");
            assert_eq!(sum.deletes_refused, 0, "a device short of room deletes: {sum:?}");
        }
    }
}
