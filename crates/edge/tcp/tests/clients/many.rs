// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is full and has as many scans as it allows: each refusal says which of the two it is.

use saker::{EngineKind, HostError, KeyRange, Kv, KvError, ScanOptions, Store, StoreError};

use super::places;

fn fill(kv: &mut Kv) -> u32 {
    let (mut stored, value) = (0_u32, [9; 3000]);
    loop {
        match kv.put(&stored.to_be_bytes(), &value) {
            Ok(()) => stored += 1,
            Err(HostError::Kv(KvError::Full)) => return stored,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_scan_too_many_is_not_a_full_device() {
    for engine in [EngineKind::LSM, EngineKind::TREE] {
        for url in &places(&engine, 4 << 20).urls {
            let mut kv = Kv::open(url).expect("opens");
            let stored = fill(&mut kv);
            let everything = KeyRange::default();
            let mut held: Vec<_> =
                (0..16).map(|_| kv.open_iterator(&everything).expect("opens").expect("has")).collect();
            let many = HostError::Kv(KvError::ManyIterators);
            assert_eq!(kv.open_iterator(&everything).err(), Some(many.clone()), "{url}");
            assert_eq!(kv.open_scan(&ScanOptions::default()).err(), Some(many.clone()), "{url}");
            assert_eq!(kv.scan(&ScanOptions::default(), &mut |_, _| true).err(), Some(many), "{url}");
            let full = kv.put(b"one more", &[1; 3000]);
            assert_eq!(full.err(), Some(HostError::Kv(KvError::Full)), "{url}");
            kv.close_iterator(held.pop().expect("sixteen")).expect("closes");
            let mut pairs = 0;
            kv.scan(&ScanOptions::default(), &mut |_, _| {
                pairs += 1;
                true
            })
            .expect("there is room");
            assert_eq!(pairs, stored, "{url}");
        }
    }
}

/// Engines without iterators have no such limit.
#[test]
fn engines_without_iterators_have_as_many_scans_as_are_asked_for() {
    for engine in [EngineKind::HASH_STORE, EngineKind::HASH_PLUS, EngineKind::HASH_ORIGINAL] {
        for url in &places(&engine, 4 << 20).urls {
            let store = Store::open(url).expect("opens");
            store.put("key", "value").expect("stored");
            let scans: Vec<_> = (0..40).map(|_| store.iter().expect("opens")).collect();
            assert!(scans.into_iter().all(|scan| scan.count() == 1), "{url}");
        }
    }
}

#[test]
fn a_store_tells_its_own() {
    for url in &places(&EngineKind::LSM, 4 << 20).urls {
        let store = Store::open(url).expect("opens");
        let _held: Vec<_> = (0..16).map(|_| store.iter().expect("opens")).collect();
        assert!(matches!(store.iter(), Err(StoreError::ManyScans)), "{url}");
    }
}
