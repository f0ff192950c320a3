// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A nearly full device that is opened anew between writes: each ends, and what was deleted makes room.

use crate::ordered::Ordered;
use crate::ordered::bench::{Bench, OWNER, scale};
use crate::ordered::layout::Entry;
use saker_engine::{Condition, GroupError, GroupOp, KvError};
use saker_flash::FaultPlan;
use saker_flash::nand::Shape;
use saker_segment_store::{Geometry, PowerHistory};
use saker_sim::{Class, Rng, Seed};

/// 8 MiB and a quarter more in segments of 64 KiB.
const SEGMENTS: u32 = 160;

/// An empty store on it.
pub fn bench<S: Ordered>(ring_lasts: bool) -> Bench<S> {
    let geometry = Geometry { page_bytes: 2048, oob_bytes: 64, segment_pages: 32, segments: SEGMENTS };
    let shape = Shape { geometry, channels: 2, luns: 4 };
    Bench::shaped(shape, S::defaults(&geometry, ring_lasts), FaultPlan::default())
}

pub fn key(n: u64) -> Vec<u8> {
    format!("k{n:07}").into_bytes()
}

/// Stores pairs from number `from` on until one is refused, whose number it returns.
pub fn fill<S: Ordered>(bench: &mut Bench<S>, from: u64, mut value: impl FnMut() -> Vec<u8>) -> u64 {
    for n in from.. {
        match bench.put(&key(n), &value(), Condition::Always) {
            Ok(()) => {}
            Err(e) => {
                assert_eq!(e, KvError::CapacityExceeded);
                return n;
            }
        }
    }
    unreachable!("no device holds so many")
}

/// What may be stored falls as pairs come, whether a manifest is being written or not.
pub fn new_pairs_gain_no_capacity<S: Ordered>() {
    let mut bench = bench::<S>(true);
    let mut capacity = u64::MAX;
    for n in 0..4000 {
        assert_eq!(bench.put(&key(n), &[n as u8; 1000], Condition::Always), Ok(()));
        let now = bench.store.capacity_bytes(&bench.flash.view(OWNER, Class::Foreground));
        assert!(now <= capacity, "pair {n}: {capacity} and then {now}");
        capacity = now;
    }
    assert!(bench.done()[3] > 1, "manifests were written: {:?}", bench.done());
}

fn reopen<S: Ordered>(bench: &mut Bench<S>) {
    bench.restart(PowerHistory::Killed, 1);
}

/// Opened once more, it has each pair of the model and no other.
fn finds_all<S: Ordered>(bench: &mut Bench<S>) {
    reopen(bench);
    assert!(bench.keys_from(&[]).iter().eq(bench.model.keys()));
    for (k, v) in bench.model.clone() {
        assert_eq!(bench.get(&k), Ok(v));
    }
}

/// What a write answers. No write costs more erases than twice the device.
fn bounded<S: Ordered, T>(bench: &mut Bench<S>, write: impl FnOnce(&mut Bench<S>) -> T) -> T {
    let before = bench.store.log_stats().segments_erased;
    let answer = write(bench);
    let erased = bench.store.log_stats().segments_erased - before;
    assert!(erased <= 2 * u64::from(SEGMENTS), "one write erased {erased} segments");
    bench.store.is_in_shape();
    answer
}

/// 20 pairs become small, all others are replaced and 40 of these deleted; then as many pairs are stored anew. The small ones, the
/// deletes and the new pairs each meet a device that was just opened.
fn replaced_and_deleted<S: Ordered>(value_bytes: usize) {
    let mut bench = bench::<S>(true);
    let pairs = fill(&mut bench, 0, || vec![b'x'; value_bytes]);
    for n in 0..20 {
        reopen(&mut bench);
        bounded(&mut bench, |b| b.put(&key(n), b"small", Condition::Always)).expect("it is shorter");
    }
    reopen(&mut bench);
    for n in 20..pairs {
        let value = vec![b'y'; value_bytes];
        bounded(&mut bench, |b| b.put(&key(n), &value, Condition::Always)).expect("it is not longer");
    }
    for n in 20..60 {
        reopen(&mut bench);
        bounded(&mut bench, |b| b.delete(&key(n))).expect("it is there");
    }
    for n in 0..50 {
        reopen(&mut bench);
        let value = vec![b'n'; value_bytes];
        let stored = bounded(&mut bench, |b| b.put(&key(pairs + n), &value, Condition::Always));
        assert_eq!(stored, Ok(()), "{n}: what was deleted makes room");
    }
    finds_all(&mut bench);
}

