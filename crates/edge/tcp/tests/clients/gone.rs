// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A connection that is lost: reads were not carried out, of a write it is not known; the same handle goes on when the target is there
//! again.

use saker::{AsyncStore, EngineKind, ImagePlan, KvError, Spaces, Store, StoreError};
use saker_testing::Network;

use super::{block_on, kv};
use crate::killed;
use crate::loopback::support::serve;

#[test]
#[ignore = "the parent starts it and kills it"]
fn child() {
    killed::serve();
}

/// A store behind a network that waits a second for an answer.
fn behind(network: &Network, name: &str) -> Store {
    Store::open(&format!("tcp://{}/{name}?timeout=1&reconnect=0", network.address())).expect("opens")
}

fn is_lost(error: &StoreError) -> bool {
    matches!(kv(error), Some(KvError::Unreachable | KvError::OutcomeUnknown))
}

fn every_call_says_that_it_is_gone(store: &Store) {
    let read = store.get("key").expect_err("nobody answers");
    assert_eq!(kv(&read), Some(KvError::Unreachable), "{read}");
    let written = store.put("other", "value").expect_err("nobody answers");
    assert!(is_lost(&written), "{written}");
    let awaited = block_on(AsyncStore::new(store.clone()).get("key")).expect_err("nobody answers");
    assert_eq!(kv(&awaited), Some(KvError::Unreachable), "{awaited}");
    let flushed = store.flush().expect_err("nobody answers");
    assert!(is_lost(&flushed), "{flushed}");
    let counted = store.transact(|txn| txn.put("other", "value")).expect_err("nobody answers");
    assert!(is_lost(&counted), "{counted}");
    let scanned = store.iter().and_then(|mut pairs| pairs.next().transpose()).expect_err("nobody answers");
    assert!(is_lost(&scanned) || kv(&scanned) == Some(KvError::IteratorLost), "{scanned}");
}

/// The value of a key, when the handle has found the target again: it looks every two seconds.
fn read_again(store: &Store, key: &str) -> Option<Vec<u8>> {
    for _ in 0..300 {
        match store.get(key) {
            Ok(value) => return value,
            Err(error) => assert_eq!(kv(&error), Some(KvError::Unreachable), "{error}"),
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it does not come back");
}

fn cut_and_come_back(engine: EngineKind) {
    let server = serve(&format!("mem:?size=16MiB&profile=tiny&engine={}", engine.name()));
    let network = Network::to(server.addresses()[0]);
    let store = behind(&network, &server.names()[0]);
    store.put("key", "value").expect("stored");
    network.cut();
    every_call_says_that_it_is_gone(&store);
    network.pass();
    assert_eq!(read_again(&store, "key").as_deref(), Some(&b"value"[..]), "{engine:?}");
    store.put("other", "new").expect("stored");
    assert_eq!(store.iter().expect("opens").count(), 2, "{engine:?}");
    store.close().expect("closes");
}

#[test]
fn a_network_that_is_cut_and_comes_back() {
    std::thread::scope(|scope| {
        EngineKind::ALL.iter().for_each(|engine| _ = scope.spawn(|| cut_and_come_back(*engine)));
    });
}

/// A write that was sent and is not answered: it may take place afterwards, wholly or not at all.
#[test]
fn a_network_that_holds_what_was_sent() {
    let server = serve("mem:?size=16MiB&profile=tiny");
    let network = Network::to(server.addresses()[0]);
    let store = behind(&network, &server.names()[0]);
    let spaces = Spaces::of(store.clone()).expect("it is empty");
    let (space, long) = (spaces.space("one").expect("made"), "a key of more than sixteen bytes");
    space.put("key", "old").expect("stored");
    space.put(long, "old").expect("stored");
    network.hold();
    let begun = std::time::Instant::now();
    let written = space.put("key", "new").expect_err("nobody answers");
    assert_eq!(kv(&written), Some(KvError::OutcomeUnknown), "{written}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    let read = space.get(long).expect_err("nobody answers");
    assert_eq!(kv(&read), Some(KvError::Unreachable), "{read}");
    network.pass();
    let found = read_again(&space, "key").expect("it is there");
    assert!(found == b"old" || found == b"new", "{found:?}");
    assert_eq!(space.get(long).expect("read").as_deref(), Some(&b"old"[..]));
    space.put("key", "newer").expect("stored");
    assert_eq!(space.get("key").expect("read").as_deref(), Some(&b"newer"[..]));
}

#[test]
fn a_target_that_is_killed_keeps_what_it_has_acknowledged() {
    for engine in EngineKind::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("disk.img");
        ImagePlan { engine: *engine, ..ImagePlan::kv(16 << 20, "tiny", 1) }.create(&path).expect("an image");
        let (mut target, url) = killed::start("clients::gone::child", &path);
        let store = AsyncStore::open(&url).expect("opens");
        let puts: Vec<_> = (0..300_u32).map(|n| store.put(n.to_be_bytes(), [n as u8; 300])).collect();
        let mut acknowledged = 0_u32;
        for put in puts {
            if acknowledged == 100 {
                target.kill().expect("kills");
                target.wait().expect("ends");
            }
            match block_on(put) {
                Ok(()) => acknowledged += 1,
                Err(error) => assert!(is_lost(&error), "{error}"),
            }
        }
        let (mut again, url) = killed::start("clients::gone::child", &path);
        let found = Store::open(&url).expect("opens");
        for n in 0..acknowledged {
            assert_eq!(
                found.get(n.to_be_bytes()).expect("read"),
                Some(vec![n as u8; 300]),
                "{engine:?}: {n}"
            );
        }
        again.kill().expect("kills");
        again.wait().expect("ends");
    }
}
