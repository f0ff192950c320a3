// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores whose driver leaves merges to later calls where it may: level 0 grows, and is merged at once where there is room.

mod snapshots;

use super::adapted::adapted_suite;
use super::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::bench::{Bench as Rig, Model, OWNER, scale, shape};
use crate::ordered::cuts::{history_with, recovers_cut, recovers_killed};
use saker_engine::{Condition, KvError, LsmConfig, LsmStore};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::{Geometry, SegmentStore};
use saker_sim::Class;
use std::cell::Cell;

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
    /// Cuts that met a merge of more than room is always kept for, and all.
    static MET: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// Whether the test that runs has a driver that puts work off.
pub fn is_asked() -> bool {
    ASKED.get()
}

pub fn put_off(config: LsmConfig) -> LsmConfig {
    ASKED.set(true);
    LsmConfig {
        write_buffer_size: 10 * 72,
        max_bytes_for_level_base: 4 << 10,
        level0_slowdown_writes_trigger: 20,
        level0_stop_writes_trigger: 36,
        soft_pending_compaction_bytes_limit: 1 << 40,
        hard_pending_compaction_bytes_limit: 1 << 40,
        ..config
    }
}

adapted_suite! { put_off, {
    mixed: 64;
    inside: u32::MAX;
} {
    histories { with_a_capacitor without_a_capacitor with_failing_programs }
    cuts { kills_at_every_event power_cuts_at_every_event lost_rings_keep_what_was_flushed }
    groups { power_cuts_between_groups }
    pinned { a_snapshot_reads_from_failed_pages_and_holds_up_no_flush }
    space { a_full_store_still_reads_deletes_and_then_stores churn_leaks_no_space }
    released {
        makes_room_in_small_segments makes_room_in_larger_segments makes_room_with_default_settings
        is_cut_at_every_event scans_that_come_and_go_hold_up_no_verdict
    }
    nearly_full {
        long_pairs_make_room_for_others every_write_on_the_brink_ends new_pairs_gain_no_capacity
        every_group_on_the_brink_ends
    }
} }

fn note(bench: &Rig<LsmStore>) {
    let (beyond, all) = MET.get();
    MET.set((beyond + u64::from(bench.store.merges_beyond_usual()), all + 1));
}

fn cut(bench: &Rig<LsmStore>, model: &Model) {
    note(bench);
    recovers_cut(bench, model);
}

fn killed(bench: &Rig<LsmStore>, model: &Model) {
    note(bench);
    recovers_killed(bench, model);
}

/// Such merges do happen in that suite, and cuts meet them.
#[test]
fn cuts_meet_merges_of_all_of_level_0() {
    for (size, watch) in [(64, cut as fn(&_, &_)), (u32::MAX, cut), (u32::MAX, killed)] {
        adapt(put_off);
        ask_for(size, None);
        for seed in saker_testing::seeds(scale(1)) {
            MET.set((0, 0));
            history_with::<LsmStore>(seed, LsmStore::small(true), watch, 2500);
            println!("min_blob_size {size}, seed {seed}: cuts within and all {:?}", MET.get());
            assert!(MET.get().0 > 10, "{size}: {:?}", MET.get());
        }
    }
}

fn key(n: u32) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

fn rig() -> Rig<LsmStore> {
    adapt(put_off);
    ask_for(u32::MAX, None);
    Rig::new(LsmStore::small(true), FaultPlan::default())
}

/// Level 0 grows to half way between its trigger and where writes are slowed down. Then all of it goes down in one merge.
#[test]
fn level_0_grows_and_goes_down_as_a_whole() {
    let mut bench = rig();
    let (mut most, mut n) = (0, 0);
    while bench.store.running_compactions() == 0 {
        bench.put(&key(n * 7919 % 10_000), &[7; 60], Condition::Always).expect("there is room");
        (n, most) = (n + 1, most.max(bench.store.level0_files()));
    }
    assert_eq!(most, 12, "4, and half of the 16 to 20");
    let before = bench.store.lsm_stats().compactions;
    while bench.store.running_compactions() > 0 && bench.store.lsm_stats().compactions == before {
        bench.background();
    }
    // What is flushed meanwhile is not in it.
    assert!(bench.store.level0_files() <= 1, "one merge took all of it: {:?}", bench.store.tables_by_level());
}

