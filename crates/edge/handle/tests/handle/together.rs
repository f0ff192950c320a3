// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans and transactions with other calls in between, on every engine, in memory and on images.

use saker::EngineKind;
use saker_handle::{Class, ScanOrder, ScanWish, Store, create};
use std::collections::BTreeMap;

/// Short keys, and long ones of which every fourth is.
fn key(n: u32) -> Vec<u8> {
    let tail = if n % 4 == 3 { " of more than 16 bytes" } else { "" };
    format!("k{n:05}{tail}").into_bytes()
}

fn filled(url: &str, pairs: u32) -> Store {
    let store = Store::open(url).expect("opens");
    (0..pairs).try_for_each(|n| store.put(&key(n), &n.to_le_bytes().repeat(100))).expect("stored");
    store
}

fn url(engine: EngineKind) -> String {
    format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name())
}

fn has_order(engine: EngineKind) -> bool {
    ["lsm", "tree"].contains(&engine.name())
}

#[test]
fn a_scan_goes_on_whatever_comes_in_between() {
    for engine in EngineKind::ALL {
        let store = filled(&url(*engine), 2000);
        let scan = store.scan(&ScanWish::default()).expect("opens");
        let mut seen = BTreeMap::new();
        loop {
            let batch = scan.next_batch().expect("goes on");
            if batch.is_empty() {
                break;
            }
            assert!(batch.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() < 200_000);
            seen.extend(batch);
            // Neither a write nor another scan disturbs it.
            store.put(&key(0), b"changed").expect("stored");
            store
                .scan(&ScanWish { limit: 1, ..ScanWish::default() })
                .expect("opens")
                .next_batch()
                .expect("read");
        }
        assert_eq!(seen.len(), 2000, "{engine:?}");
        let whole = (1..2000).all(|n| seen[&key(n)] == n.to_le_bytes().repeat(100));
        assert!(whole, "{engine:?}");
        let expected = if has_order(*engine) { ScanOrder::Bytes } else { ScanOrder::Device };
        assert_eq!(scan.order(), expected, "{engine:?}");
    }
}

#[test]
fn a_wish_limits_what_is_seen() {
    for engine in EngineKind::ALL {
        let store = filled(&url(*engine), 300);
        let wish = ScanWish { start: key(100), stop: key(200), ..ScanWish::default() };
        let all = |wish: &ScanWish| {
            let scan = store.scan(wish).expect("opens");
            let batches = std::iter::from_fn(|| {
                Some(scan.next_batch().expect("read")).filter(|batch| !batch.is_empty())
            });
            batches.flatten().map(|(key, _)| key).collect::<Vec<_>>()
        };
        let mut keys = all(&wish);
        keys.sort();
        let mut expected: Vec<_> = (100..200).map(key).collect();
        expected.sort();
        assert_eq!(keys, expected, "{engine:?}");
        assert_eq!(all(&ScanWish { limit: 7, ..wish.clone() }).len(), 7);
        assert_eq!(
            all(&ScanWish { prefix: b"k0012".to_vec(), keys_only: true, ..ScanWish::default() }).len(),
            10
        );
        match store.scan(&ScanWish { backwards: true, ..wish.clone() }) {
            Ok(_) => assert!(has_order(*engine)),
            Err(fault) => assert_eq!((fault.class, has_order(*engine)), (Class::NoOrder, false)),
        }
    }
}

/// An iterator of the device times out when much is written meanwhile; the scan goes on behind its last key, and says so.
#[test]
fn a_scan_outlives_its_iterator() {
    for engine in ["lsm", "tree"] {
        let store = filled(&format!("mem:?size=16MiB&profile=tiny&engine={engine}"), 1000);
        let scan = store.scan(&ScanWish::default()).expect("opens");
        let mut keys: Vec<_> = scan.next_batch().expect("read").into_iter().map(|(key, _)| key).collect();
        for n in 0..300u32 {
            store.put(b"k00000", &vec![n as u8; 20_000]).expect("stored");
        }
        loop {
            let batch = scan.next_batch().expect("it goes on");
            if batch.is_empty() {
                break;
            }
            keys.extend(batch.into_iter().map(|(key, _)| key));
        }
        keys.sort();
        keys.dedup();
        assert_eq!((keys.len(), scan.order()), (1000, ScanOrder::Resumed), "{engine}");
    }
}

/// Scans that nobody ends leave room for others.
#[test]
fn dropped_scans_are_none() {
    let store = filled("mem:?size=16MiB&profile=tiny&engine=lsm", 50);
    for _ in 0..100 {
        let scan = store.scan(&ScanWish { keys_only: true, ..ScanWish::default() }).expect("opens");
        assert!(!scan.next_batch().expect("read").is_empty());
    }
    let open: Vec<_> = (0..16).map(|_| store.scan(&ScanWish::default()).expect("opens")).collect();
    assert_eq!(store.scan(&ScanWish::default()).unwrap_err().class, Class::ManyScans);
    open[3].close().expect("closes");
    store.scan(&ScanWish::default()).expect("there is room again");
}

#[test]
fn a_format_ends_a_scan_and_a_transaction_conflicts() {
    for engine in ["hash_store", "lsm", "tree"] {
        let store = filled(&format!("mem:?size=16MiB&profile=tiny&engine={engine}"), 400);
        let scan = store.scan(&ScanWish::default()).expect("opens");
        let txn = store.begin().expect("begins");
        assert!(txn.get(&key(1)).expect("read").is_some());
        txn.put(&key(2), b"new").expect("noted");
        store.format().expect("formatted");
        while !scan.next_batch().expect("nothing is left, or what was read ahead").is_empty() {}
        let fault = txn.commit().unwrap_err();
        assert_eq!((fault.class, fault.key), (Class::Conflict, Some(key(1))), "{engine}");
        assert!(store.get(&key(2)).expect("read").is_none());
    }
}

/// What was put together is in the image, whatever else was open when it was closed.
#[test]
fn an_image_has_what_was_committed() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    for engine in ["hash_store", "lsm", "tree"] {
        let path = dir.path().join(engine);
        create(&path, "16MiB", "tiny", engine, 1).expect("created");
        let url = format!("file:{}", path.display());
        let store = filled(&url, 100);
        let _scan = store.scan(&ScanWish::default()).expect("opens");
        let txn = store.begin().expect("begins");
        txn.put(&key(3), b"by a transaction").expect("noted");
        assert!(txn.delete(&key(4)).expect("read"));
        txn.commit().expect("committed");
        store.close().expect("closes");
        let store = Store::open(&format!("{url}?readonly")).expect("opens");
        assert_eq!(store.get(&key(3)).expect("read").as_deref(), Some(&b"by a transaction"[..]));
        assert!(!store.exists(&key(4)).expect("asked"));
        assert_eq!(store.put(b"key", b"").unwrap_err().class, Class::WriteProtected);
    }
}
