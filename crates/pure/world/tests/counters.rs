// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Counters of engines in a timed device, where operations wait for pages and are tried again.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::{Rng, Seed};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

/// Histories for each engine: 20 times as many in the soak tier.
fn histories() -> u64 {
    saker_testing::tier(2, 40)
}

const PAIRS: u64 = 3000;

/// A cache of a few pages, so that sections and nodes leave while somebody waits for others.
fn build(engine: EngineKind) -> Build {
    let profile = Profile::builtin("kvvirt").expect("built in");
    let mut build = Build::kv(&profile, 1 << 28, 3).expect("large enough").with_engine(engine);
    let cache_bytes = if engine.has_grains() { 64 << 10 } else { 32 << 10 };
    if engine.has_setting("cache_bytes") {
        build.set("cache_bytes", cache_bytes).expect("in range");
    }
    if engine == EngineKind::TREE {
        build.set("write_buffer_size", 8 << 10).expect("in range");
    }
    build
}

fn side(rng: &mut Rng, reads_in_ten: u64) -> Op {
    let key = rng.below(PAIRS).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec();
    if rng.below(10) < reads_in_ten {
        Op::Get(key)
    } else {
        Op::Put(key, vec![7; 20 + rng.below(600) as usize])
    }
}

fn jobs(seed: u64, threads: usize, depth: u16) -> Vec<Job> {
    let mut rng = Seed(seed).rng();
    let mut job = |reads_in_ten| Job {
        threads,
        depth,
        operations: (0..3000).map(|_| side(&mut rng, reads_in_ten)).collect(),
        flush: false,
        transfer: TransferOptions::default(),
    };
    vec![job(0), job(5), job(10), job(9)]
}

fn counter(run: &RunResult, name: &str) -> Option<u64> {
    run.counters.iter().find(|(n, _)| *n == name).map(|(_, count)| *count)
}

/// A ratio of what was found to what was wanted, job by job, lies between 0 and 1.
fn ratios_hold(runs: &[RunResult], wanted: &str, found: &str, at: &str) {
    let mut before = (0, 0);
    for (n, run) in runs.iter().enumerate() {
        let Some((all, hits)) = counter(run, wanted).zip(counter(run, found)) else { return };
        assert!(
            all >= before.0 && hits >= before.1,
            "{at}, job {n}: {found} falls to {hits} from {before:?}"
        );
        assert!(hits - before.1 <= all - before.0, "{at}, job {n}: {hits} of {all} after {before:?}");
        before = (all, hits);
    }
}

/// However often an operation is tried again, it looks a key up once, and finds no more sections than it asks for.
#[test]
fn what_is_looked_up_counts_once() {
    for engine in EngineKind::ALL.iter().copied() {
        for seed in saker_testing::seeds(histories()) {
            let at = format!("{} with seed {seed}", engine.name());
            let runs = run_virtual(StoreKind::Disk, &build(engine), &jobs(seed, 4, 8)).expect("runs");
            for cause in ["user", "gc"] {
                let names = ["wanted", "found"].map(|what| format!("sections_{what}_{cause}"));
                ratios_hold(&runs, &names[0], &names[1], &at);
            }
            let operations: u64 = runs.iter().map(|run| run.operations).sum();
            if let Some(lookups) = counter(&runs[3], "lookups") {
                assert_eq!(lookups, operations, "{at}");
                // A table that has not doubled often fits the cache.
                let reads = counter(&runs[3], "table_pages_read_user");
                assert!(
                    engine == EngineKind::HASH_DOUBLING || reads > Some(500),
                    "{at}: {reads:?} sections were read"
                );
            }
        }
    }
}

/// A section that was read for an operation is no hit of the same operation: even where operations follow each other, most pages
/// that are read are misses, and some are read twice for one.
#[test]
fn a_section_that_was_read_is_no_hit() {
    for engine in [EngineKind::HASH_ORIGINAL, EngineKind::HASH_PLUS] {
        let runs = run_virtual(StoreKind::Disk, &build(engine), &jobs(1, 1, 1)).expect("runs");
        let of = |name| counter(&runs[3], name).expect("a counter of hash FTLs");
        let missed = of("sections_wanted_user") - of("sections_found_user");
        let read = of("table_pages_read_user");
        assert!(missed <= read && 2 * missed >= read, "{}: {missed} of {read}", engine.name());
    }
}
