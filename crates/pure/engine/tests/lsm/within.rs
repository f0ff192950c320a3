// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores while files of level 0 are merged within the level: several threads, memtables of few entries, and a
//! level 1 that takes long to merge.

use super::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::bench::{Bench as Rig, Model, scale};
use crate::ordered::cuts::{history_with, recovers_cut, recovers_killed};
use saker_engine::{Condition, KvError, LsmConfig, LsmStore};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use std::cell::Cell;

fn crowded(config: LsmConfig) -> LsmConfig {
    LsmConfig {
        compaction_threads: 2,
        max_write_buffer_number: 3,
        write_buffer_size: 10 * 72,
        max_bytes_for_level_base: 8 << 10,
        level0_file_num_compaction_trigger: 1,
        level0_slowdown_writes_trigger: 20,
        level0_stop_writes_trigger: 36,
        soft_pending_compaction_bytes_limit: 1 << 40,
        hard_pending_compaction_bytes_limit: 1 << 40,
        ..config
    }
}

macro_rules! suite {
    ($($name:ident: $size:expr;)*) => {
        $(mod $name {
            suite!(@tests $size, histories { with_a_capacitor with_failing_programs });
            suite!(@tests $size, cuts { kills_at_every_event power_cuts_at_every_event lost_rings_keep_what_was_flushed });
            suite!(@tests $size, groups { power_cuts_between_groups a_lost_ring_loses_whole_groups });
            suite!(@tests $size, pinned { a_snapshot_reads_from_failed_pages_and_holds_up_no_flush });
            suite!(@tests $size, strict { every_need_names_all_pages });
            suite!(@tests $size, space { a_full_store_still_reads_deletes_and_then_stores churn_leaks_no_space });
            suite!(@tests $size, released { makes_room_in_larger_segments is_cut_at_every_event });
            suite!(@tests $size, nearly_full {
                long_pairs_make_room_for_others every_write_on_the_brink_ends new_pairs_gain_no_capacity
                every_group_on_the_brink_ends
            });
        })*
    };
    (@tests $size:expr, $module:ident { $($test:ident)* }) => {
        $(#[test]
        fn $test() {
            super::adapt(super::crowded);
            super::ask_for($size, None);
            crate::ordered::$module::$test::<super::LsmStore>();
        })*
    };
}

suite! {
    apart: 0;
    mixed: 64;
    inside: u32::MAX;
}

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
