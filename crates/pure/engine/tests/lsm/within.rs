// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files of level 0 are merged within the level in the suite of [`super::crowded`], and cuts, restarts and full devices meet such merges.

use super::crowded::crowded;
use super::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::bench::{Bench as Rig, Model, scale};
use crate::ordered::cuts::{history_with, recovers_cut, recovers_killed};
use saker_engine::{Condition, KvError, LsmStore};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use std::cell::Cell;

thread_local! {
    /// Cuts that met a merge within level 0 on its way, and all.
    static MET: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

fn cut(bench: &Rig<LsmStore>, model: &Model) {
    let (within, all) = MET.get();
    MET.set((within + u64::from(bench.store.merges_within_level0()), all + 1));
    recovers_cut(bench, model);
}

fn killed(bench: &Rig<LsmStore>, model: &Model) {
    let (within, all) = MET.get();
    MET.set((within + u64::from(bench.store.merges_within_level0()), all + 1));
    recovers_killed(bench, model);
}

/// Merges within level 0 do happen in those suites, and cuts meet them.
#[test]
fn cuts_meet_merges_within_level_0() {
    for (size, watch) in [(0, cut as fn(&_, &_)), (64, cut), (u32::MAX, cut), (u32::MAX, killed)] {
        adapt(crowded);
        ask_for(size, None);
        for seed in saker_testing::seeds(scale(1)) {
            MET.set((0, 0));
            let bench = history_with::<LsmStore>(seed, LsmStore::small(true), watch, 2500);
            let (met, picks) = (MET.get(), bench.store.lsm_stats().picks);
            println!("min_blob_size {size}, seed {seed}: cuts within and all {met:?}, {picks:?}");
            assert!(picks.within_level0 > 3 && met.0 > 10, "{size}: {met:?} {picks:?}");
        }
    }
}

/// They happen on a device that is full, too: it refuses new pairs, replaces and deletes all, and takes as many again, with a power cut
/// between.
#[test]
fn a_full_device_merges_within_level_0() {
    for size in [0, 64, u32::MAX] {
        adapt(crowded);
        ask_for(size, None);
        let mut bench = Rig::<LsmStore>::new(LsmStore::small(true), FaultPlan::default());
        let key = |n: u32| format!("key{n:06}").into_bytes();
        let within = |bench: &Rig<LsmStore>| bench.store.lsm_stats().picks.within_level0;
        let fits = |bench: &mut Rig<LsmStore>| {
            let refused = (0..).find(|n| bench.put(&key(*n), &[7; 60], Condition::Always).is_err());
            refused.expect("no device holds all")
        };
        let pairs = fits(&mut bench);
        assert_eq!(bench.put(&key(pairs), &[7; 60], Condition::Always), Err(KvError::CapacityExceeded));
        let filled = within(&bench);
        for n in (0..pairs).map(|n| n * 7919 % pairs) {
            assert_eq!(bench.put(&key(n), &[8; 60], Condition::Always), Ok(()), "{n} of {pairs}");
        }
        let replaced = within(&bench) - filled;
        println!(
            "min_blob_size {size}: {pairs} pairs, {filled} merges within level 0, {replaced} when it was full"
        );
        assert!(replaced > 0, "{size}: {replaced} after {filled}");
        bench.restart(PowerHistory::Cut { ring_kept: true }, 3);
        (0..pairs).for_each(|n| assert_eq!(bench.delete(&key(n)), Ok(()), "{n} of {pairs}"));
        let again = fits(&mut bench);
        assert!(again * 100 >= pairs * 98, "{size}: {again} of {pairs} pairs fit again");
        bench.check();
    }
}
