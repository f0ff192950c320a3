// SPDX-License-Identifier: Apache-2.0 OR MIT
//! DiskKV with several operations in a command.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

fn key(n: u64) -> Vec<u8> {
    Seed(1).index(n).0.to_le_bytes().to_vec()
}

fn jobs(pairs: u64, bytes: usize) -> [Job; 2] {
    let puts = (0..pairs).map(|n| Op::Put(key(n), vec![n as u8; bytes])).collect();
    let gets = (0..pairs).map(|n| Op::Get(key(n * 7 % pairs))).collect();
    [puts, gets].map(|operations| Job {
        threads: 3,
        depth: 4,
        operations,
        flush: false,
        transfer: TransferOptions::default(),
    })
}

fn build(engine: EngineKind) -> Build {
    let profile = Profile::builtin("saker-mid").expect("built in");
    Build::kv(&profile, 1 << 30, 1).expect("large enough").with_engine(engine)
}

fn counts(results: &[RunResult]) -> Vec<(u64, u64, u64)> {
    results.iter().map(|r| (r.operations, r.errors, r.commands)).collect()
}

#[test]
fn every_engine_carries_out_as_many_operations_a_command_as_asked_for() {
    for engine in EngineKind::ALL {
        let (build, jobs) = (build(*engine), jobs(960, 100));
        let results = run_virtual(StoreKind::Groups { operations: 16 }, &build, &jobs).expect("runs");
        assert_eq!(counts(&results), [(960, 0, 60), (960, 0, 60)], "{}", engine.name());
        assert_eq!((results[0].user_bytes, results[1].latency.len()), (960 * 108, 960));
        let again = run_virtual(StoreKind::Groups { operations: 16 }, &build, &jobs).expect("runs");
        assert_eq!((results[1].digest, results[0].elapsed), (again[1].digest, again[0].elapsed));
    }
}

/// Of values that fill a payload there are fewer; one that is alone goes as it would without groups.
#[test]
fn groups_are_no_longer_than_a_payload() {
    let build = build(EngineKind::HASH_STORE);
    let long = run_virtual(StoreKind::Groups { operations: 16 }, &build, &jobs(30, 300_000)).expect("runs");
    assert_eq!(counts(&long), [(30, 0, 12), (30, 0, 12)], "three a command: of ten each thread sends four");
    let alone = run_virtual(StoreKind::Groups { operations: 16 }, &build, &jobs(30, 900_000)).expect("runs");
    assert_eq!(counts(&alone), [(30, 0, 30), (30, 0, 30)]);
}

#[test]
fn a_key_that_is_not_there_is_an_error_of_its_own() {
    let mut jobs = jobs(64, 10);
    jobs[1].operations.extend((0..3).map(|n| Op::Get(key(1000 + n))));
    let results = run_virtual(StoreKind::Groups { operations: 8 }, &build(EngineKind::HASH_STORE), &jobs)
        .expect("runs");
    assert_eq!((results[1].operations, results[1].errors), (67, 3));
}

#[test]
fn small_pairs_are_stored_faster_in_groups_and_a_group_takes_longer_than_a_pair() {
    let (build, jobs) = (build(EngineKind::HASH_STORE), jobs(6000, 16));
    let (alone, grouped) = (
        run_virtual(StoreKind::Disk, &build, &jobs).expect("runs"),
        run_virtual(StoreKind::Groups { operations: 64 }, &build, &jobs),
    );
    let grouped = grouped.expect("runs");
    assert!(grouped[0].rate() > 4.0 * alone[0].rate(), "{} {}", grouped[0].rate(), alone[0].rate());
    assert!(grouped[0].link_bytes * 10 < alone[0].link_bytes);
    assert!(grouped[1].latency.mean() > alone[1].latency.mean(), "the last of a group is awaited");
}
