// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV and DiskKV with several application threads against the clock: every operation is done once, whoever does it.

use saker::url::Timing;
use saker_assembly::Build;
use saker_bench::clock::{RealRun, run_real};
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_host::TransferOptions;
use saker_hybrid::{Options, Rollback};
use saker_profile::Profile;
use saker_world::{Job, Op, StoreKind};

const PAIRS: u64 = 3000;

/// Puts of distinct keys, then gets of all of them. Values of 0 to 5,996 bytes: some longer than a page.
fn jobs(threads: usize, depth: u16) -> Vec<Job> {
    let key = |n: u64| n.to_le_bytes().to_vec();
    let puts = (0..PAIRS).map(|n| Op::Put(key(n), vec![n as u8; n as usize % 1500 * 4])).collect();
    let gets = (0..PAIRS).rev().map(|n| Op::Get(key(n))).collect();
    let job =
        |operations, flush| Job { threads, depth, operations, flush, transfer: TransferOptions::default() };
    vec![job(puts, true), job(gets, false)]
}

fn check(run: &RealRun, name: &str) {
    let user_bytes = (0..PAIRS).map(|n| 8 + n % 1500 * 4).sum::<u64>();
    let of = |n: usize| (run.results[n].operations, run.results[n].errors, run.results[n].user_bytes);
    assert_eq!([of(0), of(1)], [(PAIRS, 0, user_bytes), (PAIRS, 0, 0)], "{name}");
    for result in &run.results {
        assert_eq!(result.latency.len(), PAIRS, "{name}");
        assert!(result.elapsed.as_nanos() >= result.latency.max() / 2, "{name}: time covers every operation");
    }
}

#[test]
fn as_many_threads_as_asked_for_do_every_operation_once() {
    let profile = Profile::builtin("default").expect("built in");
    let kv = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    let block = Build::block(&profile, 1 << 30, 1).expect("large enough");
    for (threads, depth) in [(1, 1), (1, 32), (3, 4), (8, 1)] {
        let jobs = jobs(threads, depth);
        let disk = run_real(StoreKind::Disk, &kv, Timing::Off, &jobs).expect("runs");
        check(&disk, &format!("DiskKV {threads}x{depth}"));
        // A command an operation; the puts end with a Flush.
        assert_eq!([disk.results[0].commands, disk.results[1].commands], [PAIRS + 1, PAIRS]);
        assert_eq!(disk.events, 0, "nothing is due at a time when there are no latencies");
        let host = run_real(StoreKind::Host, &block, Timing::Off, &jobs).expect("runs");
        check(&host, &format!("HostKV {threads}x{depth}"));
        assert!(host.results[0].commands < PAIRS, "it writes whole pages: {}", host.results[0].commands);
    }
}

#[test]
fn operations_in_groups_are_done_once_with_few_commands() {
    let profile = Profile::builtin("default").expect("built in");
    let kv = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    for (timing, threads, group) in [(Timing::Off, 1, 64), (Timing::Off, 3, 16), (Timing::Real, 2, 16)] {
        let run =
            run_real(StoreKind::Groups { operations: group }, &kv, timing, &jobs(threads, 4)).expect("runs");
        check(&run, &format!("groups {threads}x{group}"));
        // 6 KiB at most each: a payload of a MiB takes more of them than are asked for.
        let share = |thread: usize| (PAIRS as usize - thread).div_ceil(threads).div_ceil(group) as u64;
        let commands: u64 = (0..threads).map(share).sum();
        assert_eq!([run.results[0].commands, run.results[1].commands], [commands + 1, commands]);
    }
}

#[test]
fn with_latencies_the_device_has_events_and_counts_late_ones() {
    let profile = Profile::builtin("default").expect("built in");
    let kv = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    let run = run_real(StoreKind::Disk, &kv, Timing::Real, &jobs(2, 8)).expect("runs");
    check(&run, "DiskKV real");
    assert!(run.events >= 2 * PAIRS, "each command has events: {}", run.events);
    assert!(run.late <= run.events);
}