/// Without a clock a manifest gives back all segments of the log in which nothing is needed any more, though most segments are free.
#[test]
fn segments_of_the_log_are_not_kept_until_room_is_short() {
    let geometry = Geometry { segments: 400, ..shape().geometry };
    for min_blob_size in [64, u32::MAX] {
        adapt(put_off);
        ask_for(min_blob_size, None);
        let mut bench = Rig::<LsmStore>::shaped(
            Shape { geometry, ..shape() },
            LsmStore::small(true),
            FaultPlan::default(),
        );
        let mut most = 0;
        for n in 0..20_000 {
            bench.put(&key(n % 50), &[n as u8; 60], Condition::Always).expect("there is room");
            let free = bench.flash.view(OWNER, Class::Foreground).free_segments();
            most = most.max(geometry.segments - free);
        }
        let written = 20_000 * 60 / geometry.segment_bytes();
        assert!(
            written > 100 && most < 60,
            "{min_blob_size}: {most} segments for 50 pairs, {written} written"
        );
    }
}

/// What was put off is done when no writes come: reads do it.
#[test]
fn reads_find_in_order_what_writes_put_off() {
    let mut bench = rig();
    for n in 0..400 {
        bench.put(&key(n * 7919 % 10_000), &[7; 60], Condition::Always).expect("there is room");
    }
    while bench.store.level0_files() < 8 {
        bench.put(&key(0), &[7; 60], Condition::Always).expect("there is room");
    }
    let trigger = 4;
    let reads = (0..5000).find(|_| {
        bench.get(&key(0)).expect("it is there");
        bench.store.level0_files() < trigger
    });
    assert!(reads.is_some(), "{:?}", bench.store.tables_by_level());
}

/// Level 0 may have far more than room is kept for.
fn put_off_far(config: LsmConfig) -> LsmConfig {
    let (slowdown, stop) = (120, 140);
    LsmConfig {
        level0_slowdown_writes_trigger: slowdown,
        level0_stop_writes_trigger: stop,
        ..put_off(config)
    }
}

/// Nothing is put off that a full device needs: it takes every delete, and as many pairs again.
#[test]
fn a_full_device_puts_nothing_off_that_it_needs() {
    for how in [put_off, put_off_far] {
        adapt(how);
        ask_for(u32::MAX, None);
        let mut bench = Rig::<LsmStore>::new(LsmStore::small(true), FaultPlan::default());
        let mut most = 0;
        let mut fill = |bench: &mut Rig<LsmStore>| {
            let refused = (0..).find(|n| {
                let stored = bench.put(&key(*n * 7919 % 10_000), &[7; 60], Condition::Always);
                most = most.max(bench.store.level0_files());
                stored == Err(KvError::CapacityExceeded)
            });
            refused.expect("no device holds all")
        };
        let first = fill(&mut bench);
        for round in 0..6 {
            for n in 0..first {
                let key = key(n * 7919 % 10_000);
                match round % 3 {
                    0 => {
                        assert_eq!(bench.put(&key, &[8; 60], Condition::Always), Ok(()), "round {round}, {n}")
                    }
                    _ => assert_eq!(bench.delete(&key), Ok(()), "round {round}, {n}"),
                }
            }
            if round % 3 > 0 {
                let again = fill(&mut bench);
                assert!(again * 100 >= first * 98, "round {round}: {again} of {first}");
            }
        }
        println!("{first} pairs, {most} files in level 0");
        bench.assert_sound();
    }
}

/// Stores that come during such a merge leave it what it will still write, however long their values are.
#[test]
fn stores_leave_a_large_merge_its_room() {
    adapt(put_off_far);
    ask_for(u32::MAX, None);
    for bytes in [500, 1500, 3000] {
        let mut bench = Rig::<LsmStore>::new(LsmStore::small(true), FaultPlan::default());
        let mut n = 0;
        while bench.store.running_compactions() == 0 {
            bench.put(&key(n * 7919 % 10_000), &[7; 60], Condition::Always).expect("there is room");
            n += 1;
        }
        let (files, before) = (bench.store.level0_files(), bench.store.lsm_stats().compactions);
        assert!(files >= 40, "it merges {files} files");
        let mut stores = 0;
        while bench.store.lsm_stats().compactions == before {
            let stored = bench.put(&key(stores % 3), &vec![9; bytes], Condition::Always);
            assert_eq!(stored, Ok(()), "store {stores} of {bytes} bytes, beside a merge of {files} files");
            stores += 1;
        }
        println!("{bytes} bytes: {stores} stores beside a merge of {files} files");
        bench.assert_sound();
    }
}
