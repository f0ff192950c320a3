// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches that power is cut in: each is there whole or not at all, and what was acknowledged is there.

mod rows;

use super::host_medium::{block_depth, medium_of};
use super::{DiskStore, HostStore};
use crate::joined::Clocked;
use crate::result::Job;
use rows::{check, run};
use saker_assembly::{Build, port};
use saker_device::{Costs, Device, EngineKind, NamespaceConfig, timings};
use saker_engine::Settings;
use saker_flash::nand::Shape;
use saker_flash::{FaultPlan, Flash};
use saker_host::host_kv::{self, Answer, HostKv, Work};
use saker_host::{ConnectOptions, Connection, Driver as _, TransferOptions};
use saker_profile::Profile;
use saker_segment_store::Geometry;
use saker_sim::Rng;
use saker_store::{KvStore, Lane, Op, Outcome, Share, Submitted};

/// Keys of a batch are those of a row.
const ROWS: u64 = 12;
const KEYS: u64 = 6;
/// Turns after which a command that has not completed never will.
const TURNS_MAX: u32 = 100_000;

fn build((engine, min_blob_size): (EngineKind, u64), capacitor: bool, is_block: bool) -> Build {
    let page_bytes = if is_block { 4096 } else { 2048 };
    let segments = if is_block { 96 } else { 48 };
    let geometry = Geometry { page_bytes, oob_bytes: 96, segment_pages: 32, segments };
    let namespace = match is_block {
        true => NamespaceConfig::block(1, &geometry, segments, capacitor, page_bytes),
        false => NamespaceConfig::kv(1, &geometry, segments, 1),
    };
    let profile = Profile::builtin("tiny").expect("built in");
    let shape = Shape { geometry, channels: 2, luns: 4 };
    let mut build = Build::with(&profile, shape, vec![namespace], 1).with_engine(engine);
    build.host_page_bytes = page_bytes;
    build.config.capacitor = capacitor;
    if min_blob_size > 0 {
        build.ask(&Settings::told(&[("min_blob_size", min_blob_size), ("write_buffer_size", 16 << 10)]));
    }
    build
}

fn job() -> Job {
    let (operations, transfer) = (Vec::new(), TransferOptions::default());
    Job { threads: 1, depth: 4, operations, flush: false, transfer }
}

fn key(row: u64, n: u64) -> Vec<u8> {
    format!("r{row:02}k{n}").into_bytes()
}

/// Batch `number` writes all keys of its row. Of odd ones the last is a delete.
fn batch(rng: &mut Rng, number: u64) -> Op {
    let row = number % ROWS;
    let write = |n| {
        if n == KEYS - 1 && number % 2 == 1 {
            return Op::Delete(key(row, n));
        }
        let mut value = vec![number as u8; 8 + rng.below(700) as usize];
        value[..8].copy_from_slice(&number.to_le_bytes());
        Op::Put(key(row, n), value)
    };
    Op::Batch((0..KEYS).map(write).collect())
}

/// Programs and erases at which power is cut: early ones, and later ones that meet collections.
fn cuts(seed: u64) -> u64 {
    3 + 97 * seed + seed * seed * 11
}

/// An engine, the place of `min_blob_size`'s word, and other settings by name.
type Asked = ((EngineKind, u64), &'static [(&'static str, u64)]);

/// The engines that land a group as one record, which values the LSM store has in its tree (the place of `min_blob_size`'s word), and
/// what is asked of them besides: once so that writes are delayed as soon as anything is to be merged, and once so that they stop.
const ASKED: [Asked; 10] = [
    ((EngineKind::HASH_STORE, 0), &[]),
    ((EngineKind::LSM, 0), &[]),
    ((EngineKind::LSM, 3), &[]),
    ((EngineKind::LSM, 9), &[]),
    ((EngineKind::LSM, 14), &[]),
    ((EngineKind::LSM, 15), &[]),
    (
        (EngineKind::LSM, 14),
        &[("compaction_readahead_size", 8 << 10), ("level0_file_num_compaction_trigger", 1)],
    ),
    ((EngineKind::TREE, 0), &[]),
    (
        (EngineKind::LSM, 0),
        &[
            ("write_buffer_size", 1 << 10),
            ("level0_file_num_compaction_trigger", 1),
            ("level0_slowdown_writes_trigger", 1),
            ("level0_stop_writes_trigger", 40),
            ("delayed_write_rate", 100_000),
        ],
    ),
    (
        (EngineKind::LSM, 0),
        &[
            ("write_buffer_size", 1 << 10),
            ("level0_file_num_compaction_trigger", 1),
            ("level0_stop_writes_trigger", 1),
        ],
    ),
];

