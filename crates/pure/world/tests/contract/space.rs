// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches on a store that is full, and snapshots while segments are collected: on devices so small that both come soon.

use crate::contract::noted::Noted;
use crate::contract::suite::{Broken, Kept, Subject, ensure, key};
use crate::contract::{DEPTH, LANES};
use crate::write_control::{DELAYED, STOPPED};
use saker_assembly::Build;
use saker_device::{EngineKind, NamespaceConfig};
use saker_engine::Settings;
use saker_flash::nand::Shape;
use saker_host::TransferOptions;
use saker_nvme::Status;
use saker_profile::Profile;
use saker_segment_store::Geometry;
use saker_sim::{Rng, Seed};
use saker_store::{Failure, KvStore, Op, SnapshotId};
use saker_testing::tier;
use saker_world::Job;
use saker_world::stores::{DiskStore, HostStore};
use std::collections::{BTreeMap, BTreeSet};

/// An engine, and which values the LSM store has in its tree: the place of `min_blob_size`'s word.
type Kind = (EngineKind, u64);

/// The engines that land a group as one record. Most values here have less than 4096 bytes, and none less than 64.
const WHOLE: [Kind; 5] = [
    (EngineKind::HASH_STORE, 0),
    (EngineKind::LSM, 0),
    (EngineKind::LSM, 9),
    (EngineKind::LSM, 14),
    (EngineKind::TREE, 0),
];
/// Those that have snapshots.
const ORDERED: [Kind; 4] =
    [(EngineKind::LSM, 0), (EngineKind::LSM, 9), (EngineKind::LSM, 14), (EngineKind::TREE, 0)];

/// How large things are on a device.
#[derive(Clone, Copy)]
struct Sizes {
    flash_bytes: u64,
    value_bytes: usize,
}

const IN_DEVICE: Sizes = Sizes { flash_bytes: 3 << 20, value_bytes: 3000 };
const AT_HOST: Sizes = Sizes { flash_bytes: 12 << 20, value_bytes: 6000 };

fn job() -> Job {
    let (operations, transfer) = (Vec::new(), TransferOptions::default());
    Job { threads: LANES, depth: DEPTH as u16, operations, flush: false, transfer }
}

fn build((engine, min_blob_size): Kind, geometry: Geometry, sizes: Sizes, is_block: bool) -> Build {
    assert_eq!(u64::from(geometry.segments) * geometry.segment_bytes(), sizes.flash_bytes);
    let profile = Profile::builtin("tiny").expect("built in");
    let namespace = match is_block {
        true => NamespaceConfig::block(1, &geometry, geometry.segments, true, geometry.page_bytes),
        false => NamespaceConfig::kv(1, &geometry, geometry.segments, 1),
    };
    let shape = Shape { geometry, channels: 2, luns: 4 };
    let mut build = Build::with(&profile, shape, vec![namespace], 1).with_engine(engine);
    build.host_page_bytes = geometry.page_bytes;
    if min_blob_size > 0 {
        build.ask(&Settings::told(&[("min_blob_size", min_blob_size)]));
    }
    build
}

fn disk(kind: Kind) -> DiskStore<saker_world::Clocked> {
    disk_asked(kind, &[])
}

