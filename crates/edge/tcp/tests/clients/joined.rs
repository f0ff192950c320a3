// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Clients of several kinds on one device, and what they hold while others take it away.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use saker::{
    AsyncStore, EngineKind, Error, HostError, ImagePlan, KvCache, KvError, RetentionOptions, Spaces, Store,
    StoreError,
};
use saker_testing::{Network, tier};

use super::{block_on, kv, places};
use crate::loopback::support::{serve as serve_hosts, url};
use crate::redis::client::{Redis, Reply, error, ok};
use crate::redis::server::serve;

/// Pipelines of a Redis client beside a host that formats: what is there at the end was written behind the last format, and counts agree.
#[test]
fn pipelines_beside_a_host_that_formats() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=32MiB&profile=tiny&engine={}", engine.name()));
        let (redis_at, host) = (server.redis_addresses()[0], Store::open(&url(&server, "")).expect("opens"));
        let (formats, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
        let (mut seen, mut last) = (Vec::new(), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..tier(5, 100) {
                    host.clear().expect("formatted");
                    formats.fetch_add(1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(3));
                }
                is_over.store(true, Ordering::SeqCst);
            });
            let mut redis = Redis::connect(redis_at);
            while !is_over.load(Ordering::SeqCst) {
                let keys: Vec<_> = (last..last + 30_u32).map(key).collect();
                keys.iter().for_each(|key| redis.send(&[b"SET", key, b"value"]));
                keys.iter().for_each(|key| redis.send(&[b"GET", key]));
                for _ in 0..30 {
                    let stored = redis.read();
                    assert!(stored == ok() || error(&stored).starts_with("LOADING "), "{stored:?}");
                }
                for _ in 0..30 {
                    let read = redis.read();
                    let is_sound = read == Reply::Null || read == Reply::Bulk(b"value".to_vec());
                    assert!(is_sound || error(&read).starts_with("LOADING "), "{read:?}");
                }
                seen.push((formats.load(Ordering::SeqCst), keys));
                last += 30;
            }
        });
        let mut redis = Redis::connect(redis_at);
        let ends = formats.load(Ordering::SeqCst);
        let found: BTreeSet<Vec<u8>> =
            host.iter().expect("opens").map(|pair| pair.expect("read").0).collect();
        assert_eq!(redis.line("DBSIZE"), Reply::Integer(found.len() as i64), "{engine:?}");
        // The next format may have been under way when the pipeline had been answered: the one behind that began afterwards.
        for (answered, keys) in seen.iter().filter(|(answered, _)| answered + 2 <= ends) {
            let left = keys.iter().filter(|key| found.contains(*key)).count();
            assert_eq!(left, 0, "{engine:?}: pairs that were there after format {answered} of {ends}");
        }
        for key in &found {
            assert_eq!(redis.ask(&[b"GET", key]), Reply::Bulk(b"value".to_vec()), "{engine:?}");
        }
    }
}

fn key(n: u32) -> Vec<u8> {
    if n.is_multiple_of(3) {
        format!("a key of more than sixteen bytes {n:08}").into_bytes()
    } else {
        n.to_be_bytes().to_vec()
    }
}

/// An iterator that a host holds while a Redis client deletes everything shows nothing that was written afterwards, and ends.
#[test]
fn iterators_over_the_end_of_everything() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=32MiB&profile=tiny&engine={}", engine.name()));
        let (mut redis, host) =
            (Redis::connect(server.redis_addresses()[0]), Store::open(&url(&server, "")).expect("opens"));
        host.put_many((0..900_u32).map(|n| (key(n), b"old"))).expect("stored");
        let mut held = host.iter().expect("opens");
        assert_eq!(held.next().expect("there is one").expect("read").1, b"old");
        assert_eq!(redis.line("FLUSHDB"), ok());
        (0..900_u32).for_each(|n| redis.send(&[b"SET", &key(n), b"new"]));
        (0..900_u32).for_each(|_| assert_eq!(redis.read(), ok()));
        let mut last = None;
        for pair in held.by_ref() {
            match pair {
                Ok((_, value)) => assert!(value == b"old" || value == b"new", "{engine:?}"),
                Err(error) => last = Some(error),
            }
        }
        if let Some(error) = last {
            assert!(matches!(error, StoreError::Host(HostError::Kv(_) | HostError::Status(_))), "{error}");
        }
        let again: Vec<_> = host.iter().expect("opens").map(|pair| pair.expect("read").1).collect();
        assert_eq!((again.len(), again.iter().all(|value| value == b"new")), (900, true), "{engine:?}");
    }
}

/// Eight threads share a device of spaces; other threads remove spaces, drop iterators and clones, and close it at the end.
#[test]
fn threads_spaces_and_what_others_drop() {
    for engine in EngineKind::ALL {
        for place in &places(engine, 32 << 20).urls {
            shared_by_threads(place, tier(40, 600));
        }
    }
}

