// SPDX-License-Identifier: Apache-2.0 OR MIT
//! HostKV's time: background work takes it piece by piece, and nothing happens before the thread that does it gets there.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_engine::{LsmConfig, TreeConfig};
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::Duration;
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

fn build(write_buffer_bytes: u64) -> Build {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let mut build = Build::block(&profile, 1 << 30, 7).expect("large enough").with_engine(EngineKind::LSM);
    build.set("write_buffer_size", write_buffer_bytes).expect("in range");
    Build { interval: Duration::from_nanos(250_000), ..build }
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().to_vec()
}

fn put(n: u64) -> Op {
    Op::Put(key(n), vec![7; 64])
}

fn job(threads: usize, operations: Vec<Op>) -> Job {
    Job { threads, depth: 32, operations, flush: false, transfer: TransferOptions::default() }
}

/// Stores that fill the memtable but for a few entries, then reads that are awaited, with stores between them that fill it.
fn reads_over_a_flush(threads: usize) -> RunResult {
    const ENTRIES: u64 = (4 << 20) / 72;
    let filled = ENTRIES - 300;
    let fill = (0..filled).map(put).collect();
    let mixed = |n: u64| {
        let round = [Op::Get(key(n * 7919 % 1000)), Op::Wait, put(filled + n)];
        // All threads have the same round, each with its own keys.
        (0..round.len()).flat_map(move |i| {
            let round = round.clone();
            (0..threads as u64).map(move |t| match &round[i] {
                Op::Put(..) => put(filled + n * 64 + t),
                other => other.clone(),
            })
        })
    };
    let mixed = (0..1200).flat_map(mixed).collect();
    run_virtual(StoreKind::Host, &build(4 << 20), &[job(threads, fill), job(threads, mixed)])
        .expect("runs")
        .remove(1)
}

/// Writing a memtable of 58,000 entries takes 5 ms of a core. It takes turns with operations, and the time that a thread waits.
#[test]
fn a_flush_of_the_memtable_stalls_nobody() {
    for threads in [1, 2, 4] {
        let run = reads_over_a_flush(threads);
        let flushes = run.counters.iter().find(|(name, _)| *name == "flushes").map(|(_, n)| *n);
        assert_eq!((run.errors, flushes), (0, Some(1)), "{threads} threads");
        assert!(run.background_busy > Duration::from_nanos(4_000_000), "{:?}", run.background_busy);
        let inner = &run.timeline[1..run.timeline.len() - 1];
        let (mean, least) =
            (inner.iter().sum::<u64>() / inner.len() as u64, *inner.iter().min().expect("some"));
        assert!(3 * least >= mean, "{threads} threads: {least} of {mean} in the slowest 250 us: {inner:?}");
        let longest = run.latency.max();
        assert!(longest < 500_000, "{threads} threads: an operation took {longest} ns");
    }
}

/// Reads begin when their thread asks for them: what the thread did before does not make them shorter.
#[test]
fn a_command_is_not_sent_before_its_thread_gets_there() {
    let fill: Vec<Op> = (0..4000).map(put).collect();
    let get = |n: u64| [Op::Get(key(n * 7919 % 2000)), Op::Wait];
    let alone: Vec<Op> = (0..300).flat_map(get).collect();
    let behind_stores = (0..300).flat_map(|n| (0..60).map(move |i| put(5000 + n * 60 + i)).chain(get(n)));
    let jobs = [job(1, fill), job(1, alone), job(1, behind_stores.collect())];
    let runs = run_virtual(StoreKind::Host, &build(64 << 20), &jobs).expect("runs");
    let (alone, behind) = (&runs[1], &runs[2]);
    let cpu = behind.elapsed - alone.elapsed;
    // 18,000 stores of about 200 ns each.
    assert!(cpu > Duration::from_nanos(3_000_000), "{cpu:?}");
    let read = |run: &RunResult, part| run.latency.value_at_quantile(1.0 - part / run.operations as f64);
    let (alone, behind) = (read(alone, 150.0), read(behind, 150.0));
    assert!(100 * behind >= 97 * alone, "a read takes {alone} ns, and {behind} ns behind stores");
}

/// The blocks of a device are fewer than its flash, yet a store over them has as much memory as in the device.
#[test]
fn stores_have_as_much_memory_at_the_host_as_in_the_device() {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let block = Build::block(&profile, 1 << 30, 7).expect("large enough");
    let kv = Build::kv(&profile, 1 << 30, 7).expect("large enough");
    let g = kv.shape.geometry;
    let (lsm, tree) = (LsmConfig::new(1, &g, g.segments, true), TreeConfig::new(1, &g, g.segments, true));
    let host = |engine| block.clone().with_engine(engine).host_engine();
    let (of_lsm, of_tree) = (host(EngineKind::LSM), host(EngineKind::TREE));
    assert_eq!(of_lsm.settings.get("write_buffer_size"), Some(lsm.write_buffer_size));
    assert_eq!(of_tree.settings.get("write_buffer_size"), Some(tree.write_buffer_size));
    assert_eq!(of_tree.settings.get("cache_bytes"), Some(tree.node_cache_bytes));
    assert!(!of_lsm.ring_lasts, "the buffer is host memory");
    let mut asked = block.with_engine(EngineKind::TREE);
    asked.set("write_buffer_size", 1 << 20).expect("in range");
    asked.set("cache_bytes", 4096).expect("in range");
    let told = asked.host_engine().settings;
    assert_eq!(told.get("write_buffer_size"), Some(1 << 20), "who asks for another gets it");
    assert_eq!(told.get("cache_bytes"), Some(4096));
    let refused = asked.set("compaction_threads", 2).expect_err("it is another engine's");
    assert!(refused.contains("write one of cache_bytes, write_buffer_size"), "{refused}");
}
