// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background jobs of HostKV on cores of the host: more of them make a fill that waits for compactions shorter, the same run is the same
//! every time, and what cores were busy with adds up, at the host and in the device.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::Settings;
use saker_host::TransferOptions;
use saker_host::host_kv::HOST_PAGE_BYTES;
use saker_profile::Profile;
use saker_sim::{Activity, Busy, CoreBusy, Duration};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

const PAIRS: u64 = 20_000;
const VALUE_BYTES: usize = 92;
const THREADS: usize = 2;

/// As in `cores.rs`: compactions bound a fill.
const MERGING: [(&str, u64); 7] = [
    ("min_blob_size", 14),
    ("write_buffer_size", 64 << 10),
    ("max_write_buffer_number", 4),
    ("target_file_size_base", 32 << 10),
    ("max_bytes_for_level_base", 128 << 10),
    ("level0_stop_writes_trigger", 8),
    ("slowdown", 0),
];

fn profile(background_cores: u32) -> Profile {
    let mut profile = Profile::builtin("saker-mid").expect("built in");
    profile.host.background_cores.value = background_cores;
    // Merging is to be what is waited for, and not the flash.
    for (name, price) in [("copy_byte_ps", "8000"), ("compare_ps", "60000"), ("move_ps", "720000")] {
        profile.set(&format!("host.cpu.{name}"), price).expect("a number");
    }
    profile
}

fn build(background_cores: u32, compaction_threads: u64) -> Build {
    let profile = profile(background_cores);
    let mut build = Build::block(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&MERGING));
    build.ask(&Settings::told(&[("compaction_threads", compaction_threads)]));
    build
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

fn job(operations: Vec<Op>) -> Job {
    Job { threads: THREADS, depth: 16, operations, flush: false, transfer: TransferOptions::default() }
}

/// A fill, then gets of every tenth pair.
fn fill(build: &Build) -> [RunResult; 2] {
    let puts = (0..PAIRS).map(|n| Op::Put(key(n), vec![n as u8; VALUE_BYTES])).collect();
    let gets = (0..PAIRS).step_by(10).map(|n| Op::Get(key(n))).collect();
    let runs = run_virtual(StoreKind::Host, build, &[job(puts), job(gets)]).expect("runs");
    runs.try_into().unwrap_or_else(|_| panic!("two jobs"))
}

#[test]
fn more_cores_make_a_fill_that_waits_for_compactions_shorter() {
    let mut times = Vec::new();
    for cores in [1, 2, 4, 8] {
        let [puts, gets] = fill(&build(cores, u64::from(cores)));
        assert_eq!((puts.errors, gets.errors), (0, 0), "{cores} cores");
        println!("{cores} cores: {:?}, busy {:?}", puts.elapsed, by_activity(&puts.busy));
        times.push(puts.elapsed.as_nanos());
    }
    assert!(10 * times[1] < 9 * times[0], "two cores: {times:?}");
    assert!(10 * times[2] < 9 * times[1], "four cores: {times:?}");
    assert!(times[3] <= times[2], "eight cores: {times:?}");
}

/// A fill with usual prices that waits for compactions, which read so many bytes ahead. Nothing is merged within level 0, else a fill with three
/// threads waits for no compaction.
fn fill_ahead(bytes: u64, threads: u64) -> RunResult {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let mut build = Build::block(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&MERGING));
    build.ask(&Settings::told(&[("compaction_readahead_size", bytes), ("compaction_threads", threads)]));
    build.ask(&Settings::told(&[("max_compaction_bytes", 128 << 10)]));
    let [puts, gets] = fill(&build);
    assert_eq!((puts.errors, gets.errors), (0, 0), "{bytes} bytes ahead");
    puts
}

#[test]
fn compactions_that_read_ahead_wait_less_and_read_no_page_twice() {
    for threads in [1, 3] {
        let [plain, ahead] = [0, 64 << 10].map(|bytes| fill_ahead(bytes, threads));
        let read = |run: &RunResult| {
            let bytes =
                run.counters.iter().find(|(name, _)| *name == "compact_read_bytes").map_or(0, |(_, n)| *n);
            (run.reads.commands, bytes / u64::from(HOST_PAGE_BYTES))
        };
        println!(
            "{threads}: {:?} {:?}, ahead {:?} {:?}",
            plain.elapsed,
            read(&plain),
            ahead.elapsed,
            read(&ahead)
        );
        assert!(10 * ahead.elapsed.as_nanos() < 8 * plain.elapsed.as_nanos(), "{threads} threads");
        // With several threads some have not ended, and their pages do not count yet.
        let (commands, pages) = if threads == 1 { read(&ahead) } else { continue };
        assert!(commands > 0 && commands <= pages + pages / 10, "{commands} reads of {pages} pages");
    }
}

#[test]
fn the_same_run_is_the_same_every_time() {
    for cores in [1, 2, 4, 8] {
        let build = build(cores, 4);
        let all =
            || fill(&build).map(|run| (run.digest, run.elapsed, run.busy, run.device_busy, run.counters));
        assert_eq!(all(), all(), "{cores} cores");
    }
}

fn by_activity(busy: &Busy) -> Vec<(&'static str, Duration)> {
    let all = Activity::ALL.into_iter().map(|activity| (activity.name(), busy.with(activity)));
    all.filter(|(_, time)| *time > Duration::ZERO).collect()
}

/// No core is busy for longer than the run takes, but for the last quantum, which may end behind it.
fn fits(busy: &Busy, run: &RunResult, slack: Duration) {
    for (n, core) in busy.cores().iter().enumerate() {
        let sum = core.iter().fold(Duration::ZERO, |sum, time| sum + *time);
        assert!(sum <= run.elapsed + slack, "core {n} was busy for {sum:?} of {:?}", run.elapsed);
    }
}

