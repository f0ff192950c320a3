// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The suite of ordered stores with compactions that are bounded so closely that tables end early and are merged instead of moved.

use super::Bench;
use super::adapted::adapted_suite;
use super::inside::{adapt, ask_for};
use crate::ordered::Ordered;
use crate::ordered::cuts::{history_with, recovers_cut};
use saker_engine::{Condition, LsmConfig, LsmStore};
use saker_flash::FaultPlan;

/// Tables have eight pages, and a compaction should have no more than three tables. A deep level has four times as much as the one above
/// it, so that a table meets several.
fn bounded(config: LsmConfig) -> LsmConfig {
    LsmConfig {
        target_file_pages: 8,
        max_compaction_bytes: 12 << 10,
        max_bytes_for_level_base: 4 << 10,
        max_bytes_for_level_multiplier: 4,
        ..config
    }
}

adapted_suite! { bounded, {
    apart: 0;
    inside: u32::MAX;
} {
    histories { with_a_capacitor without_a_capacitor with_failing_programs }
    cuts { kills_at_every_event power_cuts_at_every_event lost_rings_keep_what_was_flushed }
    groups { power_cuts_between_groups }
    pinned { a_snapshot_reads_from_failed_pages_and_holds_up_no_flush }
    strict { every_need_names_all_pages }
    space { a_full_store_still_reads_deletes_and_then_stores churn_leaks_no_space }
    released { makes_room_in_small_segments is_cut_at_every_event }
    nearly_full {
        long_pairs_make_room_for_others every_write_on_the_brink_ends new_pairs_gain_no_capacity
        every_group_on_the_brink_ends
    }
} }

/// Keys are drawn by their square, so that tables of one level meet many of the next in one place and few in another.
fn drawn(bench: &mut Bench, steps: u64, keys: u64) {
    let mut rng = saker_sim::Seed(9).rng();
    for step in 0..steps {
        let n = rng.below(keys) * rng.below(keys) / keys;
        bench
            .put(format!("k{n:05}").as_bytes(), &[step as u8; 60], Condition::Always)
            .expect("there is room");
    }
}

/// Each of the four things that the limit decides happens in these histories, of small tables, and the limit of 25 tables does none of those
/// that cost. How much goes along at each limit is tested with the rule (`policy/extend/tests.rs`).
#[test]
fn bounded_compactions_take_along_end_early_and_move_less() {
    ask_for(u32::MAX, None);
    let picks = |how: fn(LsmConfig) -> LsmConfig| {
        adapt(how);
        let config = LsmConfig { write_buffer_size: 700, ..LsmStore::small(true) };
        let mut bench = Bench::new(config, FaultPlan::default());
        drawn(&mut bench, 12_000, 700);
        bench.check();
        bench.store.lsm_stats().picks
    };
    let (narrow, usual) =
        (picks(bounded), picks(|config| LsmConfig { max_compaction_bytes: 0, ..bounded(config) }));
    println!("bounded: {narrow:?}, usual: {usual:?}");
    assert!(narrow.ended_early > 10 && narrow.not_moved > 0, "{narrow:?}");
    assert!(narrow.expanded > 10 && usual.expanded > 10, "{usual:?} {narrow:?}");
    assert_eq!((usual.ended_early, usual.not_moved), (0, 0), "{usual:?}");
}

#[test]
fn power_is_cut_while_bounded_compactions_go_on() {
    adapt(|config| LsmConfig {
        max_bytes_for_level_base: 2 << 10,
        max_compaction_bytes: 6 << 10,
        ..bounded(config)
    });
    ask_for(u32::MAX, None);
    let bench = history_with::<LsmStore>(5, LsmStore::small(true), recovers_cut, 2500);
    let picks = bench.store.lsm_stats().picks;
    println!("{picks:?}");
    assert!(picks.ended_early > 0, "{picks:?}");
}
