// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Engines with their jobs side by side. The LSM store: all suites, with values in the tree and apart, and power cuts while a flush and
//! compactions are under way.

use crate::model::{subject, with_values};
use saker_engine::{Condition, EngineKind, Inspect};
use saker_engine_suite::contract::key;
use saker_engine_suite::cuts::{finds, survives};
use saker_engine_suite::long::{
    SIZES, a_cut_that_brings_a_long_value_back_leaves_a_store_that_deletes, long_values_leave_no_trace_of,
};
use saker_engine_suite::setup::{Size, TIMED};
use saker_engine_suite::{Bench, Setup, Subject, scale};
use saker_flash::FaultPlan;
use saker_segment_store::PowerHistory;
use saker_sim::Seed;
use std::cell::Cell;

type Asked = &'static [(&'static str, &'static str)];

const APART: Asked = &[("compaction_threads", "3"), ("max_write_buffer_number", "4")];
const INSIDE: Asked =
    &[("compaction_threads", "3"), ("max_write_buffer_number", "4"), ("min_blob_size", "64")];

/// Level 0 is due with its first file, so that others come while it is merged down.
const DUE_AT_ONE: Asked = &[
    ("compaction_threads", "3"),
    ("max_write_buffer_number", "4"),
    ("level0_file_num_compaction_trigger", "1"),
    ("min_blob_size", "64"),
];

const fn side_by_side(settings: Asked, workers: u32) -> Subject {
    Subject { workers, ..with_values(settings) }
}

saker_engine_suite::tests!(apart, side_by_side(APART, 5));
saker_engine_suite::tests!(inside, side_by_side(INSIDE, 4));
saker_engine_suite::tests!(within_level_0, side_by_side(CROWDED[0], 5));
saker_engine_suite::tests!(within_level_0_inside, side_by_side(DUE_AT_ONE, 5));
saker_engine_suite::tests!(small_memtables, side_by_side(CROWDED[1], 5));
saker_engine_suite::tests!(two_workers, side_by_side(&[], 2));
// Evictions and collections.
saker_engine_suite::tests!(plus, Subject { workers: 2, ..subject(EngineKind::HASH_PLUS) });
saker_engine_suite::tests!(original, Subject { workers: 2, ..subject(EngineKind::HASH_ORIGINAL) });
saker_engine_suite::tests!(doubling, Subject { workers: 3, ..subject(EngineKind::HASH_DOUBLING) });

/// Tables of two pages and a first level of four, so that there is always something to be merged.
const BUSY: [Asked; 2] = [
    &[
        ("compaction_threads", "4"),
        ("max_write_buffer_number", "4"),
        ("write_buffer_size", "1024"),
        ("target_file_size_base", "1024"),
        ("max_bytes_for_level_base", "2048"),
    ],
    &[
        ("compaction_threads", "4"),
        ("max_write_buffer_number", "4"),
        ("write_buffer_size", "4096"),
        ("target_file_size_base", "2048"),
        ("max_bytes_for_level_base", "8192"),
        ("min_blob_size", "unlimited"),
    ],
];
/// Memtables of few entries above a level 1 that takes long to merge, so that files of level 0 are merged within it.
const CROWDED: [Asked; 2] = [
    &[
        ("compaction_threads", "4"),
        ("max_write_buffer_number", "4"),
        ("write_buffer_size", "1024"),
        ("target_file_size_base", "2048"),
        ("max_bytes_for_level_base", "65536"),
        ("level0_file_num_compaction_trigger", "1"),
    ],
    &[
        ("compaction_threads", "4"),
        ("max_write_buffer_number", "4"),
        ("write_buffer_size", "4096"),
        ("target_file_size_base", "8192"),
        ("max_bytes_for_level_base", "16384"),
        ("level0_file_num_compaction_trigger", "1"),
        ("min_blob_size", "unlimited"),
    ],
];
const KEYS: u64 = 400;

