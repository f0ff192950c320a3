// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Host and device joined: a whole path, without time and in virtual time.

use saker_assembly::Build;
use saker_assembly::port;
use saker_engine::EngineKind;
use saker_host::{ClientOptions, ConnectOptions, Connection, KvClient, KvStoreClient, TransferOptions};
use saker_profile::Profile;
use saker_sim::Seed;
use saker_world::{Clocked, Inline, Job, Op, StoreKind, run_virtual};

fn build(name: &str) -> Build {
    Build::kv(&Profile::builtin(name).expect("built in"), 1 << 30, 7).expect("large enough")
}

#[test]
fn a_pair_goes_in_and_comes_out_without_time() {
    let build = build("default");
    let host = build.attach(1, 64);
    let port = port(&host);
    let mut inline = Inline(build.untimed(host));
    let mut connection = Connection::connect(port, &mut inline, ConnectOptions::default()).expect("connects");
    let client = KvClient::open(&mut connection, inline, 1, ClientOptions::default()).expect("opens");
    let mut store = KvStoreClient::new(client);
    store.put(b"key", b"value").expect("stored");
    store.put(&[b'l'; 200], &[7; 100_000]).expect("stored");
    store.put(b"big", &vec![3; 2 << 20]).expect("stored");
    store.put(b"empty", b"").expect("stored");
    assert_eq!(store.get(b"key").expect("read"), Some(b"value".to_vec()));
    assert_eq!(store.get(&[b'l'; 200]).expect("read"), Some(vec![7; 100_000]));
    assert_eq!(store.get(b"big").expect("read"), Some(vec![3; 2 << 20]));
    assert_eq!(store.get(b"empty").expect("read"), Some(vec![]));
    assert!(store.delete(b"key").expect("deleted"));
    assert!(!store.delete(b"key").expect("not there"));
    store.flush().expect("flushed");
}

#[test]
fn a_pair_goes_in_and_comes_out_in_virtual_time() {
    let build = build("saker-mid");
    let host = build.attach(1, 64);
    let port = port(&host);
    let mut clocked = Clocked(build.timed(host));
    let mut connection =
        Connection::connect(port, &mut clocked, ConnectOptions::default()).expect("connects");
    let client = KvClient::open(&mut connection, clocked, 1, ClientOptions::default()).expect("opens");
    let mut store = KvStoreClient::new(client);
    for n in 0..2000u32 {
        store.put(&n.to_le_bytes(), &vec![n as u8; 500]).expect("stored");
    }
    store.flush().expect("flushed");
    for n in 0..2000u32 {
        assert_eq!(store.get(&n.to_le_bytes()).expect("read"), Some(vec![n as u8; 500]));
    }
}

fn job(operations: usize, value_bytes: usize, threads: usize, depth: u16) -> Job {
    let mut rng = Seed(3).rng();
    let put = |_| Op::Put(rng.next_u64().to_le_bytes().to_vec(), vec![5; value_bytes]);
    Job {
        threads,
        depth,
        operations: (0..operations).map(put).collect(),
        flush: true,
        transfer: TransferOptions::default(),
    }
}

#[test]
fn the_same_job_gives_the_same_digest_and_time() {
    let kv = build("saker-mid");
    let profile = Profile::builtin("saker-mid").expect("built in");
    let block = Build::block(&profile, 1 << 30, 7).expect("large enough");
    let job = job(5_000, 64, 4, 8);
    let jobs = [job];
    let once = || run_virtual(StoreKind::Disk, &kv, &jobs).expect("runs").remove(0);
    let (a, b) = (once(), once());
    assert_eq!((a.digest, a.elapsed, a.operations, a.errors), (b.digest, b.elapsed, 5_000, 0));
    assert!(a.commands == 5_001 && a.link_bytes >= 5_000 * (4096 + 80), "{a:?}");
    let once = || run_virtual(StoreKind::Host, &block, &jobs).expect("runs").remove(0);
    let (a, b) = (once(), once());
    assert_eq!((a.digest, a.elapsed, a.operations, a.errors), (b.digest, b.elapsed, 5_000, 0));
    assert!(a.commands < 500, "HostKV writes whole pages: {}", a.commands);
}

