// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One namespace for Redis clients and NVMe/TCP hosts at once.

use std::sync::atomic::{AtomicBool, Ordering};

use saker::{EngineKind, Kv};
use saker_testing::tier;

use super::client::{Redis, Reply, bulk, ok};
use super::server::{connect, serve};
use crate::loopback::support::{open, url};

#[test]
fn each_sees_what_the_other_has_written() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=32MiB&profile=tiny&engine={}", engine.name()));
        let (mut redis, mut kv) = (connect(&server), open(&server, ""));
        for key in ["short", "a key of more than sixteen bytes"] {
            assert_eq!(redis.ask(&[b"SET", key.as_bytes(), b"one"]), ok());
            assert_eq!(kv.get(key.as_bytes()).expect("read").as_deref(), Some(&b"one"[..]), "{engine:?}");
            kv.put(key.as_bytes(), b"two").expect("stored");
            assert_eq!(redis.ask(&[b"GET", key.as_bytes()]), bulk("two"), "{engine:?}");
            assert!(!kv.put_if_absent(key.as_bytes(), b"three").expect("asked"));
            assert!(kv.delete(key.as_bytes()).expect("deleted"));
            assert_eq!(redis.ask(&[b"EXISTS", key.as_bytes()]), Reply::Integer(0), "{engine:?}");
        }
        redis.line("SET gone v");
        assert_eq!(redis.line("FLUSHDB"), ok());
        assert_eq!(kv.list(None).count(), 0, "{engine:?}");
        kv.put(b"k", b"v").expect("stored");
        kv.format().expect("formatted");
        assert_eq!(redis.line("GET k"), Reply::Null, "{engine:?}");
    }
}

/// Both write the same keys all the time; a value is whole, whoever wrote it, and all agree on the last one.
#[test]
fn at_the_same_time() {
    let server = serve("mem:?size=128MiB&profile=tiny");
    let (redis_at, kv_at) = (server.redis_addresses()[0], url(&server, ""));
    let ended = AtomicBool::new(false);
    let whole = |value: &[u8]| value.len() == 600 && value.iter().all(|byte| *byte == value[0]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut kv = Kv::open(&kv_at).expect("opened");
            for round in 0..tier(100_u32, 5000) {
                for key in 0..20_u8 {
                    kv.put(&[key], &[round as u8; 600]).expect("stored");
                    let value = kv.get(&[key]).expect("read").expect("there is one");
                    assert!(whole(&value));
                }
            }
            ended.store(true, Ordering::Release);
        });
        let mut redis = Redis::connect(redis_at);
        let mut round = 0_u8;
        while !ended.load(Ordering::Acquire) {
            round = round.wrapping_add(1);
            (0..20_u8).for_each(|key| redis.send(&[b"SET", &[key], &[round; 600]]));
            (0..20_u8).for_each(|_| assert_eq!(redis.read(), ok()));
            (0..20_u8).for_each(|key| redis.send(&[b"GET", &[key]]));
            for _ in 0..20 {
                let Reply::Bulk(value) = redis.read() else { panic!("a value") };
                assert!(whole(&value));
            }
        }
    });
    let (mut redis, mut kv) = (Redis::connect(redis_at), Kv::open(&kv_at).expect("opened"));
    for key in 0..20_u8 {
        let value = kv.get(&[key]).expect("read").expect("there is one");
        assert_eq!(redis.ask(&[b"GET", &[key]]), Reply::Bulk(value));
    }
}

/// A pair is deleted once, whoever deletes it: no host comes between the question whether it is there and its end.
#[test]
fn a_delete_is_counted_once() {
    for engine in EngineKind::ALL {
        let server = serve(&format!("mem:?size=32MiB&profile=tiny&engine={}", engine.name()));
        let (redis_at, kv_at) = (server.redis_addresses()[0], url(&server, ""));
        let pairs = tier(150_u32, 2000);
        let key = |n: u32| {
            if n.is_multiple_of(2) { n.to_be_bytes().to_vec() } else { vec![n as u8; 30 + n as usize / 256] }
        };
        let mut kv = Kv::open(&kv_at).expect("opened");
        (0..pairs).for_each(|n| kv.put(&key(n), b"value").expect("stored"));
        let stored = kv.list(None).count();
        let deleted = std::thread::scope(|scope| {
            let redis = scope.spawn(|| {
                let mut redis = Redis::connect(redis_at);
                let ones = (0..pairs).map(|n| redis.ask(&[b"DEL", &key(n)]) == Reply::Integer(1));
                ones.filter(|was_there| *was_there).count()
            });
            let host = (0..pairs).filter(|n| kv.delete(&key(*n)).expect("deleted")).count();
            host + redis.join().expect("it ends")
        });
        assert_eq!(deleted, stored, "{engine:?}");
        assert_eq!(kv.list(None).count(), 0);
    }
}

/// `SET NX` and optimistic replacement lose nothing, whoever else is there.
#[test]
fn conditions_hold_among_many() {
    let server = serve("mem:?size=64MiB&profile=tiny");
    let (redis_at, kv_at) = (server.redis_addresses()[0], url(&server, ""));
    let locks = tier(100_u32, 3000);
    let taken = std::thread::scope(|scope| {
        let redis = |name: &'static [u8]| {
            move || {
                let mut redis = Redis::connect(redis_at);
                (0..locks).filter(|n| redis.ask(&[b"SET", &n.to_be_bytes(), name, b"NX"]) == ok()).count()
            }
        };
        let one = scope.spawn(redis(b"one"));
        let two = scope.spawn(redis(b"two"));
        let three = scope.spawn(|| {
            let mut kv = Kv::open(&kv_at).expect("opened");
            (0..locks).filter(|n| kv.put_if_absent(&n.to_be_bytes(), b"three").expect("asked")).count()
        });
        [one, two, three].into_iter().map(|thread| thread.join().expect("it ends")).sum::<usize>()
    });
    assert_eq!(taken, locks as usize);
}