fn shared_by_threads(place: &str, rounds: u32) {
    let spaces = Spaces::open(place).expect("opens");
    let (kept, dropped) = (spaces.space("kept").expect("made"), std::sync::mpsc::channel());
    let (send, receive) = dropped;
    std::thread::scope(|scope| {
        for thread in 0..8_u32 {
            let (spaces, kept, send) = (&spaces, kept.clone(), send.clone());
            scope.spawn(move || {
                for n in 0..rounds {
                    let key = [thread, n].map(u32::to_be_bytes).concat();
                    kept.put(&key, &key).expect("stored");
                    let others = spaces.space(&format!("space {}", n % 3)).expect("made");
                    // It may be removed at any moment.
                    let written = others.put(&key, &key);
                    assert!(matches!(written, Ok(()) | Err(StoreError::Gone)), "{written:?}");
                    if n % 10 == thread {
                        let mut pairs = loop {
                            match kept.prefix(thread.to_be_bytes()) {
                                Err(StoreError::ManyScans) => std::thread::yield_now(),
                                opened => break opened.expect("opens"),
                            }
                        };
                        let first = pairs.next().expect("there is one");
                        // A device has sixteen scans at a time: this one is under way.
                        assert!(first.is_ok(), "{first:?}");
                        send.send((pairs, others)).expect("it lives");
                    }
                }
            });
        }
        drop(send);
        scope.spawn(|| receive.into_iter().for_each(drop));
        for n in 0..rounds / 4 {
            while let Err(error) = spaces.remove(&format!("space {}", n % 3)) {
                assert!(matches!(error, StoreError::ManyScans), "{error}");
            }
        }
    });
    assert_eq!(kept.iter().expect("opens").count() as u32, 8 * rounds, "{place}");
    for thread in 0..8_u32 {
        let key = [thread, rounds - 1].map(u32::to_be_bytes).concat();
        assert_eq!(kept.get(&key).expect("read"), Some(key), "{place}");
    }
    for name in spaces.names().expect("read") {
        let space = spaces.space(&name).expect("there");
        space.iter().expect("opens").for_each(|pair| _ = pair.expect("read"));
    }
    spaces.device().close().expect("closes");
    assert!(matches!(kept.put("key", ""), Err(StoreError::Closed)));
}

/// A store that is closed while another thread waits for a target that does not answer: both are told, and nobody waits for ever.
#[test]
fn closed_while_another_thread_waits() {
    let server = serve_hosts("mem:?size=16MiB&profile=tiny");
    let network = Network::to(server.addresses()[0]);
    let place = format!("tcp://{}/{}?timeout=1&reconnect=0", network.address(), server.names()[0]);
    let store = Store::open(&place).expect("opens");
    let future = AsyncStore::new(store.clone());
    store.put("key", "value").expect("stored");
    let mut pairs = store.iter().expect("opens");
    network.hold();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store.put("other", "value"));
        let awaited = future.put("third", "value");
        std::thread::sleep(Duration::from_millis(50));
        // It is closed all the same.
        let _ = store.close();
        let answers = [waiting.join().expect("it ends"), block_on(awaited)];
        for answer in answers {
            let error = answer.expect_err("nobody answers");
            let is_told = matches!(kv(&error), Some(KvError::OutcomeUnknown | KvError::Unreachable));
            assert!(is_told || matches!(error, StoreError::Closed), "{error}");
        }
    });
    assert!(store.is_closed() && matches!(store.get("key"), Err(StoreError::Closed)));
    assert!(matches!(pairs.by_ref().find(Result::is_err), Some(Err(StoreError::Closed)) | None));
}

/// A cache's device has one owner; two caches at one target take each other's room and never say that it is full.
#[test]
fn two_caches_of_one_device() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("disk.img");
    let block = vec![7; 20_000];
    for engine in EngineKind::ALL {
        let _ = std::fs::remove_file(&path);
        ImagePlan { engine: *engine, ..ImagePlan::kv(8 << 20, "tiny", 1) }.create(&path).expect("an image");
        let place = format!("file:{}", path.display());
        let open = |place: &str| KvCache::open(place, RetentionOptions::default());
        let mut cache = open(&place).expect("opens");
        let second = open(&place).expect_err("it is in use");
        assert!(matches!(second, Error::Image(saker::image::ImageError::InUse { .. })), "{second}");
        cache.put_if_absent(b"block", &block).expect("stored");
        cache.close().expect("closes");
        let server = serve_hosts(&place);
        let mut both = [0, 1].map(|_| open(&url(&server, "")).expect("opens"));
        assert!(both[1].get(b"block").expect("read").is_some(), "{engine:?}");
        let last = tier(450, 3000_u32);
        for n in 0..=last {
            let stored = both[n as usize % 2].put_if_absent(&n.to_be_bytes(), &block);
            assert!(stored.as_ref().is_ok_and(|stored| *stored), "{engine:?}: {n}: {stored:?}");
        }
        let cache = &mut both[last as usize % 2];
        assert_eq!(cache.get(&last.to_be_bytes()).expect("read"), Some(block.clone()), "{engine:?}");
    }
}
