// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores whose merges are computed elsewhere: on another thread, as a driver without time has it.

mod damage;

use super::adapted::adapted_suite;
use super::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::bench::{Bench as Rig, scale};
use crate::ordered::cuts::{history_with, recovers_cut, recovers_killed};
use crate::ordered::histories::history;
use saker_engine::{Condition, Engine, KvError, LsmConfig, LsmStore};
use saker_flash::FaultPlan;
use saker_sim::Chance;
use std::cell::Cell;

thread_local! {
    static QUANTA: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Quanta that such work takes in the test that runs, if there is any.
pub fn quanta() -> Option<u32> {
    QUANTA.get()
}

fn at_once(config: LsmConfig) -> LsmConfig {
    QUANTA.set(Some(0));
    config
}

fn late(config: LsmConfig) -> LsmConfig {
    QUANTA.set(Some(7));
    config
}

/// With several merges under way, of which one at a time is computed.
fn late_and_several(config: LsmConfig) -> LsmConfig {
    LsmConfig { compaction_threads: 3, max_write_buffer_number: 3, target_file_pages: 2, ..late(config) }
}

/// Merges begin late, and take all of level 0.
fn put_off(config: LsmConfig) -> LsmConfig {
    super::put_off::put_off(late(config))
}

mod when_it_comes_late {
    use super::{adapted_suite, late};

    adapted_suite! { late, {
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
            is_cut_at_every_event scans_that_come_and_go_hold_up_no_verdict what_a_snapshot_held_is_collected
        }
        nearly_full {
            long_pairs_make_room_for_others every_write_on_the_brink_ends new_pairs_gain_no_capacity
            every_group_on_the_brink_ends
        }
    } }
}

macro_rules! shorter_suites {
    ($($how:ident)*) => {
        $(mod $how {
            use super::{adapted_suite, $how};

            adapted_suite! { $how, {
                inside: u32::MAX;
            } {
                histories { with_a_capacitor with_failing_programs }
                cuts { kills_at_every_event power_cuts_at_every_event }
                space { churn_leaks_no_space }
                released { makes_room_in_small_segments is_cut_at_every_event what_a_snapshot_held_is_collected }
                nearly_full { long_pairs_make_room_for_others every_write_on_the_brink_ends }
            } }
        })*
    };
}

shorter_suites! { at_once late_and_several put_off }

fn key(n: u32) -> Vec<u8> {
    format!("key{n:06}").into_bytes()
}

fn rig(how: fn(LsmConfig) -> LsmConfig, size: u32) -> Rig<LsmStore> {
    adapt(how);
    ask_for(size, None);
    Rig::new(LsmStore::small(true), FaultPlan::default())
}

/// Flushes and merges of whole values go there; what refers to records of the value log does not.
#[test]
fn merges_without_records_are_computed_elsewhere() {
    for (size, goes) in [(u32::MAX, true), (64, false), (0, false)] {
        let mut bench = rig(late, size);
        for n in 0..600 {
            bench.put(&key(n * 7919 % 400), &[7; 70], Condition::Always).expect("there is room");
        }
        let [flushes, compactions, ..] = bench.done();
        assert!(flushes > 4 && compactions > 1, "{flushes} {compactions}");
        assert_eq!(bench.elsewhere.tasks >= flushes + compactions, goes, "{size}: {}", bench.elsewhere.tasks);
        bench.check();
        bench.assert_sound();
    }
}

/// Where a merge is computed makes no difference to what it writes.
#[test]
fn tables_are_the_same_wherever_they_are_computed() {
    let tables = |how: fn(LsmConfig) -> LsmConfig| {
        QUANTA.set(None);
        let mut bench = rig(how, u32::MAX);
        for n in 0..400 {
            let key = key(n * 7919 % 300);
            match n % 5 {
                4 => _ = bench.delete(&key),
                _ => bench
                    .put(&key, &vec![n as u8; 40 + n as usize % 90], Condition::Always)
                    .expect("there is room"),
            }
            // All that is due is done before the next write, so the same is due.
            while bench.background() {}
        }
        assert_eq!(bench.elsewhere.tasks > 0, QUANTA.get().is_some());
        let stats = bench.store.lsm_stats();
        (
            bench.store.tables_by_level(),
            stats.flushes,
            stats.compactions,
            stats.table_pages_written,
            stats.picks,
        )
    };
    let here = tables(|config| config);
    assert!(here.1 > 10 && here.2 > 4, "{here:?}");
    assert_eq!([tables(at_once), tables(late)], [here.clone(), here]);
}

/// Snapshots that come while a merge is away see what they should, and those that have gone keep nothing.
#[test]
fn snapshots_come_and_go_while_a_merge_is_away() {
    for seed in 60..60 + scale(6) {
        adapt(if seed % 2 == 0 { late } else { put_off });
        ask_for(u32::MAX, None);
        let plan = FaultPlan { seed, program: Chance::one_in(200), ..FaultPlan::default() };
        let faults = if seed % 3 == 0 { plan } else { FaultPlan::default() };
        history::<LsmStore>(seed, LsmStore::small(seed % 4 < 2), faults);
    }
}

/// Pages of tables are moved and repaired while the merge that reads or writes them is away.
#[test]
fn cuts_meet_merges_that_are_away() {
    for (seed, watch) in [(3, recovers_cut as fn(&_, &_)), (4, recovers_killed)] {
        adapt(late);
        ask_for(u32::MAX, None);
        let bench = history_with::<LsmStore>(seed, LsmStore::small(true), watch, 2500);
        assert!(bench.elsewhere.tasks > 50, "{}", bench.elsewhere.tasks);
    }
}

/// What another store had computed, such as one that was there before a format, changes nothing: also while a task of the same kind is out.
#[test]
fn work_of_another_store_changes_nothing() {
    let under_way = |bench: &mut Rig<LsmStore>, value: u8| {
        let found = (0..400).find_map(|n| {
            bench.put(&key(n), &[value; 70], Condition::Always).expect("there is room");
            bench.elsewhere.take()
        });
        found.expect("memtables were full")
    };
    let (mut old, mut new) = (rig(late, u32::MAX), rig(late, u32::MAX));
    let (mut foreign, mut own) = (under_way(&mut old, 1), under_way(&mut new, 2));
    let before = new.store.digest();
    [&mut foreign, &mut own].into_iter().for_each(|task| task.run(|_| ()));
    new.store.task_done(foreign);
    assert_eq!(new.store.digest(), before);
    assert!(new.store.next_task().is_none(), "its own is still out");
    new.store.task_done(own);
    while new.background() {}
    assert!(new.done()[0] > 0, "that one was flushed");
    new.check();
}

/// A full device whose merges are computed elsewhere takes every delete, and as many pairs again.
#[test]
fn a_full_device_waits_for_what_is_computed() {
    for how in [at_once, late, put_off] {
        let mut bench = rig(how, u32::MAX);
        let fill = |bench: &mut Rig<LsmStore>| {
            let refused = (0..).find(|n| {
                let stored = bench.put(&key(*n * 7919 % 10_000), &[7; 60], Condition::Always);
                stored == Err(KvError::CapacityExceeded)
            });
            refused.expect("no device holds all")
        };
        let first = fill(&mut bench);
        for n in 0..first {
            assert_eq!(bench.delete(&key(n * 7919 % 10_000)), Ok(()), "{n}");
        }
        let again = fill(&mut bench);
        assert!(again * 100 >= first * 98, "{again} of {first}");
        assert!(bench.elsewhere.tasks > 50, "{}", bench.elsewhere.tasks);
        bench.assert_sound();
    }
}
