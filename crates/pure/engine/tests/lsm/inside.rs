// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores with values beside their keys: none of them, some, and all.

use super::Bench;
use crate::ordered::Ordered;
use crate::ordered::bench::OWNER;
use saker_engine::lsm::BY_TURNS;
use saker_engine::{
    Condition, Context, Inspect, LsmConfig, LsmStore, Pairs, SCAN_PAIRS_MAX, Scan, Scanned, Scans,
};
use saker_flash::FaultPlan;
use saker_segment_store::{SegmentStore, Step};
use saker_sim::{Chance, Class, CpuMeter, CpuPrices};
use std::cell::Cell;
use std::ops::Bound;

thread_local! {
    /// Each test has a thread of its own.
    static ASKED_FOR: Cell<(u32, Option<u32>)> = const { Cell::new((0, None)) };
    /// What it does with settings of its own, at the end.
    static ADAPTED: Cell<fn(LsmConfig) -> LsmConfig> = const { Cell::new(|config| config) };
}

/// Small settings, as the test that runs wants them.
pub fn adapted(config: LsmConfig) -> LsmConfig {
    ADAPTED.get()(config)
}

/// What the test that runs wants.
pub fn adapt(how: fn(LsmConfig) -> LsmConfig) {
    ADAPTED.set(how);
}

/// Settings with those of the test that runs.
pub fn asked_for(config: LsmConfig) -> LsmConfig {
    let (min_blob_size, block_size) = ASKED_FOR.get();
    LsmConfig { min_blob_size, block_size, ..config }
}

/// The settings of the test that runs.
pub fn ask_for(min_blob_size: u32, block_size: Option<u32>) {
    ASKED_FOR.set((min_blob_size, block_size));
}

/// Entries of packed blocks that have places are longer than those of slots, by their words and by what the description has of a block:
/// 592 pairs fit without a capacitor where slots take 642. A store that decides by itself counts each pair as if it were such a one.
pub fn least_pairs() -> usize {
    if matches!(ASKED_FOR.get(), (0, Some(_)) | (BY_TURNS, _)) { 580 } else { 600 }
}

/// Memtables with values are flushed while pages are repaired, and the page buffer of 24 slots has slots for fewer failures then: when
/// one in 4 or 5 fails, one history of twenty finds no free slot any more.
pub fn failing() -> Chance {
    if ASKED_FOR.get().0 > 64 { Chance::one_in(6) } else { Chance::one_in(4) }
}

macro_rules! with_sizes {
    ($($name:ident: $size:expr, $($module:ident::$test:ident)*;)*) => {
        $(mod $name {
            use super::{ASKED_FOR, LsmStore};
            use crate::ordered;

            with_sizes!(@tests $size, histories {
                with_a_capacitor without_a_capacitor with_failing_programs
            });
            with_sizes!(@tests $size, cuts {
                kills_at_every_event kills_at_every_event_without_a_capacitor power_cuts_at_every_event
                lost_rings_keep_what_was_flushed
            });
            with_sizes!(@tests $size, groups {
                kills_between_groups power_cuts_between_groups a_lost_ring_loses_whole_groups
            });
            with_sizes!(@tests $size, pinned { a_snapshot_reads_from_failed_pages_and_holds_up_no_flush });
            with_sizes!(@tests $size, strict { every_need_names_all_pages });
            with_sizes!(@tests $size, space { a_full_store_still_reads_deletes_and_then_stores churn_leaks_no_space });
            with_sizes!(@tests $size, released {
                makes_room_in_small_segments makes_room_in_larger_segments makes_room_with_default_settings
                is_cut_at_every_event scans_that_come_and_go_hold_up_no_verdict
                what_a_snapshot_held_is_collected
            });
            with_sizes!(@tests $size, nearly_full {
                long_pairs_make_room_for_others short_pairs_make_room_for_others every_write_on_the_brink_ends
                new_pairs_gain_no_capacity every_group_on_the_brink_ends
            });
            $(with_sizes!(@tests $size, $module { $test });)*
        })*
    };
    (@tests $size:expr, $module:ident { $($test:ident)* }) => {
        $(#[test]
        fn $test() {
            ASKED_FOR.set($size);
            ordered::$module::$test::<LsmStore>();
        })*
    };
}

// Where all values of a group are beside their keys collections have nothing to take apart: groups of values of 4096 bytes are longer than
// a segment here. What replaced values take in tables does not depend on the longest record alone.
with_sizes! {
    from_64: (64, None), groups::collections_take_groups_of_longer_values_apart
        nearly_full::a_store_that_is_opened_knows_its_longest_record;
    from_4096: (4096, Some(512)),;
    unlimited: (u32::MAX, None),;
    by_turns: (saker_engine::lsm::BY_TURNS, None),;
    none_in_packed_blocks: (0, Some(512)), groups::collections_take_groups_apart
        nearly_full::a_store_that_is_opened_knows_its_longest_record;
}

fn started(size: (u32, Option<u32>)) -> Bench {
    ASKED_FOR.set(size);
    Bench::new(LsmStore::small(true), FaultPlan::default())
}

fn key(n: u32) -> Vec<u8> {
    format!("k{n:05}").into_bytes()
}

/// What only passes through the log goes without a copy, however often all of the device is written.
#[test]
fn segments_of_records_that_pass_are_freed_without_copies() {
    let mut bench = started((u32::MAX, None));
    for n in 0..6000 {
        bench.put(&key(n % 300), &[n as u8; 100], Condition::Always).expect("there is room");
    }
    let stats = bench.store.lsm_stats();
    assert!(stats.kv.gc_segments > 80 && stats.flushes > 80, "{stats:?}");
    assert_eq!(stats.kv.gc_records_copied, 0, "{stats:?}");
    bench.check();
}