fn disk_asked(kind: Kind, asked: &[(&'static str, u64)]) -> DiskStore<saker_world::Clocked> {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 96, segment_pages: 32, segments: 48 };
    let mut build = build(kind, geometry, IN_DEVICE, false);
    build.ask(&Settings::told(asked));
    DiskStore::timed(&build, &[job()], None).expect("connects")
}

const HOST_GEOMETRY: Geometry = Geometry { page_bytes: 4096, oob_bytes: 96, segment_pages: 32, segments: 96 };

fn host(kind: Kind) -> HostStore {
    host_asked(kind, &[])
}

fn host_asked(kind: Kind, asked: &[(&'static str, u64)]) -> HostStore {
    let mut build = build(kind, HOST_GEOMETRY, AT_HOST, true);
    build.ask(&Settings::told(asked));
    HostStore::timed(&build, &job()).expect("connects")
}

/// The place of 4096 among the words of `min_blob_size`.
const SOME_APART: u64 = 9;

/// A full store has the same room, and deletes make as much, when its jobs go on side by side.
#[test]
fn jobs_side_by_side_on_a_full_store() {
    for min_blob_size in [0, SOME_APART, 14, 15] {
        let kind = (EngineKind::LSM, min_blob_size);
        let disk = || {
            let geometry = Geometry { page_bytes: 2048, oob_bytes: 96, segment_pages: 32, segments: 48 };
            let mut build = build(kind, geometry, IN_DEVICE, false);
            build.profile.firmware.background_cores.value = 4;
            build.ask(&Settings::told(&[("compaction_threads", 3), ("max_write_buffer_number", 3)]));
            DiskStore::timed(&build, &[job()], None).expect("connects")
        };
        keeps("disk", kind, batches_until_full(disk(), IN_DEVICE));
        keeps("disk", kind, snapshot_while_collected(disk(), IN_DEVICE));
        let host = || {
            let mut build = build(kind, HOST_GEOMETRY, AT_HOST, true);
            build.profile.host.background_cores.value = 4;
            build.ask(&Settings::told(&[("compaction_threads", 3), ("max_write_buffer_number", 3)]));
            HostStore::timed(&build, &job()).expect("connects")
        };
        if tier(min_blob_size == SOME_APART, true) {
            keeps("host", kind, batches_until_full(host(), AT_HOST));
            keeps("host", kind, snapshot_while_collected(host(), AT_HOST));
        }
    }
}

/// Where writes are delayed or stopped as soon as anything is to be merged, what is full is full as ever, and deletes make room.
#[test]
fn a_store_that_holds_writes_back_is_full_as_any_other() {
    let kind = (EngineKind::LSM, 0);
    for asked in [&DELAYED[1..], &STOPPED[1..]] {
        let small: Vec<_> = asked.iter().copied().chain([("write_buffer_size", 1 << 10)]).collect();
        keeps("disk", kind, batches_until_full(disk_asked(kind, &small), IN_DEVICE));
        keeps("host", kind, batches_until_full(host_asked(kind, &small), AT_HOST));
        keeps("disk", kind, snapshot_while_collected(disk_asked(kind, &small), IN_DEVICE));
        keeps("host", kind, snapshot_while_collected(host_asked(kind, &small), AT_HOST));
    }
}

fn keeps(name: &str, kind: Kind, kept: Kept) {
    if let Err(Broken { clause, why }) = kept {
        panic!("{name} with {kind:?}: {clause}: {why}");
    }
}

#[test]
fn a_full_device_takes_a_batch_whole_or_not_at_all() {
    for kind in WHOLE {
        keeps("disk", kind, batches_until_full(disk(kind), IN_DEVICE));
    }
}

#[test]
fn a_full_host_store_takes_a_batch_whole_or_not_at_all() {
    for kind in WHOLE {
        keeps("host", kind, batches_until_full(host(kind), AT_HOST));
    }
}

#[test]
fn collections_of_a_device_leave_a_snapshot_as_it_was() {
    for kind in ORDERED {
        keeps("disk", kind, snapshot_while_collected(disk(kind), IN_DEVICE));
    }
}

#[test]
fn collections_of_a_host_store_leave_a_snapshot_as_it_was() {
    for kind in ORDERED {
        keeps("host", kind, snapshot_while_collected(host(kind), AT_HOST));
    }
}

fn is_full(ended: &Noted) -> bool {
    match ended {
        Noted::Failed(Failure::Capacity) => true,
        Noted::Failed(Failure::Status(status)) => status.is(Status::CAPACITY_EXCEEDED),
        _ => false,
    }
}

/// A value of a number that says which batch wrote it.
fn value(rng: &mut Rng, bytes: usize, batch: u64) -> Vec<u8> {
    let mut value = vec![0; bytes / 2 + rng.below(bytes as u64) as usize];
    value[..8].copy_from_slice(&batch.to_le_bytes());
    value
}

fn batches_until_full<S: KvStore>(store: S, sizes: Sizes) -> Kept {
    let (mut subject, mut rng) = (Subject::new(store), Seed(1).child("full").rng());
    let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
    let (mut refused, mut batch, mut written) = (0, 0, 0);
    while refused < 12 {
        batch += 1;
        let mut after = model.clone();
        let mut writes = Vec::new();
        for n in batch * 4..batch * 4 + 5 {
            // The last of a batch is the first of the next one: it is overwritten.
            let value = value(&mut rng, sizes.value_bytes, batch);
            after.insert(n, value.clone());
            writes.push(Op::Put(key(n), value));
        }
        if batch % 3 == 0 {
            let n = rng.below(batch * 4);
            after.remove(&n);
            writes.push(Op::Delete(key(n)));
        }
        let keys: BTreeSet<_> = writes.iter().filter_map(|op| op.key().map(<[u8]>::to_vec)).collect();
        let ended = subject.tell(batch as usize % LANES, Op::Batch(writes))?;
        if ended == Noted::Done {
            (model, written) = (after, written + 1);
        } else {
            ensure!(is_full(&ended), "batch", "number {batch}: {ended:?}");
            refused += 1;
        }
        // Nothing of one that was refused, all of one that was taken.
        for n in (0..=batch * 4 + 5).filter(|n| keys.contains(&key(*n))) {
            there(&mut subject, &model, n)?;
        }
    }
    ensure!(written > 20, "batch", "full after {written}");
    for n in 0..=batch * 4 + 5 {
        there(&mut subject, &model, n)?;
    }
    frees(&mut subject, &mut model, sizes)
}

fn there<S: KvStore>(subject: &mut Subject<S>, model: &BTreeMap<u64, Vec<u8>>, n: u64) -> Kept {
    let found = subject.tell(0, Op::Get(key(n)))?;
    // A get reads no more of a value than a lane asks for.
    let is_right = match (&found, model.get(&n)) {
        (Noted::Absent, None) => true,
        (Noted::Value(found), Some(value)) => value.starts_with(found) && found.len() >= 8,
        _ => false,
    };
    ensure!(is_right, "batch", "key {n}: {:?}", matches!(found, Noted::Value(_)));
    Ok(())
}

/// A batch of deletes is taken by a full store, and makes room for another one of puts.
fn frees<S: KvStore>(subject: &mut Subject<S>, model: &mut BTreeMap<u64, Vec<u8>>, sizes: Sizes) -> Kept {
    let gone: Vec<u64> = model.keys().copied().step_by(2).collect();
    for part in gone.chunks(16) {
        let ended = subject.tell(1, Op::Batch(part.iter().map(|n| Op::Delete(key(*n))).collect()))?;
        ensure!(ended == Noted::Done, "batch", "deletes on a full store: {ended:?}");
        part.iter().for_each(|n| _ = model.remove(n));
    }
    let puts = (0..4).map(|n| Op::Put(key(n), vec![7; sizes.value_bytes])).collect();
    let ended = subject.tell(2, Op::Batch(puts))?;
    ensure!(ended == Noted::Done, "batch", "puts behind deletes: {ended:?}");
    (0..4).for_each(|n| _ = model.insert(n, vec![7; sizes.value_bytes]));
    let numbers: Vec<u64> = gone.into_iter().chain(0..4).collect();
    numbers.into_iter().try_for_each(|n| there(subject, model, n))
}

/// Several times the flash is written while a snapshot is held, which sees every pair as it was.
fn snapshot_while_collected<S: KvStore>(store: S, sizes: Sizes) -> Kept {
    const KEYS: u64 = 40;
    let (mut subject, mut rng) = (Subject::new(store), Seed(2).child("collected").rng());
    let mut model = BTreeMap::new();
    // Garbage everywhere first: from then on whatever is written is room that was collected.
    for n in 0..2 * sizes.flash_bytes / sizes.value_bytes as u64 {
        let put = subject.tell(0, Op::Put(key(n % KEYS), value(&mut rng, sizes.value_bytes, n)))?;
        ensure!(put == Noted::Done, "snapshot", "{put:?}");
    }
    for n in 0..KEYS {
        let value = value(&mut rng, sizes.value_bytes, n);
        model.insert(key(n), value.clone());
        let put = subject.tell(0, Op::Put(key(n), value))?;
        ensure!(put == Noted::Done, "snapshot", "{put:?}");
    }
    let Noted::Snapshot(snapshot) = subject.tell(0, Op::Snapshot)? else {
        return Err(Broken { clause: "snapshot", why: "none was taken".to_owned() });
    };
    let mut written = 0;
    while written < 3 * sizes.flash_bytes {
        for _ in 0..KEYS / 2 {
            let n = rng.below(KEYS);
            let value = value(&mut rng, sizes.value_bytes, written);
            written += value.len() as u64;
            let put = subject.tell(1, Op::Put(key(n), value))?;
            ensure!(put == Noted::Done, "snapshot", "{put:?} while one is held");
        }
        // A device ends one that was not used while an eighth of its capacity was written.
        held(&mut subject, snapshot, &model)?;
    }
    let now = subject.tell(2, Op::Scan { from: Vec::new(), entries: u32::MAX, snapshot: None })?;
    ensure!(matches!(now, Noted::Pairs(pairs) if pairs.len() == KEYS as usize), "snapshot", "pairs are lost");
    Ok(())
}

/// A snapshot sees the pairs of the model.
fn held<S: KvStore>(
    subject: &mut Subject<S>,
    snapshot: SnapshotId,
    model: &BTreeMap<Vec<u8>, Vec<u8>>,
) -> Kept {
    let scan = Op::Scan { from: Vec::new(), entries: u32::MAX, snapshot: Some(snapshot) };
    let told = subject.tell(0, scan)?;
    let is_right = matches!(&told, Noted::Pairs(pairs) if pairs.iter().map(|(k, v)| (k, v)).eq(model));
    let failed = if let Noted::Failed(failure) = told { Some(failure) } else { None };
    ensure!(is_right, "snapshot", "another view than the one that was taken: {failed:?}");
    Ok(())
}