#[test]
fn sessions_write_containers_and_find_everything() {
    let profile = Profile::builtin("default").expect("built in");
    let kv = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    for (timing, threads, batch) in [(Timing::Off, 1, 64), (Timing::Off, 3, 16), (Timing::Real, 2, 16)] {
        let run = run_real(StoreKind::Sessions { batch }, &kv, timing, &jobs(threads, 4)).expect("runs");
        check(&run, &format!("sessions {threads}x{batch}"));
        assert!(run.results[0].commands < PAIRS, "{} commands", run.results[0].commands);
        assert!(run.results[1].commands <= PAIRS, "reads that are gathered go together");
    }
}

/// Writes that find the tree at the host stopped go to the device, against the clock as in virtual time, and everything is found.
#[test]
fn a_hybrid_redirects_and_finds_everything() {
    let profile = Profile::builtin("default").expect("built in");
    let mut build = Build::block(&profile, 1 << 30, 1).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&[
        ("write_buffer_size", 64 << 10),
        ("level0_file_num_compaction_trigger", 1),
        ("level0_stop_writes_trigger", 1),
        ("min_blob_size", 14),
    ]));
    for (timing, threads, depth) in [(Timing::Off, 1, 1), (Timing::Off, 3, 4), (Timing::Real, 2, 8)] {
        for rollback in Rollback::ALL {
            let kind = StoreKind::Hybrid(Options { rollback, ..Options::default() });
            let run = run_real(kind, &build, timing, &jobs(threads, depth)).expect("runs");
            check(&run, &format!("{} {threads}x{depth}", kind.name()));
            let redirected = run.results[1].counters.iter().find(|(name, _)| *name == "redirected_writes");
            assert!(redirected.is_some_and(|(_, n)| *n > 0), "{redirected:?}");
        }
    }
}

/// Batches, and scans of what they wrote, against the clock.
#[test]
fn batches_and_scans_run_where_the_engine_has_them() {
    let profile = Profile::builtin("default").expect("built in");
    let key = |n: u64| format!("k{n:04}").into_bytes();
    let batch = |n: u64| Op::Batch((0..4u64).map(|m| Op::Put(key(n * 4 + m), vec![m as u8; 100])).collect());
    let scan = |n| Op::Scan { from: key(n), entries: 30, snapshot: None };
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        let kv = Build::kv(&profile, 1 << 30, 1).expect("large enough").with_engine(engine);
        let blocks = Build::block(&profile, 1 << 30, 1).expect("large enough").with_engine(engine);
        for (kind, build) in [
            (StoreKind::Disk, &kv),
            (StoreKind::Groups { operations: 8 }, &kv),
            (StoreKind::Sessions { batch: 8 }, &kv),
            (StoreKind::Host, &blocks),
            (StoreKind::Hybrid(Options::default()), &blocks),
        ] {
            let mut jobs = jobs(2, 4);
            jobs[0].operations = (0..100).map(batch).collect();
            jobs[1].operations = (0..100).map(scan).collect();
            let run = run_real(kind, build, Timing::Off, &jobs[..2]).expect("runs");
            let refused = if matches!(kind, StoreKind::Sessions { .. }) { 100 } else { 0 };
            let errors: Vec<_> = run.results.iter().map(|result| result.errors).collect();
            assert_eq!(errors, [refused, 0], "{} with {engine:?}", kind.name());
            assert_eq!(run.results[0].user_bytes > 0, refused == 0, "{}", kind.name());
        }
    }
}

/// What no store takes is an error in every timing, and the run goes on.
#[test]
fn keys_and_operations_that_no_store_takes_are_errors_of_their_own() {
    let profile = Profile::builtin("default").expect("built in");
    let kv = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    let mut job = jobs(2, 4).remove(0);
    let good = job.operations.len() as u64;
    job.operations.insert(3, Op::Put(Vec::new(), vec![1]));
    job.operations.insert(7, Op::Scan { from: vec![1], entries: 3, snapshot: None });
    for kind in [StoreKind::Disk, StoreKind::Groups { operations: 8 }, StoreKind::Sessions { batch: 8 }] {
        let jobs = std::slice::from_ref(&job);
        let real = run_real(kind, &kv, Timing::Off, jobs).expect("runs").results.remove(0);
        let virtual_ = saker_world::run_virtual(kind, &kv, jobs).expect("runs").remove(0);
        for result in [real, virtual_] {
            assert_eq!((result.operations, result.errors), (good + 2, 2), "{}", kind.name());
        }
    }
}