/// Both sides keep `depth` operations in flight for each thread, so depth hides the latency of reads on both.
#[test]
fn a_deeper_queue_reads_faster_on_either_side_and_reads_the_same() {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let (kv, block) = (build("saker-mid"), Build::block(&profile, 1 << 30, 7).expect("large enough"));
    let runs = |depth: u16| {
        let put = job(4_000, 900, 2, depth);
        let gets = put.operations.iter().rev().map(|side| match side {
            Op::Put(key, _) => Op::Get(key.clone()),
            other => other.clone(),
        });
        let get = Job { operations: gets.collect(), flush: false, ..put.clone() };
        let jobs = [put, get];
        let second = |mut results: Vec<saker_world::RunResult>| results.remove(1);
        (
            second(run_virtual(StoreKind::Host, &block, &jobs).expect("runs")),
            second(run_virtual(StoreKind::Disk, &kv, &jobs).expect("runs")),
        )
    };
    let (one, eight) = (runs(1), runs(8));
    for (name, one, eight) in [("HostKV", one.0, eight.0), ("DiskKV", one.1, eight.1)] {
        assert_eq!(
            (one.operations, one.errors, eight.operations, eight.errors),
            (4_000, 0, 4_000, 0),
            "{name}"
        );
        let (slow, fast) = (one.elapsed.as_nanos(), eight.elapsed.as_nanos());
        assert!(fast * 3 < slow, "{name}: {slow} ns with one in flight, {fast} ns with eight");
    }
}

#[test]
fn values_of_more_than_a_page_are_read_whole() {
    let put = job(200, 9000, 1, 4);
    let gets = put.operations.iter().map(|side| match side {
        Op::Put(key, _) => Op::Get(key.clone()),
        other => other.clone(),
    });
    let get = Job { operations: gets.collect(), flush: false, ..put.clone() };
    let run = run_virtual(StoreKind::Disk, &build("saker-mid"), &[put, get]).expect("runs").remove(1);
    assert_eq!((run.operations, run.errors), (200, 0));
    assert!(run.link_bytes >= 200 * 9000, "{} bytes over the link", run.link_bytes);
}

/// The LSM store in the device and at the host: reads need pages of tables and of the value log.
#[test]
fn the_lsm_store_on_either_side() {
    on_either_side(EngineKind::LSM);
}

/// The same for the tree store: reads and merges need nodes.
#[test]
fn the_tree_store_on_either_side() {
    on_either_side(EngineKind::TREE);
}

fn on_either_side(engine: EngineKind) {
    let profile = Profile::builtin("saker-mid").expect("built in");
    let kv = Build::kv(&profile, 256 << 20, 7).expect("large enough").with_engine(engine);
    let block = Build::block(&profile, 256 << 20, 7).expect("large enough").with_engine(engine);
    let put = job(80_000, 100, 2, 8);
    let gets = put.operations.iter().rev().step_by(29).map(|side| match side {
        Op::Put(key, _) => Op::Get(key.clone()),
        other => other.clone(),
    });
    let get = Job { operations: gets.collect(), flush: false, ..put.clone() };
    let reads = get.operations.len() as u64;
    for (name, runs) in [
        ("DiskKV", run_virtual(StoreKind::Disk, &kv, &[put.clone(), get.clone()])),
        ("HostKV", run_virtual(StoreKind::Host, &block, &[put.clone(), get.clone()])),
    ] {
        let runs = runs.expect("runs");
        assert_eq!((runs[0].operations, runs[0].errors), (80_000, 0), "{name}");
        assert_eq!((runs[1].operations, runs[1].errors), (reads, 0), "{name}");
    }
}
