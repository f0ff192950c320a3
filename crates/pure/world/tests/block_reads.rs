// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV reads the blocks that it looks at, not the pages that it writes, and finds those that were read before in its block cache.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_host::TransferOptions;
use saker_link::Rule;
use saker_profile::Profile;
use saker_sim::{Activity, Duration};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

const PAIRS: u64 = 4000;
const BLOCK_BYTES: u64 = 4096;
/// The place of the word `4096` among those that `min_blob_size` takes.
const INSIDE: u64 = 9;

fn build(engine: EngineKind, min_blob_size: u64, block_cache_bytes: u64) -> Build {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let mut build = Build::block(&profile, 256 << 20, 7).expect("large enough").with_engine(engine);
    if engine == EngineKind::LSM {
        build.ask(&Settings::told(&[("min_blob_size", min_blob_size), ("write_buffer_size", 64 << 10)]));
    }
    Build { block_cache_bytes, ..build }
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

fn job(operations: Vec<Op>) -> Job {
    Job { threads: 1, depth: 1, operations, flush: true, transfer: TransferOptions::default() }
}

/// Puts, and twice the same gets; the results of the gets. Gets of one pair come between: the fill leaves tables to merge, and
/// what merges read is not what gets read.
fn read_twice(build: &Build) -> [RunResult; 2] {
    let puts = (0..PAIRS).map(|n| Op::Put(key(n), vec![n as u8; 100])).collect();
    let settle = vec![Op::Get(key(7)); 20_000];
    let gets = || job((0..PAIRS).step_by(40).map(|n| Op::Get(key(n))).collect());
    let jobs = [job(puts), job(settle), gets(), gets()];
    let mut runs = run_virtual(StoreKind::Host, build, &jobs).expect("runs");
    assert!(runs.iter().all(|run| run.errors == 0));
    let again = runs.pop().expect("four jobs");
    let first = runs.pop().expect("four jobs");
    let merged = first.busy.with(Activity::Compaction) + first.busy.with(Activity::Flush);
    assert_eq!(merged, Duration::ZERO, "what the fill left is done");
    [first, again]
}

/// Engines whose pairs lie in a log, or in blocks of tables.
const KINDS: [(EngineKind, u64); 3] =
    [(EngineKind::HASH_STORE, 0), (EngineKind::LSM, 0), (EngineKind::LSM, INSIDE)];

#[test]
fn a_get_reads_blocks_and_no_pages() {
    for (engine, min_blob_size) in KINDS {
        let [gets, _] = read_twice(&build(engine, min_blob_size, 0));
        let bytes = gets.traffic.bytes(&Rule::Protocol).to_host / gets.reads.commands;
        // A pair may lie across two blocks; each completion is a few bytes more.
        assert!(gets.reads.commands >= 50, "{engine:?}: {} reads", gets.reads.commands);
        assert!((BLOCK_BYTES..BLOCK_BYTES + 600).contains(&bytes), "{engine:?}: {bytes} bytes a read");
    }
}

#[test]
fn blocks_that_were_read_are_in_the_cache() {
    for (engine, min_blob_size) in KINDS {
        let [cold, warm] = read_twice(&build(engine, min_blob_size, 8 << 20));
        let none = read_twice(&build(engine, min_blob_size, 0));
        assert!(cold.reads.commands > 0 && cold.reads.block_misses > 0, "{engine:?}");
        assert_eq!((warm.reads.commands, warm.reads.block_misses, warm.reads.waits), (0, 0, 0), "{engine:?}");
        assert!(warm.reads.block_hits >= gets_that_read(&none[1]), "{engine:?}: {:?}", warm.reads);
        assert!(
            2 * warm.elapsed.as_nanos() < none[1].elapsed.as_nanos(),
            "{engine:?}: no command is waited for"
        );
        assert_eq!((none[1].reads.block_hits, none[1].reads.block_misses), (0, 0), "{engine:?}: of size 0");
        assert_eq!(none[1].reads.commands, none[0].reads.commands, "{engine:?}");
    }
}

fn gets_that_read(run: &RunResult) -> u64 {
    run.reads.commands
}

#[test]
fn the_same_run_is_the_same_every_time() {
    let build = build(EngineKind::LSM, INSIDE, 64 << 10);
    let all = || read_twice(&build).map(|run| (run.digest, run.elapsed, run.reads));
    assert_eq!(all(), all());
}
