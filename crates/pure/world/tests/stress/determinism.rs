// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The same seed gives the same bytes, times, order of completions and state, whatever goes wrong on the way.

use crate::stress::history::{History, Plan};
use crate::stress::rig::{self, Machine, Rig};
use crate::stress::tier;
use saker_device::Stats;
use saker_flash::FaultPlan;
use saker_sim::{Chance, Instant};
use saker_world::Clocked;

#[derive(Debug, PartialEq)]
struct Trace {
    order: u64,
    state: u64,
    end: Instant,
    steps: u64,
    snapshot: Stats,
}

fn trace(seed: u64, capacitor: bool, faults: FaultPlan) -> Trace {
    let mut build = rig::small(capacitor, seed);
    build.faults = faults;
    let mut rig = Rig::<Clocked>::new(&build);
    let mut history = History::new(Plan { seed, operations: 1500, faults: true, block_commands: false });
    history.run(&mut rig, |_, _| true);
    let device = &rig.machine.0;
    let (state, end, steps) = (device.digest(), device.now(), device.steps());
    Trace { order: history.order.value(), state, end, steps, snapshot: rig.machine.stats() }
}

fn everything_fails(seed: u64) -> FaultPlan {
    FaultPlan {
        seed,
        program: Chance::one_in(100),
        erase: Chance::one_in(50),
        read: Chance::one_in(200),
        spike: Chance::one_in(20),
        spike_ns: 300_000,
        cut_at: 0,
    }
}

#[test]
fn a_seed_gives_one_history() {
    for seed in saker_testing::seeds(tier(4, 80)) {
        for faults in [FaultPlan::default(), everything_fails(seed)] {
            let capacitor = seed.is_multiple_of(2);
            let first = trace(seed, capacitor, faults);
            assert_eq!(first, trace(seed, capacitor, faults), "seed {seed}, {faults:?}");
        }
    }
}

#[test]
fn seeds_and_faults_give_different_histories() {
    let plain = trace(1, true, FaultPlan::default());
    assert_ne!(plain.order, trace(2, true, FaultPlan::default()).order, "the seed changes the operations");
    let faulty = trace(1, true, everything_fails(1));
    assert!(faulty.snapshot.flash.failures > 0, "{:?}", faulty.snapshot.flash);
    assert_ne!(plain.order, faulty.order, "faults change what the host sees");
}
