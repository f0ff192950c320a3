// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions as actors in virtual time.

use saker_assembly::Build;
use saker_host::{CacheOptions, CachePolicy, TransferOptions};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::{Job, Op, StoreKind, run_virtual};

fn job(threads: usize, depth: u16, operations: Vec<Op>) -> Job {
    Job { threads, depth, operations, flush: false, transfer: TransferOptions::default() }
}

fn key(n: u64) -> Vec<u8> {
    Seed(1).index(n).0.to_le_bytes().to_vec()
}

fn puts(count: u64) -> Vec<Op> {
    (0..count).map(|n| Op::Put(key(n), vec![n as u8; 16])).collect()
}

fn gets(count: u64) -> Vec<Op> {
    (0..count).map(|n| Op::Get(key(n * 7 % count))).collect()
}

fn build(profile: &str) -> Build {
    Build::kv(&Profile::builtin(profile).expect("built in"), 1 << 30, 1).expect("large enough")
}

#[test]
fn everything_put_is_found_and_the_same_seed_gives_the_same_run() {
    let build = build("saker-mid");
    let jobs = [job(3, 4, puts(3000)), job(3, 4, gets(3000))];
    let first = run_virtual(StoreKind::Sessions { batch: 16 }, &build, &jobs).expect("runs");
    assert_eq!(first.iter().map(|r| (r.operations, r.errors)).collect::<Vec<_>>(), [(3000, 0), (3000, 0)]);
    let again = run_virtual(StoreKind::Sessions { batch: 16 }, &build, &jobs).expect("runs");
    assert_eq!(first[1].digest, again[1].digest);
    assert_eq!(first[0].elapsed, again[0].elapsed);
}

#[test]
fn commands_are_one_for_each_full_container() {
    let build = build("saker-mid");
    for (batch, commands) in [(1, 1024), (4, 256), (64, 16)] {
        let result =
            run_virtual(StoreKind::Sessions { batch }, &build, &[job(2, 8, puts(1024))]).expect("runs");
        assert_eq!(result[0].commands, commands, "batch {batch}");
    }
}

#[test]
fn larger_batches_are_faster_and_a_batch_of_one_is_like_no_layer() {
    let build = build("saker-mid");
    let jobs = [job(4, 32, puts(20_000))];
    let rate = |batch| run_virtual(StoreKind::Sessions { batch }, &build, &jobs).expect("runs")[0].rate();
    let rates = [1, 2, 4, 8, 16, 32, 64].map(rate);
    assert!(rates.windows(2).all(|w| w[1] > w[0]), "{rates:?}");
    let plain = run_virtual(StoreKind::Disk, &build, &jobs).expect("runs")[0].rate();
    assert!((0.6..1.1).contains(&(rates[0] / plain)), "{} of {plain}", rates[0]);
}

/// Every key is read twice: the second time nothing crosses the interface, in sessions and in HostKV.
#[test]
fn what_was_read_once_is_read_again_without_a_command() {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let reads: Vec<Op> = (0..500).map(|n| Op::Get(key(n))).collect();
    let jobs = [job(2, 1, puts(500)), job(2, 1, reads.clone()), job(2, 1, reads)];
    for policy in CachePolicy::ALL {
        let cache = CacheOptions { policy, ..CacheOptions::sized(1 << 20) };
        let kv = Build { cache, ..build("saker-mid") };
        let block = Build { cache, ..Build::block(&profile, 1 << 30, 1).expect("large enough") };
        for runs in [
            run_virtual(StoreKind::Sessions { batch: 16 }, &kv, &jobs),
            run_virtual(StoreKind::Host, &block, &jobs),
        ] {
            let [_, first, again] = <[_; 3]>::try_from(runs.expect("runs")).expect("three jobs");
            assert_eq!((first.errors, again.errors, again.commands), (0, 0, 0), "{policy:?}");
            assert_eq!((first.cache.hits, first.cache.misses), (0, 500));
            assert_eq!((again.cache.hits, again.cache.misses, again.cache.entries), (500, 0, 500));
            assert!(again.elapsed * 4 < first.elapsed, "{:?} after {:?}", again.elapsed, first.elapsed);
        }
    }
}

/// A transaction's reads are answered before it writes: with a wait between them time adds up.
#[test]
fn a_wait_ends_when_everything_asked_for_is_answered() {
    let build = build("saker-mid");
    let reads = |wait: bool| -> Vec<Op> {
        let pair = |n| [Op::Get(key(n)), if wait { Op::Wait } else { Op::Get(key(n)) }];
        (0..200).flat_map(pair).collect()
    };
    let run = |operations| {
        let jobs = [job(1, 8, puts(200)), job(1, 8, operations)];
        let disk = run_virtual(StoreKind::Disk, &build, &jobs).expect("runs").remove(1);
        let saker = run_virtual(StoreKind::Sessions { batch: 16 }, &build, &jobs).expect("runs").remove(1);
        assert_eq!((disk.errors, saker.errors), (0, 0));
        [disk, saker].map(|result| {
            (result.operations, result.latency.mean() * result.operations as f64, result.elapsed)
        })
    };
    for (waits, together) in run(reads(true)).into_iter().zip(run(reads(false))) {
        assert_eq!((waits.0, together.0), (200, 400));
        let one_by_one = waits.1 / waits.2.as_nanos() as f64;
        assert!((0.8..1.01).contains(&one_by_one), "{one_by_one} in flight on average");
        assert!(together.1 / together.2.as_nanos() as f64 > 4.0);
    }
}

/// With a device that has cores to spare, sessions do not wait for each other.
#[test]
fn eight_sessions_write_at_least_six_times_as_fast_as_one() {
    let mut profile = Profile::builtin("saker-high").expect("built in");
    profile.set("firmware.io_cores", "64").expect("a number");
    let build = Build::kv(&profile, 1 << 30, 1).expect("large enough");
    let rate = |threads| {
        run_virtual(StoreKind::Sessions { batch: 64 }, &build, &[job(threads, 32, puts(100_000))])
            .expect("runs")[0]
            .rate()
    };
    let (one, eight) = (rate(1), rate(8));
    println!("{:.2} M/s by one session, {:.2} by eight", one / 1e6, eight / 1e6);
    assert!(eight >= 6.0 * one, "{:.2}", eight / one);
}