/// What a collection can lose follows from the longest record, and the capacity from that.
pub fn a_store_that_is_opened_knows_its_longest_record<S: Ordered>() {
    let mut bench = bench::<S>(true);
    bench.put(&key(0), &[1; 20_000], Condition::Always).expect("there is room");
    let written = S::checkpoint_bytes_min(&bench.config) / 1000;
    for n in 0..3 * written {
        bench.put(&key(1 + n % 1000), &[2; 1000], Condition::Always).expect("there is room");
    }
    while bench.background() {}
    assert!(bench.done()[3] > 0, "a manifest was written");
    let before = capacity(&mut bench);
    reopen(&mut bench);
    assert_eq!(capacity(&mut bench), before);
}

fn capacity<S: Ordered>(bench: &mut Bench<S>) -> u64 {
    bench.store.capacity_bytes(&bench.flash.view(OWNER, Class::Foreground))
}

pub fn long_pairs_make_room_for_others<S: Ordered>() {
    replaced_and_deleted::<S>(3000);
}

pub fn short_pairs_make_room_for_others<S: Ordered>() {
    replaced_and_deleted::<S>(1000);
}

fn value(rng: &mut Rng, longest: u64) -> Vec<u8> {
    vec![b'v'; rng.below(longest) as usize]
}

/// Writes of any kind on a full device, now and then opened anew: each ends, a replacement that is not longer and a delete are
/// never refused, and nothing is lost.
fn writes_on_the_brink<S: Ordered>(seed: u64, longest: u64, ring_lasts: bool) {
    let mut rng = Seed(seed).rng();
    let mut bench = bench::<S>(ring_lasts);
    let mut pairs = fill(&mut bench, 0, || value(&mut rng, longest));
    for _ in 0..300 {
        if rng.below(4) == 0 {
            bench.flush();
            reopen(&mut bench);
        }
        let k = key(rng.below(pairs));
        match (rng.below(4), bench.model.get(&k).map(Vec::len)) {
            (0, Some(_)) => bounded(&mut bench, |b| b.delete(&k)).expect("it is there"),
            (1, Some(len)) => {
                let shorter = value(&mut rng, len as u64 + 1);
                bounded(&mut bench, |b| b.put(&k, &shorter, Condition::Always)).expect("it is not longer");
            }
            _ => {
                pairs += 1;
                let new = value(&mut rng, longest);
                let stored = bounded(&mut bench, |b| b.put(&key(pairs), &new, Condition::Always));
                assert!(matches!(stored, Ok(()) | Err(KvError::CapacityExceeded)), "{stored:?}");
            }
        }
    }
    finds_all(&mut bench);
}

pub fn every_write_on_the_brink_ends<S: Ordered>() {
    // Page buffers of both kinds, by turns.
    for seed in saker_testing::seeds(saker_testing::tier(1, scale(2))) {
        for (longest, turn) in [300, 2000, 20_000].into_iter().zip(seed..) {
            writes_on_the_brink::<S>(seed, longest, turn % 2 == 0);
        }
    }
}

/// Groups of any size on a full device, now and then opened anew: each ends, whole or refused as a whole, and deletes are never
/// refused. How many members were carried out, and how many groups refused.
fn groups_on_the_brink<S: Ordered>(seed: u64, most: u64, longest: u64, ring_lasts: bool) -> [usize; 2] {
    let mut rng = Seed(seed).rng();
    let mut bench = bench::<S>(ring_lasts);
    let mut pairs = fill(&mut bench, 0, || value(&mut rng, 1000));
    let mut done = [0; 2];
    for _ in 0..60 {
        if rng.below(8) == 0 {
            bench.flush();
            reopen(&mut bench);
        }
        let deletes = rng.below(6) == 0;
        let one = |n: u64, rng: &mut Rng| match deletes {
            true => Entry { op: GroupOp::Delete, key: key(n), value: Vec::new() },
            false => Entry { op: GroupOp::Store, key: key(n), value: value(rng, longest) },
        };
        let first = if deletes || rng.below(3) == 0 { rng.below(pairs) } else { pairs };
        let entries: Vec<_> = (first..first + 1 + rng.below(most)).map(|n| one(n, &mut rng)).collect();
        pairs = pairs.max(first + entries.len() as u64);
        let before = bench.model.clone();
        match bounded(&mut bench, |b| b.group(&entries)) {
            Ok(told) => done[0] += told.len(),
            Err(refused) => {
                assert!(refused == GroupError::CapacityExceeded && !deletes, "{refused:?}");
                assert!(bench.model == before);
                done[1] += 1;
            }
        }
    }
    finds_all(&mut bench);
    done
}

pub fn every_group_on_the_brink_ends<S: Ordered>() {
    let mut refused = 0;
    for seed in saker_testing::seeds(scale(1)) {
        let long = groups_on_the_brink::<S>(seed, 40, 600, seed % 2 == 0);
        let short = groups_on_the_brink::<S>(seed, 1200, 8, seed % 2 == 1);
        assert!(long[0].min(short[0]) > 50, "{long:?} {short:?}");
        refused += long[1] + short[1];
    }
    assert!(refused > 2, "some do not fit: {refused}");
}