#[test]
fn busy_time_adds_up_by_core_and_by_activity() {
    let slack = Duration::from_nanos(2_000_000);
    for cores in [1, 4] {
        let [puts, gets] = fill(&build(cores, 3));
        let own = if cores > 1 { cores as usize } else { 0 };
        assert_eq!(puts.busy.cores().len(), THREADS + own, "threads, then those for jobs");
        for run in [&puts, &gets] {
            fits(&run.busy, run, slack);
            fits(&run.device_busy, run, slack);
        }
        let background = [Activity::Flush, Activity::Compaction, Activity::Collection, Activity::Maintenance];
        let jobs = background.iter().fold(Duration::ZERO, |sum, activity| sum + puts.busy.with(*activity));
        assert!(
            jobs <= puts.background_busy && jobs * 10 > puts.background_busy * 9,
            "{cores} cores: {jobs:?}"
        );
        for core in &puts.busy.cores()[..THREADS] {
            let on_threads = background.iter().any(|activity| core[*activity as usize] > Duration::ZERO);
            assert_eq!(on_threads, cores == 1, "jobs are charged to the cores that do them");
        }
        for core in &puts.busy.cores()[THREADS..] {
            assert_eq!(core[Activity::Polling as usize], Duration::ZERO, "a thread takes completions");
        }
        // A byte that is merged was read and compared, too.
        let per_byte = |activity, name| {
            let bytes = counter(&puts, name);
            assert!(bytes > 0, "{cores} cores: {name}");
            puts.busy.with(activity).as_nanos() as f64 / bytes as f64
        };
        let merged = per_byte(Activity::Compaction, "compact_write_bytes");
        let flushed = per_byte(Activity::Flush, "flush_write_bytes");
        println!("{cores} cores: ns a byte: merged {merged}, flushed {flushed}");
        assert!(merged > flushed, "{cores} cores: {:?}", by_activity(&puts.busy));
        assert!(puts.busy.with(Activity::Flush) > Duration::ZERO);
        assert!(gets.busy.with(Activity::Polling) > Duration::ZERO, "gets wait for pages");
        assert!(gets.device_busy.with(Activity::Foreground) > Duration::ZERO);
        assert!(gets.cpu_percent(&gets.busy) <= 100.0 && gets.cpu_percent(&gets.busy) > 0.0);
    }
}

/// DiskKV's threads submit, take completions and wait for them; background work is the device's.
#[test]
fn a_store_in_the_device_is_busy_there() {
    let profile = Profile::builtin("saker-mid").expect("built in");
    for background_cores in [0, 4] {
        let mut build = Build::kv(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
        build.profile.firmware.background_cores.value = background_cores;
        build.ask(&Settings::told(&MERGING));
        let puts = (0..PAIRS).map(|n| Op::Put(key(n), vec![n as u8; VALUE_BYTES])).collect();
        let run = run_virtual(StoreKind::Disk, &build, &[job(puts)]).expect("runs").remove(0);
        fits(&run.busy, &run, Duration::from_nanos(2_000_000));
        fits(&run.device_busy, &run, Duration::from_nanos(2_000_000));
        let host = by_activity(&run.busy).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(host, ["foreground", "completions", "polling"]);
        let worked = run.busy.with(Activity::Foreground) + run.busy.with(Activity::Completions);
        assert_eq!(worked, run.host_busy);
        let cores = run.device_busy.cores();
        assert_eq!(cores.len(), 1 + profile.firmware.io_cores.get() as usize + background_cores as usize);
        assert!(cores[0][Activity::Dispatch as usize] > Duration::ZERO, "the dispatcher is the first");
        assert!(run.device_busy.with(Activity::Foreground) > Duration::ZERO);
        let apart = &cores[1 + profile.firmware.io_cores.get() as usize..];
        assert!(apart.iter().all(|core| core[Activity::Foreground as usize] == Duration::ZERO));
        assert!(run.device_busy.with(Activity::Compaction) > Duration::ZERO);
        let merges = |core: &&CoreBusy| core[Activity::Compaction as usize] > Duration::ZERO;
        let merging = cores.iter().filter(merges).count();
        assert!(merging > 0 && merging <= if background_cores > 0 { apart.len() } else { cores.len() - 1 });
    }
}

/// Merging takes as much more as is said, and nothing else does.
#[test]
fn merging_has_a_price_of_its_own() {
    for cores in [1, 4] {
        let busy = |percent: u32| {
            let mut build = build(cores, 3);
            build.profile.host.merge_cpu_percent.value = percent;
            let [puts, _] = fill(&build);
            let of = |activity| puts.busy.with(activity).as_nanos() as f64;
            // What is read counts when a merge has ended, and some have not: what is written counts as it goes on.
            let merged = counter(&puts, "compact_write_bytes") as f64;
            (of(Activity::Compaction) / merged, of(Activity::Flush) / counter(&puts, "flushes") as f64)
        };
        let (half, usual, double) = (busy(50), busy(100), busy(200));
        let ratio = |a: f64, b: f64| a / b;
        // What is merged beside differs from run to run, and commands have prices of their own.
        for (dear, cheap, expected) in
            [(double.0, usual.0, 2.0), (usual.0, half.0, 2.0), (double.1, half.1, 1.0)]
        {
            let found = ratio(dear, cheap) / expected;
            assert!((0.9..1.1).contains(&found), "{cores} cores: {found} of {expected}");
        }
    }
}

fn counter(run: &RunResult, name: &str) -> u64 {
    run.counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
}
