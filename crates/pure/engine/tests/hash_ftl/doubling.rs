// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A table that doubles, against a model, with power cuts while sections are divided.

use crate::hash_ftl::rig::{Bench, Model, scale, variants};
use saker_engine::hash_ftl::{HashFtlConfig, Validity};
use saker_engine::{Condition, KvError};
use saker_flash::{Cells, FaultPlan};
use saker_segment_store::PowerHistory;
use saker_sim::{Chance, Rng, Seed};

const SEGMENTS: u32 = 40;

fn config(ring_lasts: bool) -> HashFtlConfig {
    let all = variants(SEGMENTS, ring_lasts);
    all.into_iter().find(|c| c.doubles_at_percent.is_some()).expect("one that doubles")
}

fn key(n: u64) -> Vec<u8> {
    let mut key = format!("k{n:04}").into_bytes();
    key.resize(5 + (n % 11) as usize, b'x');
    key
}

/// More and more pairs, of which some are overwritten and some deleted.
fn step(bench: &mut Bench, model: &mut Model, rng: &mut Rng, n: u64) {
    let k = key(if rng.below(3) > 0 { n } else { rng.below(n + 1) });
    if rng.below(8) == 0 {
        assert_eq!(bench.delete(&k), model.remove(&k).map(|_| ()).ok_or(KvError::NotFound));
        return;
    }
    let mut value = vec![0; rng.below(90) as usize];
    rng.fill(&mut value);
    match bench.put(&k, &value, Condition::Always) {
        Ok(()) => drop(model.insert(k, value)),
        Err(e) => assert_eq!((e, model.len() > 1500), (KvError::CapacityExceeded, true), "{}", model.len()),
    }
}

#[test]
fn a_table_doubles_as_pairs_come_and_counts_what_that_takes() {
    let both = [config(true), HashFtlConfig { validity: Validity::InvalidPages, ..config(true) }];
    for config in both {
        let mut bench = Bench::new(config, SEGMENTS, FaultPlan::default());
        let (mut model, mut rng, mut loads) = (Model::new(), Seed(1).rng(), Vec::new());
        let levels = config.levels(1024).expect("it doubles");
        for n in 0..3000 {
            let before = bench.store.ftl_stats().doublings;
            step(&mut bench, &mut model, &mut rng, n);
            let doublings = bench.store.ftl_stats().doublings;
            if doublings > before {
                let slots = u64::from(levels.at(before as u32).sections()) * 128;
                loads.push(model.len() as u64 * 100 / slots);
            }
            if n % 500 == 0 {
                bench.check(&model);
            }
        }
        bench.check(&model);
        let stats = bench.store.ftl_stats();
        assert!(stats.doublings >= 3 && loads.iter().all(|load| (60..=81).contains(load)), "{loads:?}");
        let divided: u64 = (0..stats.doublings as u32).map(|l| u64::from(levels.at(l).sections())).sum();
        assert_eq!((bench.store.is_doubling(), stats.sections_divided), (false, divided));
        // Each section that is divided becomes two pages, and is read if it is not in memory.
        let [_, _, rehash] = stats.table_pages_written;
        assert_eq!((rehash, stats.table_bytes_written[2]), (2 * divided, 2 * divided * 1024));
        assert!((1..=divided).contains(&stats.table_pages_read[2]), "{stats:?}");
        assert_eq!(stats.lookups, stats.since(&Default::default()).lookups);
    }
}

#[test]
fn a_fixed_table_counts_no_rehash() {
    let mut bench = Bench::new(variants(SEGMENTS, true)[0], SEGMENTS, FaultPlan::default());
    let (mut model, mut rng) = (Model::new(), Seed(1).rng());
    (0..1000).for_each(|n| step(&mut bench, &mut model, &mut rng, n));
    let stats = bench.store.ftl_stats();
    assert_eq!((stats.doublings, stats.sections_divided), (0, 0));
    assert_eq!((stats.table_pages_written[2], stats.table_pages_read[2]), (0, 0));
    assert!(stats.table_pages_written[0] > 0);
}

/// Cuts power after every operation while sections are divided, and now and then otherwise. What is left must be all that was
/// stored, and go on doubling.
fn cut_while_doubling(seed: u64, config: HashFtlConfig, faults: FaultPlan) -> Happened {
    let mut bench = Bench::new(config, SEGMENTS, faults);
    let (mut model, mut rng, mut cuts) = (Model::new(), Seed(seed).rng(), 0);
    for n in 0..1700 {
        step(&mut bench, &mut model, &mut rng, n);
        let is_doubling = bench.store.is_doubling();
        if !is_doubling && rng.below(300) > 0 {
            continue;
        }
        cuts += u32::from(is_doubling);
        if !config.ring_lasts {
            bench.flush();
        }
        let history = match rng.below(2) {
            0 => PowerHistory::Killed,
            _ => PowerHistory::Cut { ring_kept: config.ring_lasts },
        };
        let mut after = bench.clone();
        after.restart(history, rng.next_u64());
        after.check(&model);
        if rng.below(4) == 0 {
            let mut later = model.clone();
            (n..n + 60).for_each(|n| step(&mut after, &mut later, &mut rng, n));
            after.check(&later);
        }
        if rng.below(3) == 0 {
            bench.restart(history, rng.next_u64());
        }
    }
    bench.check(&model);
    let erased = (0..SEGMENTS).map(|n| bench.flash.media().epoch(saker_segment_store::SegmentId(n))).sum();
    Happened { cuts, erased }
}

/// What has happened in some histories.
struct Happened {
    cuts: u32,
    erased: u32,
}

/// What happened in so many histories: segments must have been collected.
fn histories(count: u64, run: impl Fn(u64) -> Happened) -> u32 {
    let all: Vec<Happened> = (0..count).map(run).collect();
    let erased: u32 = all.iter().map(|h| h.erased).sum();
    assert!(erased > count as u32 * SEGMENTS / 2, "{erased} erased in {count} histories");
    all.iter().map(|h| h.cuts).sum()
}

#[test]
fn cuts_while_a_table_doubles_lose_nothing() {
    let cuts = histories(scale(2), |s| cut_while_doubling(s, config(true), FaultPlan::default()));
    assert!(cuts > 20, "{cuts}");
}

#[test]
fn cuts_while_a_table_doubles_lose_nothing_flushed_without_a_capacitor() {
    let cuts = histories(scale(2), |s| cut_while_doubling(s, config(false), FaultPlan::default()));
    assert!(cuts > 20, "{cuts}");
}

#[test]
fn failing_programs_while_a_table_doubles_lose_nothing() {
    let faults = |seed| FaultPlan { seed, program: Chance::one_in(60), ..FaultPlan::default() };
    let cuts = histories(scale(1), |s| cut_while_doubling(s, config(true), faults(s)));
    assert!(cuts > 10, "{cuts}");
}