/// Merges that never rest do not keep them either: where segments are short one is given back with each piece of work.
#[test]
fn dead_segments_of_records_do_not_wait_for_merges() {
    for min_blob_size in [64, u32::MAX] {
        let mut bench = started((min_blob_size, None));
        let (mut seen, mut most) = (0, 0);
        for n in 0..6000_u32 {
            bench.put(&key(n * 7919 % 300), &[n as u8; 60], Condition::Always).expect("there is room");
            let free = bench.flash.view(OWNER, Class::Foreground).free_segments();
            if free < 10 {
                (seen, most) = (seen + 1, most.max(bench.store.dead_segments()));
            }
        }
        assert!(
            seen > 20 && most <= 2,
            "{min_blob_size}: {most} dead segments, in {seen} moments without room"
        );
    }
}

/// Beside them what stays in the log is copied as ever, and nothing else.
#[test]
fn collections_copy_what_stays_in_the_log() {
    let mut bench = started((64, None));
    for n in 0..6000 {
        let bytes = if n % 7 == 0 { 100 } else { 40 };
        bench.put(&key(n % 301), &vec![n as u8; bytes], Condition::Always).expect("there is room");
    }
    let stats = bench.store.lsm_stats();
    assert!(stats.kv.gc_records_copied > 10, "{stats:?}");
    assert!(stats.kv.gc_bytes_copied / stats.kv.gc_records_copied >= 128, "only long ones: {stats:?}");
    bench.check();
}

/// A full store of values in the log takes shorter ones in their place, although values in the tree take more room: they stay in the log.
#[test]
fn where_there_is_no_room_in_the_tree_a_short_value_stays_in_the_log() {
    let mut bench = started((64, None));
    let stored =
        (0..).take_while(|n| bench.put(&key(*n), &[1; 64], Condition::Always).is_ok()).count() as u32;
    for n in 0..stored {
        assert_eq!(bench.put(&key(n), &[2; 63], Condition::Always), Ok(()), "{n} of {stored}");
    }
    let has_place = |bench: &mut Bench, n| {
        let view = &mut bench.flash.view(OWNER, Class::Foreground);
        bench.store.place_of(&key(n), view).is_some()
    };
    assert!((0..stored).any(|n| has_place(&mut bench, n)), "some stayed");
    bench.restart(saker_segment_store::PowerHistory::Killed, 1);
    bench.check();
    for n in 0..stored {
        bench.delete(&key(n)).expect("it is there");
    }
    bench.put(&key(0), &[3; 63], Condition::Always).expect("there is room");
    while bench.background() {}
    assert!(!has_place(&mut bench, 0), "with room it is in the tree");
}

/// A memtable is full of what its values take, and what replaced ones took counts until it goes.
#[test]
fn values_fill_the_memtable() {
    let flushes = |size: u32| {
        let mut bench = started((size, None));
        for n in 0..500 {
            bench.put(&key(n % 3), &[n as u8; 72], Condition::Always).expect("there is room");
        }
        bench.store.lsm_stats().flushes
    };
    let entry = 72 + 72;
    let full = 500 * entry / u64::from(LsmStore::small(true).write_buffer_size as u32);
    assert!((full / 2..=full + 2).contains(&flushes(73)), "{} of {full}", flushes(73));
    assert!(flushes(72) < full / 4, "with places three entries fill nothing: {}", flushes(72));
}

/// All pairs of a scan.
#[derive(Default)]
struct Shown(Vec<(Vec<u8>, Vec<u8>)>);

impl Pairs for Shown {
    fn wants(&mut self, _: &[u8], _: u32) -> bool {
        true
    }

    fn pair(&mut self, key: &[u8], _: u32) {
        self.0.push((key.to_vec(), Vec::new()));
    }

    fn value(&mut self, bytes: &[u8]) {
        self.0.last_mut().expect("a value follows its key").1.extend_from_slice(bytes);
    }
}

/// Wherever values are, a call shows as many pairs as it may, in order, and is charged for the copy of each byte.
#[test]
fn a_scan_shows_so_many_pairs_a_call_and_is_charged_for_each_byte() {
    for min_blob_size in [0, 64, u32::MAX, BY_TURNS] {
        let mut bench = started((min_blob_size, None));
        let value = |n: u32| vec![n as u8; if n.is_multiple_of(5) { 70 } else { n as usize % 4 }];
        for n in 0..SCAN_PAIRS_MAX as u32 + 50 {
            bench.put(&key(n), &value(n), Condition::Always).expect("there is room");
        }
        let snapshot = bench.store.snapshot().expect("it has them");
        let (mut from, mut next) = (Bound::Unbounded, 0..);
        for (count, ends) in [(SCAN_PAIRS_MAX, Scanned::Some), (50, Scanned::All)] {
            let (mut shown, mut meter) = (Shown::default(), CpuMeter::new(CpuPrices::default()));
            let scan =
                Scan { snapshot, from: from.as_ref().map(Vec::as_slice), backwards: false, values: true };
            let view = &mut bench.flash.view(OWNER, Class::Foreground);
            let step = bench.store.scan(&scan, &mut shown, &mut Context::new(view, &mut meter));
            assert!(matches!(step, Step::Done(Ok(ended)) if ended == ends), "{min_blob_size}: {step:?}");
            let expected: Vec<_> = next.by_ref().take(count).map(|n| (key(n), value(n))).collect();
            assert!(shown.0 == expected, "{min_blob_size}: {} pairs", shown.0.len());
            let bytes: usize = expected.iter().map(|(_, value)| value.len()).sum();
            assert_eq!(meter.copied_bytes(), bytes as u64, "{min_blob_size}");
            from = Bound::Excluded(expected.last().expect("some").0.clone());
        }
    }
}
