//! Long values that were there, and are not.

use crate::bench::{Bench, Size, is_soak, key};
use saker_engine::EngineKind;
use saker_medium::PowerHistory;

const LONG: &[u8] = b"long";

/// Small and large segments.
const SIZES: [Size; 2] = [Size(1024, 32, 120), Size(4096, 64, 100)];

/// How a long value goes.
#[derive(Clone, Copy, Debug)]
enum Way {
    Deleted,
    Replaced,
    /// Deleted, and the store is opened anew before it is filled.
    Reopened,
    /// Opened anew with the long value, which is deleted then.
    DeletedLater,
    /// Stored and deleted while the store is full of others, which go then.
    WhileFull,
    /// Deleted beside a snapshot, which is released.
    BesideSnapshot,
}

const WAYS: [Way; 6] =
    [Way::Deleted, Way::Replaced, Way::Reopened, Way::DeletedLater, Way::WhileFull, Way::BesideSnapshot];

/// Longest value that the store takes: half a segment, less what comes with it.
fn longest(size: Size) -> usize {
    (size.segment_bytes() / 2) as usize - 64
}

fn store_long(bench: &mut Bench, bytes: usize) {
    bench.put(LONG, &vec![b'l'; bytes]).expect("there is room");
}

fn goes(bench: &mut Bench, way: Way, long_bytes: usize, small_bytes: usize) {
    match way {
        Way::Deleted => {
            store_long(bench, long_bytes);
            bench.delete(LONG).expect("it is there");
        }
        Way::Replaced => {
            store_long(bench, long_bytes);
            bench.put(LONG, b"short").expect("it is shorter");
            bench.delete(LONG).expect("it is there");
        }
        Way::Reopened => {
            store_long(bench, long_bytes);
            while bench.background() {}
            bench.delete(LONG).expect("it is there");
            bench.restart(PowerHistory::Killed);
        }
        Way::DeletedLater => {
            store_long(bench, long_bytes);
            bench.restart(PowerHistory::Killed);
            bench.delete(LONG).expect("it is there");
        }
        Way::WhileFull => {
            let pairs = bench.fill(0, small_bytes);
            let needed = pairs * 3 / 4;
            (0..needed).for_each(|n| bench.delete(&key(n)).expect("it is there"));
            store_long(bench, long_bytes);
            bench.fill(0, small_bytes);
            bench.delete(LONG).expect("it is there");
            let more = bench.fill(needed * 2, small_bytes);
            (0..more).for_each(|n| _ = bench.delete(&key(n)));
        }
        Way::BesideSnapshot => {
            store_long(bench, long_bytes);
            let snapshot = bench.snapshot();
            bench.delete(LONG).expect("it is there");
            let pairs = bench.fill(0, small_bytes);
            (0..pairs / 4).for_each(|n| bench.delete(&key(n)).expect("it is there"));
            snapshot.into_iter().for_each(|snapshot| bench.release(snapshot));
            let more = bench.fill(pairs, small_bytes);
            (pairs / 4..more).for_each(|n| bench.delete(&key(n)).expect("it is there"));
        }
    }
}

/// As many small pairs fit as if there had never been a long value: 98 of 100.
fn long_values_leave_no_trace(kind: EngineKind, size: Size, small_bytes: usize) {
    let fresh = Bench::new(kind, size, true).fill(0, small_bytes);
    for part in if is_soak() { vec![1, 2, 5] } else { vec![1] } {
        for way in WAYS {
            let mut bench = Bench::new(kind, size, true);
            goes(&mut bench, way, longest(size) / part, small_bytes);
            let after = bench.fill(1 << 30, small_bytes) - (1 << 30);
            assert!(
                after * 100 >= fresh * 98,
                "{kind:?} {size:?} {way:?} {part}: {after} of {fresh} pairs fit"
            );
        }
    }
}

fn on_all_sizes(kind: EngineKind) {
    for size in SIZES {
        for small_bytes in [100, size.0 as usize] {
            long_values_leave_no_trace(kind, size, small_bytes);
        }
    }
}

#[test]
fn on_hash_store() {
    on_all_sizes(EngineKind::HASH_STORE);
}

#[test]
fn on_the_lsm_store() {
    on_all_sizes(EngineKind::LSM);
}

#[test]
fn on_the_tree_store() {
    on_all_sizes(EngineKind::TREE);
}

#[test]
fn on_hash_ftls() {
    let all = EngineKind::ALL
        .iter()
        .filter(|k| ![EngineKind::HASH_STORE, EngineKind::LSM, EngineKind::TREE].contains(&k));
    all.copied().for_each(on_all_sizes);
}

/// Without a capacitor a cut can bring a long value back whose delete was not flushed. The store is above its capacity
/// then: it goes on reading and deleting, and what is deleted makes room.
fn a_long_value_comes_back(kind: EngineKind, size: Size) {
    let mut bench = Bench::new(kind, size, false);
    store_long(&mut bench, longest(size));
    let pairs = bench.fill(0, 1000);
    while bench.background() {}
    bench.delete(LONG).expect("it is there");
    let pairs = bench.fill(pairs, 1000);
    bench.restart(PowerHistory::Cut { ring_kept: false });
    let mut left = 0;
    for n in 0..pairs {
        left += u64::from(bench.delete(&key(n)).is_ok());
    }
    assert!(left > pairs / 2, "{kind:?}: {left} of {pairs} pairs were flushed");
    let again = bench.fill(0, 1000);
    assert!(again > 0);
}

#[test]
fn a_cut_that_brings_a_long_value_back_leaves_a_store_that_deletes() {
    EngineKind::ALL
        .iter()
        .for_each(|kind| SIZES.iter().for_each(|size| a_long_value_comes_back(*kind, *size)));
}
