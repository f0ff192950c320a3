// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A tuner that changes memtables, level 1 and threads of HostKV while it runs: it does, the same run is the same every time, and what was
//! written is there.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::Duration;
use saker_world::stores::adoc::{AdocOptions, WhenNoneWaits};
use saker_world::stores::run_tuned;
use saker_world::{Job, Op, StoreKind, run_virtual};

const PAIRS: u64 = 20_000;
const BUFFER: u64 = 32 << 10;
const BUFFER_MOST: u64 = 128 << 10;

fn build() -> Build {
    let mut profile = Profile::builtin("saker-mid").expect("built in");
    profile.host.background_cores.value = 8;
    let mut build = Build::block(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&[
        ("min_blob_size", 14),
        ("write_buffer_size", BUFFER_MOST),
        ("max_bytes_for_level_base", 4 * BUFFER_MOST),
        ("compaction_threads", 6),
        ("level0_stop_writes_trigger", 8),
        ("target_file_size_base", 32 << 10),
        ("slowdown", 0),
    ]));
    build
}

fn options(when_none_waits: WhenNoneWaits) -> AdocOptions {
    AdocOptions {
        period: Duration::from_nanos(500_000),
        buffer: BUFFER,
        buffers: (BUFFER / 2, BUFFER_MOST),
        jobs: 2,
        jobs_max: 8,
        when_none_waits,
        slowdown_trigger: 20,
        soft_limit: 1 << 20,
    }
}

fn jobs() -> [Job; 2] {
    let key = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec();
    let puts = (0..2 * PAIRS).map(|n| Op::Put(key(n % PAIRS), vec![n as u8; 92])).collect();
    let gets = (0..PAIRS).step_by(7).map(|n| Op::Get(key(n))).collect();
    [puts, gets].map(|operations| Job {
        threads: 2,
        depth: 16,
        operations,
        flush: false,
        transfer: TransferOptions::default(),
    })
}

#[test]
fn it_changes_what_it_may_and_nothing_is_lost() {
    let untuned = run_virtual(StoreKind::Host, &build(), &jobs()).expect("runs");
    for rule in [WhenNoneWaits::Larger, WhenNoneWaits::Smaller] {
        let run = || run_tuned(&build(), options(rule), &jobs()).expect("runs");
        let (results, changes) = run();
        assert!(changes.iter().all(|n| *n > 0), "{rule:?}: {changes:?}");
        assert!(results.iter().all(|result| result.errors == 0), "{rule:?}");
        assert_ne!(results[0].elapsed, untuned[0].elapsed, "{rule:?}: it makes a difference");
        assert_eq!(results[1].operations, untuned[1].operations);
        assert_eq!(results[1].gets.count, untuned[1].gets.count, "{rule:?}: every value is read whole");
        let (again, changed) = run();
        let told = |all: &[saker_world::RunResult]| {
            all.iter().map(|run| (run.digest, run.elapsed, run.counters.clone())).collect::<Vec<_>>()
        };
        assert_eq!((told(&again), changed), (told(&results), changes), "{rule:?}: the same every time");
    }
}

/// A store that has no room for what the tuner may ask for is refused before anything runs.
#[test]
#[should_panic(expected = "memtables have room for the largest")]
fn a_store_without_room_for_it_is_refused() {
    let mut build = build();
    build.ask(&Settings::told(&[("write_buffer_size", BUFFER)]));
    let _ = run_tuned(&build, options(WhenNoneWaits::Larger), &jobs());
}
