// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background jobs on cores of their own: more of them make a fill that waits for compactions shorter, the same run is the same every
//! time, and a writer that is stopped goes on as soon as any job has made room.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::write_gate::Hold;
use saker_engine::{Settings, WriteStallCause};
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

const PAIRS: u64 = 30_000;
const VALUE_BYTES: usize = 92;
/// Of the profile's flash.
const PAGE_BYTES: u64 = 16 << 10;

/// Values are in the tree, whose tables are small, and the first level is merged as soon as there is a table: compactions bound a fill.
const MERGING: [(&str, u64); 7] = [
    ("min_blob_size", 14),
    ("write_buffer_size", 64 << 10),
    ("max_write_buffer_number", 4),
    ("target_file_size_base", 32 << 10),
    ("max_bytes_for_level_base", 128 << 10),
    ("level0_stop_writes_trigger", 8),
    ("slowdown", 0),
];

/// A device whose background work has so many cores, and as many compactions at once.
fn build(background_cores: u32, compaction_threads: u64) -> Build {
    let mut profile = Profile::builtin("saker-mid").expect("built in");
    profile.firmware.background_cores.value = background_cores;
    profile.firmware.cpu_factor_percent.value = 800;
    let mut build = Build::kv(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&MERGING));
    build.ask(&Settings::told(&[("compaction_threads", compaction_threads)]));
    build
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

fn value(n: u64) -> Vec<u8> {
    vec![n as u8; VALUE_BYTES]
}

fn job(operations: Vec<Op>) -> Job {
    Job { threads: 2, depth: 16, operations, flush: false, transfer: TransferOptions::default() }
}

/// A fill of a device with usual prices and so many cores for its jobs, whose compactions read so many bytes ahead. `0` cores: jobs take turns
/// with commands.
fn fill_ahead(cores: u32, bytes: u64) -> RunResult {
    let mut profile = Profile::builtin("saker-mid").expect("built in");
    profile.firmware.background_cores.value = cores;
    let mut build = Build::kv(&profile, 256 << 20, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&MERGING));
    build.ask(&Settings::told(&[("compaction_readahead_size", bytes), ("compaction_threads", 1)]));
    let puts = (0..PAIRS).map(|n| Op::Put(key(n), value(n))).collect();
    let mut runs = run_virtual(StoreKind::Sessions { batch: 4 }, &build, &[job(puts)]).expect("runs");
    let puts = runs.remove(0);
    assert_eq!(puts.errors, 0, "{bytes} bytes ahead");
    puts
}

#[test]
fn compactions_in_the_device_that_read_ahead_wait_less_and_read_no_page_twice() {
    for cores in [0, 1, 3] {
        let [plain, ahead] = [0, 64 << 10].map(|bytes| fill_ahead(cores, bytes));
        let read = |run: &RunResult| {
            let bytes =
                run.counters.iter().find(|(name, _)| *name == "compact_read_bytes").map_or(0, |(_, n)| *n);
            (run.reads.nand_pages, bytes / PAGE_BYTES)
        };
        println!(
            "{cores}: {:?} {:?}, ahead {:?} {:?}",
            plain.elapsed,
            read(&plain),
            ahead.elapsed,
            read(&ahead)
        );
        assert!(10 * ahead.elapsed.as_nanos() < 8 * plain.elapsed.as_nanos(), "{cores} cores");
        // Descriptions of tables count as read, which stay in memory; a compaction that has not ended does not.
        let (nand, pages) = read(&ahead);
        assert!(nand > 0 && nand <= pages + pages / 10, "{cores} cores: {nand} reads of {pages} pages");
    }
}

/// A fill, then gets of every tenth pair.
fn fill(build: &Build) -> [RunResult; 2] {
    fill_with(build, PAIRS)
}

fn fill_with(build: &Build, pairs: u64) -> [RunResult; 2] {
    let puts = (0..pairs).map(|n| Op::Put(key(n), value(n))).collect();
    let gets = (0..pairs).step_by(10).map(|n| Op::Get(key(n))).collect();
    let runs = run_virtual(StoreKind::Disk, build, &[job(puts), job(gets)]).expect("runs");
    runs.try_into().unwrap_or_else(|_| panic!("two jobs"))
}

fn counter(run: &RunResult, name: &str) -> u64 {
    run.counters.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no counter {name}")).1
}

fn told(run: &RunResult) -> String {
    let stopped = run.stalls.all(Hold::Stopped);
    format!(
        "{:?}, stopped {:?} in {} periods, {} compactions, {} flushes",
        run.elapsed,
        stopped.time,
        stopped.periods,
        counter(run, "compactions"),
        counter(run, "flushes")
    )
}

/// Measured: 323, 54, 45 and 45 ms. With two cores the flush waits for no compaction, and with more, files are merged within level 0 beside the
/// compaction that takes it down. Eight find no more to do, since level 1 begins nothing while level 0 waits for it.
#[test]
fn more_cores_make_a_fill_that_waits_for_compactions_shorter() {
    let mut times = Vec::new();
    for cores in [1, 2, 4, 8] {
        let [puts, gets] = fill(&build(cores, u64::from(cores)));
        assert_eq!((puts.errors, gets.errors), (0, 0), "{cores} cores");
        println!("{cores} cores: {}", told(&puts));
        times.push(puts.elapsed.as_nanos());
    }
    assert!(2 * times[1] < times[0], "two cores: {times:?}");
    assert!(10 * times[2] < 9 * times[1], "four cores: {times:?}");
    assert!(times[3] <= times[2] && 4 * times[3] < times[0], "eight cores: {times:?}");
}

#[test]
fn the_same_run_is_the_same_every_time() {
    for cores in [1, 2, 4, 8] {
        let build = build(cores, 4);
        let all = || fill(&build).map(|run| (run.digest, run.elapsed, run.stalls, run.counters));
        assert_eq!(all(), all(), "{cores} cores");
    }
}

/// The longest stop for memtables, and how many compactions there were.
fn longest_stop(build: &Build) -> (u64, u64) {
    let [puts, gets] = fill_with(build, PAIRS / 10);
    assert_eq!((puts.errors, gets.errors), (0, 0));
    let cause = WriteStallCause::MemtableLimit;
    let stops = puts.stalls.recent.iter().filter(|p| p.hold == Hold::Stopped && p.cause == cause);
    (stops.map(|p| p.length.as_nanos()).max().unwrap_or(0), counter(&puts, "compactions"))
}

/// While compactions are under way all the time, a writer that waits for memory waits for a flush, and not for them.
#[test]
fn a_stopped_writer_goes_on_when_any_job_has_made_room() {
    let of = |trigger: u64| {
        let mut build = build(4, 2);
        build.ask(&Settings::told(&[
            // So few pairs are written sooner than the two pages of their table.
            ("write_buffer_size", 1 << 10),
            ("max_write_buffer_number", 2),
            ("level0_stop_writes_trigger", 10_000),
            ("level0_file_num_compaction_trigger", trigger),
        ]));
        longest_stop(&build)
    };
    let ((alone, none), (beside, some)) = (of(10_000), of(1));
    println!("the longest stop: {alone} ns without compactions, {beside} ns beside {some}");
    assert!(alone > 0 && none == 0 && some > 20, "{none} and {some} compactions, {alone} ns");
    assert!(2 * beside < 3 * alone, "{beside} ns, without compactions {alone} ns");
}
