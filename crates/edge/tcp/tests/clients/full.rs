// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A full device is `KvError::Full`, whatever call met it; reads and deletes go on.

use saker::{AsyncStore, EngineKind, KvError, Spaces, Store, WriteBatch};

use super::{block_on, kv, places};

const VALUE: [u8; 4000] = [7; 4000];

/// Stores pairs until the device takes no more, with long keys in between. How many it took.
fn fill(store: &Store) -> u32 {
    for n in 0..20_000_u32 {
        if let Err(error) = store.put(key(n), VALUE) {
            assert_eq!(kv(&error), Some(KvError::Full), "{error}");
            return n;
        }
    }
    panic!("it is never full");
}

fn key(n: u32) -> Vec<u8> {
    if n.is_multiple_of(5) {
        format!("a key of more than sixteen bytes {n}").into_bytes()
    } else {
        n.to_be_bytes().to_vec()
    }
}

#[test]
fn every_call_says_that_it_is_full() {
    for engine in EngineKind::ALL {
        for url in &places(engine, 4 << 20).urls {
            let spaces = Spaces::open(url).expect("opens");
            let store = spaces.space("one").expect("made");
            let stored = fill(&store);
            assert!(stored > 50, "{url}: {stored}");
            every_write_is_refused(&store, url);
            for n in 0..stored {
                assert_eq!(store.get(key(n)).expect("read").as_deref(), Some(&VALUE[..]), "{url}: {n}");
            }
            assert_eq!(store.iter().expect("opens").count(), stored as usize, "{url}");
            // What goes makes room.
            for n in 0..stored {
                assert!(store.delete(key(n)).expect("deleted"), "{url}: {n}");
            }
            store.put("again", VALUE).expect("there is room");
            spaces.device().close().expect("closes");
        }
    }
}

fn every_write_is_refused(store: &Store, url: &str) {
    // A device that is full for one value may have room for another, or collects some meanwhile.
    let mut batch = WriteBatch::new();
    (0..40_u8).for_each(|n| _ = batch.put(&[b'b', n], &VALUE));
    let batched = store.write(&batch).expect_err("it is full");
    assert!(is_full(&batched), "{url}: {batched}");
    let many = store.put_many((0..40_u8).map(|n| ([b'm', n], VALUE))).expect_err("it is full");
    assert!(is_full(&many), "{url}: {many}");
    let future = AsyncStore::new(store.clone());
    let awaited = (0..40_u8).find_map(|n| block_on(future.put([b'a', n], VALUE)).err()).expect("it is full");
    assert_eq!(kv(&awaited), Some(KvError::Full), "{url}: {awaited}");
    for name in [b'b', b'm', b'a'] {
        (0..40).for_each(|n| _ = store.delete([name, n]).expect("deletes go on"));
    }
}

/// What became of one write of several is told with its key.
fn is_full(error: &saker::StoreError) -> bool {
    let saker::StoreError::Host(error) = error else { return false };
    match error {
        saker::HostError::Batch { error, .. } | saker::HostError::Queued { error, .. } => {
            **error == saker::HostError::Kv(KvError::Full)
        }
        error => *error == saker::HostError::Kv(KvError::Full),
    }
}
