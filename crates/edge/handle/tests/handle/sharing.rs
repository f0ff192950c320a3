// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Threads on one handle.

use saker::EngineKind;
use saker_handle::{Class, ScanWish, Store};

fn key(n: u32) -> Vec<u8> {
    format!("key {n:08}").into_bytes()
}

#[test]
fn threads_share_a_handle() {
    for engine in EngineKind::ALL {
        let url = format!("mem:?size=64MiB&profile=tiny&engine={}", engine.name());
        let store = Store::open(&url).expect("opens");
        std::thread::scope(|scope| {
            for thread in 0..3u32 {
                let store = &store;
                scope.spawn(move || {
                    for n in (0..300).filter(|n| n % 3 == thread) {
                        store.put(&key(n), &key(n)).expect("stored");
                        assert_eq!(store.get(&key(n)).expect("read"), Some(key(n)));
                    }
                });
            }
        });
        let keys: Vec<_> = (0..300).map(key).collect();
        let asked: Vec<_> = keys.iter().map(Vec::as_slice).collect();
        assert!(store.multi_get(&asked).expect("read").into_iter().eq(keys.iter().cloned().map(Some)));
        store.close().expect("closes");
        store.close().expect("again does nothing");
        assert_eq!(store.put(b"key", b"").unwrap_err().class, Class::Closed);
    }
}

/// Somebody closes what others use: they are told, and nothing else happens.
#[test]
fn closing_ends_scans_and_transactions() {
    let store = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    store.put(b"key", b"value").expect("stored");
    let (scan, txn) = (store.scan(&ScanWish::default()).expect("opens"), store.begin().expect("begins"));
    txn.put(b"other", b"value").expect("noted");
    store.close().expect("closes");
    assert_eq!(scan.next_batch().unwrap_err().class, Class::Closed);
    assert!(scan.next_batch().expect("it has ended").is_empty());
    assert_eq!(txn.commit().unwrap_err().class, Class::Closed);
    assert_eq!(txn.commit().unwrap_err().class, Class::Closed);
}

/// A call that has panicked leaves a device that nobody uses any more.
#[test]
fn a_panic_breaks_the_handle_and_not_the_process() {
    let store = Store::open("mem:?size=4MiB&profile=tiny").expect("opens");
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let pairs = std::iter::once_with(|| -> (&[u8], &[u8]) {
            std::panic::resume_unwind(Box::new("a user's own"))
        });
        store.put_many(pairs)
    }));
    assert!(caught.is_err());
    assert_eq!(store.get(b"key").unwrap_err().class, Class::Broken);
}
