// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ranges of a store against those of a `BTreeMap`.

use super::store;
use saker::{EngineKind, ScanOptions, ScanOrder, Spaces, Store, StoreError};
use saker_sim::{Rng, Seed};
use saker_testing::{seeds, tier};
use std::collections::BTreeMap;
use std::ops::Bound;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

/// Short and long keys that are close to each other.
fn key(rng: &mut Rng) -> Vec<u8> {
    let mut key = vec![b'a'; (rng.next_u64() % 22) as usize];
    key.extend((0..=rng.next_u64() % 3).map(|_| b"\x00ab\xff"[(rng.next_u64() % 4) as usize]));
    key
}

fn bound(rng: &mut Rng) -> Bound<Vec<u8>> {
    match rng.next_u64() % 3 {
        0 => Bound::Included(key(rng)),
        1 => Bound::Excluded(key(rng)),
        _ => Bound::Unbounded,
    }
}

fn sorted(pairs: saker::store::Pairs) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = pairs.collect::<Result<Vec<_>, _>>().expect("read");
    pairs.sort();
    pairs
}

fn same_ranges(store: &Store, model: &Model, rng: &mut Rng) {
    for _ in 0..20 {
        let range = (bound(rng), bound(rng));
        let is_in = |key: &[u8]| {
            let from = match &range.0 {
                Bound::Included(from) => key >= &from[..],
                Bound::Excluded(from) => key > &from[..],
                Bound::Unbounded => true,
            };
            from && match &range.1 {
                Bound::Included(to) => key <= &to[..],
                Bound::Excluded(to) => key < &to[..],
                Bound::Unbounded => true,
            }
        };
        let expected: Vec<_> = model.clone().into_iter().filter(|(key, _)| is_in(key)).collect();
        assert_eq!(sorted(store.range(range.clone()).expect("opens")), expected, "{range:?}");
        let prefix = key(rng);
        let expected: Vec<_> =
            model.clone().into_iter().filter(|(key, _)| key.starts_with(&prefix)).collect();
        assert_eq!(sorted(store.prefix(&prefix).expect("opens")), expected, "{prefix:?}");
    }
    assert!(sorted(store.iter().expect("opens")).into_iter().eq(model.clone()));
    assert!(sorted(store.range(.."").expect("opens")).is_empty());
}

#[test]
fn ranges_are_those_of_a_map() {
    for engine in EngineKind::ALL {
        for seed in seeds(tier(1, 30)) {
            let mut rng = Seed(seed).rng();
            let device = store(engine);
            let spaces = Spaces::of(device).expect("it is empty");
            let stores = ["one", "two"].map(|name| spaces.space(name).expect("made"));
            let mut models = [Model::new(), Model::new()];
            for n in 0..120_u64 {
                let which = (rng.next_u64() % 2) as usize;
                let key = key(&mut rng);
                if rng.next_u64().is_multiple_of(4) {
                    let was_there = models[which].remove(&key).is_some();
                    assert_eq!(stores[which].delete(&key).expect("deleted"), was_there);
                } else {
                    stores[which].put(&key, n.to_be_bytes()).expect("stored");
                    models[which].insert(key, n.to_be_bytes().to_vec());
                }
            }
            for (store, model) in stores.iter().zip(&models) {
                same_ranges(store, model, &mut rng);
            }
        }
    }
}

/// Iterators go on whatever comes in between, and are given back when they are dropped.
#[test]
fn iterators_come_and_go() {
    for engine in EngineKind::ALL {
        let store = store(engine);
        store.put_many((0..500_u32).map(|n| (n.to_be_bytes(), [7; 300]))).expect("stored");
        for _ in 0..40 {
            let mut pairs = store.iter().expect("the others were dropped");
            assert!(pairs.next().is_some_and(|pair| pair.is_ok()));
        }
        let mut pairs = store.iter().expect("opens");
        let thread =
            std::thread::spawn(move || pairs.by_ref().map(|pair| pair.map(|_| 1)).sum::<Result<u32, _>>());
        assert_eq!(thread.join().expect("no panic").expect("read"), 500);
        let two = store.scan(&ScanOptions { keys_only: true, ..ScanOptions::default() }, 2).expect("opens");
        assert!(two.map(|pair| pair.expect("read").1.is_empty()).eq([true, true]));
        // A format and the end of the device end it.
        let mut pairs = store.iter().expect("opens");
        store.clear().expect("formatted");
        assert!(pairs.by_ref().count() <= 1);
        let mut pairs = store.iter().expect("opens");
        store.close().expect("closes");
        assert!(matches!(pairs.next(), Some(Err(StoreError::Closed))) && pairs.next().is_none());
    }
}

/// Scans that are held are counted; one more is told so, and that the device is full is something else.
#[test]
fn a_device_has_sixteen_scans() {
    for engine in ["lsm", "tree"] {
        let store = store(&EngineKind::named(engine).expect("there is one"));
        store.put("key", "value").expect("stored");
        let mut held: Vec<_> = (0..16).map(|_| store.iter().expect("there is room")).collect();
        assert!(matches!(store.iter(), Err(StoreError::ManyScans)));
        assert!(matches!(store.prefix("k"), Err(StoreError::ManyScans)));
        assert_eq!(store.get("key").expect("read"), Some(b"value".to_vec()));
        held.pop();
        assert_eq!(store.iter().expect("there is room").count(), 1);
        drop(held);
        assert_eq!(store.iter().expect("there is room").count(), 1);
    }
}

/// A scan that has begun ends, however many others are under way: it reads long keys by another iterator of the device.
#[test]
fn sixteen_scans_go_on_to_long_keys() {
    for engine in ["lsm", "tree"] {
        let store = store(&EngineKind::named(engine).expect("there is one"));
        store.put("short", "1").expect("stored");
        store.put("a key of more than sixteen bytes", "2").expect("stored");
        let mut held: Vec<_> = (0..16).map(|_| store.iter().expect("there is room")).collect();
        store.put("another key of more than sixteen bytes", "3").expect("stored");
        for pairs in &mut held {
            assert_eq!(pairs.next().expect("there are two").expect("read").1, b"1");
        }
        for pairs in &mut held {
            assert_eq!(pairs.next().expect("there are two").expect("read").1, b"2", "{engine}");
            assert_eq!(pairs.order(), ScanOrder::Bytes);
        }
        assert!(held.iter_mut().all(|pairs| pairs.next().is_none()));
    }
}

/// Spaces are emptied by scans: while all are under way a space is not removed, and the next try goes on with it.
#[test]
fn a_space_is_removed_when_a_scan_has_ended() {
    let spaces = Spaces::open("mem:?size=16MiB&profile=tiny&engine=tree").expect("opens");
    let space = spaces.space("one").expect("made");
    space.put("key", "value").expect("stored");
    let other = spaces.space("other").expect("made");
    let held: Vec<_> = (0..16).map(|_| other.iter().expect("there is room")).collect();
    assert!(matches!(spaces.remove("one"), Err(StoreError::ManyScans)));
    assert_eq!(spaces.names().expect("read"), ["other"]);
    drop(held);
    assert!(!spaces.space("one").expect("made").exists("key").expect("read"));
}