#[test]
fn a_cut_of_a_device_leaves_each_batch_whole_or_not_at_all() {
    for ((engine, asked), capacitor) in ASKED.into_iter().flat_map(|what| [(what, true), (what, false)]) {
        for seed in saker_testing::seeds(saker_testing::tier(8, 80)) {
            let mut build = build(engine, capacitor, false);
            build.ask(&Settings::told(asked));
            build.faults = FaultPlan { seed, cut_at: cuts(seed), ..build.faults };
            let mut store = DiskStore::timed(&build, &[job()], None).expect("connects");
            let left = run(&mut store, seed, |store| store.device().flash().is_powered());
            let flash = build.after_cut(store.device().flash(), seed, Some(timings(&build.profile)));
            let mut store = DiskStore::on(booted(flash, &build), &build, &job(), false).expect("connects");
            let mut lane = store.open_lane().expect("the first");
            let least = if capacitor { &left.acknowledged } else { &left.flushed };
            assert!(left.batches > 0, "{engine:?}, seed {seed}");
            check(&left, least, |key| get(&mut store, &mut lane, key));
        }
    }
}

/// The device on the flash that a cut left.
fn booted(flash: Flash, build: &Build) -> Device<saker_device::Timed> {
    let host = build.attach(1, 128);
    let mut device = Device::timed(flash, build.device_config(), host, Costs::of(&build.profile));
    while !device.is_booted() {
        let next = device.next_deadline().expect("it goes on");
        device.step(next);
    }
    assert!(device.damage().is_empty(), "{:?}", device.damage());
    device
}

fn get(store: &mut DiskStore<Clocked>, lane: &mut super::DiskLane, key: &[u8]) -> Option<Vec<u8>> {
    let now = store.now();
    let submitted = lane.submit(Share::alone(&Op::Get(key.to_vec())), now);
    assert!(matches!(submitted, Submitted::Pending(_)), "{submitted:?}");
    for _ in 0..TURNS_MAX {
        lane.ring();
        store.drive();
        let now = store.now();
        let found = lane.poll(now, |done| match done.outcome {
            Outcome::Value { data, .. } => Some(data.to_vec()),
            Outcome::Absent => None,
            other => panic!("{other:?}"),
        });
        if let Ok(Some(found)) = found {
            return found;
        }
    }
    panic!("a get never ends");
}

/// The write buffer is the host's memory: what no Flush covered may be lost, but not a part of a batch. Without a capacitor blocks that were
/// written and deallocated may come back as they were, too.
#[test]
fn a_cut_leaves_a_host_store_each_batch_whole_or_not_at_all() {
    for ((engine, asked), capacitor) in ASKED.into_iter().flat_map(|what| [(what, true), (what, false)]) {
        for seed in saker_testing::seeds(saker_testing::tier(8, 80)) {
            let mut build = build(engine, capacitor, true);
            build.ask(&Settings::told(asked));
            build.faults = FaultPlan { seed, cut_at: cuts(seed), ..build.faults };
            let mut store = HostStore::timed(&build, &job()).expect("connects");
            let left = run(&mut store, seed, |store| store.device().flash().is_powered());
            let flash = build.after_cut(store.device().flash(), seed, Some(timings(&build.profile)));
            assert!(left.batches > 0, "{engine:?}, seed {seed}");
            let (mut store, mut below) = reopened(booted(flash, &build), &build);
            check(&left, &left.flushed, |key| host_get(&mut store, &mut below, key));
        }
    }
}

fn reopened(device: Device<saker_device::Timed>, build: &Build) -> (HostKv, Clocked) {
    let port = port(device.attachment());
    let mut below = Clocked(device);
    let mut connection = Connection::connect(port, &mut below, ConnectOptions::default()).expect("connects");
    let medium = medium_of(&mut connection, build, block_depth(&job()), &mut below).expect("has blocks");
    let store =
        HostKv::open_tuned(build.engine, &build.host_engine(), medium, || below.drive()).expect("sound");
    (store, below)
}

fn host_get(store: &mut HostKv, below: &mut Clocked, key: &[u8]) -> Option<Vec<u8>> {
    let mut ended = store.submit(host_kv::Op::Get(key.to_vec()), Work::Free).ok();
    for _ in 0..TURNS_MAX {
        match ended {
            Some(Ok(Answer::Value(value))) => return Some(value),
            Some(Err(saker_engine::KvError::NotFound)) => return None,
            Some(other) => panic!("{other:?}"),
            None => {}
        }
        store.ring();
        below.drive();
        store.advance(Work::Free, &mut |_, outcome| ended = Some(outcome));
    }
    panic!("a get never ends");
}