thread_local! {
    /// Cuts that met a flush and so many compactions.
    static MET: Cell<[u64; 5]> = const { Cell::new([0; 5]) };
}

fn cut_beside_a_flush(bench: &Bench) {
    let together = bench.together;
    if !together.flush || together.compactions < 2 {
        return;
    }
    let mut met = MET.get();
    met[together.compactions.min(4)] += 1;
    MET.set(met);
    // Each costs a recovery.
    if met.iter().sum::<u64>() % 5 == 1 {
        let ring_kept = bench.setup.config.ring_lasts;
        survives(bench, PowerHistory::Cut { ring_kept });
    }
}

/// How often files of level 0 were merged within it.
fn merges_within(bench: &Bench) -> u64 {
    let counters = bench.store.counters();
    counters.iter().find(|(name, _)| *name == "intra_l0_compactions").map_or(0, |(_, n)| *n)
}

#[test]
fn power_is_cut_while_a_flush_and_compactions_are_under_way() {
    for (n, settings) in BUSY.into_iter().chain(CROWDED).enumerate() {
        for seed in saker_testing::seeds(scale(2)) {
            let subject = Subject { segments: 200, ..side_by_side(settings, 6) };
            let setup =
                Setup { timings: Some(TIMED), digests: false, ..Setup::small(subject, seed % 2 == 0) };
            let (mut bench, mut rng) = (setup.start(FaultPlan::default()), Seed(seed).rng());
            MET.set([0; 5]);
            bench.watch = Some(cut_beside_a_flush);
            for _ in 0..1500 {
                let k = key(&mut rng, KEYS);
                if rng.below(10) < 8 {
                    let value = vec![rng.below(256) as u8; rng.below(120) as usize];
                    assert_eq!(bench.put(&k, &value, Condition::Always), Ok(()));
                } else {
                    let is_there = bench.expected.now(&k).is_some();
                    assert_eq!(bench.delete(&k).is_ok(), is_there);
                }
            }
            bench.watch = None;
            finds(&mut bench);
            let met = MET.get();
            let within = merges_within(&bench);
            println!(
                "{n}, seed {seed}: events beside a flush, by compactions: {met:?}, {within} within level 0"
            );
            assert!(within > 3 || n < BUSY.len(), "seed {seed}: {within}");
            assert!(met[2..].iter().sum::<u64>() > 20, "seed {seed}: {met:?}");
        }
    }
}

/// Memtables of four kilobytes make tables of few pairs, which pairs that come in order do not merge. Yet the device holds what it says, since
/// neighbours are written as one when room is short; with one thread, too.
#[test]
fn small_memtables_cost_no_capacity() {
    let alone = &BUSY[1][2..];
    for subject in [side_by_side(BUSY[1], 5), with_values(alone)] {
        saker_engine_suite::full::devices_hold_what_they_say(subject);
    }
}

/// A pair that is longer than all memtables goes down a level, so what comes behind it does, too. Merges within level 0 meet it on the larger
/// device first, so the others are checked there in the soak alone: tables are small and so many that it takes long.
fn a_long_pair_holds_up_nothing(settings: Asked, sizes: &[Size]) {
    let subject = side_by_side(settings, 5);
    sizes.iter().for_each(|size| long_values_leave_no_trace_of(subject, *size));
    a_cut_that_brings_a_long_value_back_leaves_a_store_that_deletes(subject);
}

#[test]
fn a_pair_longer_than_memtables_holds_up_no_compaction() {
    for settings in [BUSY[1], &BUSY[1][2..]] {
        a_long_pair_holds_up_nothing(settings, saker_testing::tier(&SIZES[..1], &SIZES[..]));
    }
}

#[test]
fn a_pair_longer_than_memtables_holds_up_no_merge_within_level_0() {
    a_long_pair_holds_up_nothing(CROWDED[1], saker_testing::tier(&SIZES[..1], &SIZES[..]));
}
