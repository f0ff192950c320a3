// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every block is written, over and over: there is always room for translation pages, however small the table is.

use crate::bench::{Bench, LEAST, Terms};
use saker_flash::FaultPlan;
use saker_sim::{Chance, Seed};
use saker_testing::{seeds, tier};

fn overwrite(terms: Terms, seed: u64, rounds: u64) -> Bench {
    let mut rng = Seed(seed).child("full").rng();
    let mut bench = Bench::new(terms);
    let blocks = terms.config().blocks;
    let mut model: Vec<u32> = (1..=blocks as u32).collect();
    for (lba, stamp) in (0..).zip(&model) {
        assert_eq!(bench.write(lba, 1, *stamp), Some(()));
    }
    for n in 0..rounds * blocks {
        // A stride that meets another translation page each time, or anywhere.
        let lba = if seed.is_multiple_of(2) { n * 17 % blocks } else { rng.below(blocks) };
        model[lba as usize] = n as u32 + 7;
        assert_eq!(bench.write(lba, 1, n as u32 + 7), Some(()));
        bench.look_after();
        if n % 200 == 0 {
            bench.check();
        }
    }
    assert_eq!(bench.all(), model, "{terms:?}, seed {seed}");
    bench
}

#[test]
fn a_full_namespace_goes_on_with_any_table() {
    let mut copies = 0;
    for seed in seeds(tier(4, 24)) {
        for (ring_lasts, cache) in [(true, LEAST), (false, LEAST), (true, 4 * LEAST), (false, 8 * LEAST)] {
            let terms = Terms { ring_lasts, is_timed: seed % 3 == 0, ..Terms::new(cache) };
            let stats = overwrite(terms, seed, 4).map.stats();
            copies += stats.translation.translation_copies;
            assert!(stats.gc_blocks_copied > 0 || seed.is_multiple_of(2) || cache > LEAST, "{stats:?}");
            assert!(stats.checkpoints > 2, "they have their turn: {stats:?}");
        }
    }
    assert!(copies > 0, "segments of translation pages are collected while some are needed");
}

#[test]
fn programs_that_fail_are_made_good() {
    for seed in seeds(tier(4, 24)) {
        for ring_lasts in [true, false] {
            let faults = FaultPlan { seed, program: Chance::one_in(40), ..FaultPlan::default() };
            let terms = Terms { ring_lasts, faults, ..Terms::new(LEAST * (1 + seed % 4)) };
            let mut bench = overwrite(terms, seed, 2);
            let before = bench.all();
            bench.flush();
            assert_eq!(bench.restarted(seed, 0).all(), before);
        }
    }
}

/// The whole namespace is trimmed at once, and its room is there again.
#[test]
fn a_trim_of_everything_is_bounded_and_frees_everything() {
    for cache in [LEAST, 8 * LEAST] {
        let mut bench = overwrite(Terms::new(cache), 1, 1);
        let blocks = bench.terms.config().blocks;
        let before = bench.map.log_stats().bytes_appended;
        assert_eq!(bench.trim(&[(0, blocks)]), Some(()));
        let appended: u64 =
            bench.map.log_stats().bytes_appended.iter().sum::<u64>() - before.iter().sum::<u64>();
        assert!(appended < 40 * 64, "it appends a record, and not what grows with its ranges: {appended}");
        assert!(bench.all().iter().all(|stamp| *stamp == 0), "it is seen at once");
        assert!(bench.restarted(1, 0).all().iter().all(|stamp| *stamp == 0));
        bench.rest();
        assert_eq!((bench.map.blocks_in_use(), bench.all().iter().max()), (0, Some(&0)));
        bench.check();
        (0..blocks).for_each(|lba| assert_eq!(bench.write(lba, 1, 5), Some(())));
        assert!(bench.all().iter().all(|stamp| *stamp == 5));
    }
}
