// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device as a cache: what goes, in which order, and that it never says that it is full.

use saker::{EngineKind, KvCache, create_image};
use saker_host::HostError;
use saker_host::retention::{RetentionOptions, RetentionOrder};
use saker_sim::{Duration, Seed};
use saker_testing::tier;

const VALUE: usize = 20_000;

fn key(n: u64) -> [u8; 16] {
    u128::from(n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835).to_le_bytes()
}

fn value(n: u64) -> Vec<u8> {
    vec![n as u8; VALUE]
}

fn sized(pairs: u64, order: RetentionOrder) -> RetentionOptions {
    RetentionOptions { bytes_max: Some(pairs * (16 + VALUE as u64)), order, ttl: None }
}

fn there(cache: &mut KvCache, n: u64) -> bool {
    let mut buffer = vec![0; VALUE];
    let found = cache.get_into(&key(n), &mut buffer).expect("answered");
    assert!(found.is_none() || found == Some(VALUE) && buffer == value(n), "a value is whole");
    found.is_some()
}

#[test]
fn the_order_says_what_goes() {
    for (order, gone) in [(RetentionOrder::Lru, 1), (RetentionOrder::Fifo, 0)] {
        let mut cache = KvCache::open("mem:?size=64MiB&profile=tiny", sized(3, order)).expect("opens");
        (0..3).for_each(|n| assert!(cache.put_if_absent(&key(n), &value(n)).expect("stored")));
        assert!(there(&mut cache, 0));
        assert!(!cache.put_if_absent(&key(0), &value(9)).expect("answered"), "it is there");
        assert!(cache.put_if_absent(&key(3), &value(3)).expect("stored"));
        let expected: Vec<bool> = (0..4).map(|n| n != gone).collect();
        assert_eq!(
            cache.exists(&[0, 1, 2, 3].map(key).each_ref().map(|key| &key[..])).expect("answered"),
            expected,
            "{order:?}"
        );
        assert_eq!(cache.prefix(&[2, 3, gone].map(key).each_ref().map(|key| &key[..])).expect("answered"), 2);
        let stats = cache.stats();
        assert_eq!((stats.stored, stats.present, stats.evicted, stats.hits), (4, 1, 1, 1));
        cache.close().expect("closes");
    }
}

/// Far more than the device holds is stored; the newest are there.
#[test]
fn a_full_device_makes_room() {
    let mut cache =
        KvCache::open("mem:?size=64MiB&profile=tiny", RetentionOptions::default()).expect("opens");
    for n in 0..5000 {
        assert!(cache.put_if_absent(&key(n), &value(n)).expect("room is made"), "{n}");
    }
    assert!(cache.stats().evicted > 800 && there(&mut cache, 4999) && !there(&mut cache, 0));
    assert!(cache.bytes() > 20 << 20, "{} bytes are kept", cache.bytes());
    cache.close().expect("closes");
}

#[test]
fn what_is_too_old_is_gone() {
    let ttl = Some(Duration::from_nanos(1));
    let options = RetentionOptions { ttl, ..RetentionOptions::default() };
    let mut cache = KvCache::open("mem:?size=64MiB&profile=tiny", options).expect("opens");
    assert!(cache.put_if_absent(&key(1), &value(1)).expect("stored"));
    while cache.exists(&[&key(1)]).expect("answered")[0] {}
    assert!(!there(&mut cache, 1));
    assert!(cache.put_if_absent(&key(1), &value(1)).expect("stored again"));
    assert_eq!(cache.stats().expired, 1);
    cache.close().expect("closes");
}

#[test]
fn an_image_is_taken_stock_of_and_shrunk_to_its_size() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("cache.img");
    create_image(&path, 64 << 20, "tiny", 1).expect("created");
    let url = format!("file:{}", path.display());
    let mut cache = KvCache::open(&url, sized(5, RetentionOrder::Lru)).expect("opens");
    (0..5).for_each(|n| assert!(cache.put_if_absent(&key(n), &value(n)).expect("stored")));
    cache.close().expect("closes");
    let mut cache = KvCache::open(&url, sized(3, RetentionOrder::Lru)).expect("opens");
    assert_eq!(cache.bytes(), 3 * (16 + VALUE as u64));
    let left = (0..5).filter(|n| there(&mut cache, *n)).count();
    assert_eq!((left, cache.stats().evicted), (3, 2));
    cache.close().expect("closes");
}

#[test]
fn what_can_never_fit_is_refused() {
    let mut cache =
        KvCache::open("mem:?size=64MiB&profile=tiny", sized(1, RetentionOrder::Lru)).expect("opens");
    let refused = cache.put_if_absent(&key(1), &vec![0; VALUE + 1]).expect_err("too long");
    assert_eq!(refused, HostError::ValueLength { bytes: VALUE + 1, bytes_max: VALUE });
    let refused = cache.put_if_absent(&[0; 17], b"x").expect_err("too long a key");
    assert_eq!(refused.to_string(), "a key has 1 to 16 bytes, not 17");
    cache.close().expect("closes");
}

/// A cache that was given no size leaves collections the room that they need, whatever is asked for again and again.
#[test]
fn without_a_size_there_is_room_for_collections() {
    for engine in EngineKind::ALL {
        let url = format!("mem:?size=24MiB&profile=tiny&engine={}", engine.name());
        let mut cache = KvCache::open(&url, RetentionOptions::default()).expect("opens");
        let mut rng = Seed(1).rng();
        for _ in 0..tier(4000, 40_000) {
            // Small numbers come more often.
            let n = (rng.unit() * rng.unit() * 3000.0) as u64;
            if !there(&mut cache, n) {
                assert!(cache.put_if_absent(&key(n), &value(n)).expect("room is made"), "{n}");
            }
        }
        let store = cache.device_stats().expect("it is on this thread").namespaces[0].store;
        assert!(cache.stats().evicted > 500, "{}: it was full", engine.name());
        let (written, moved) = (store.user_bytes_written, store.gc_bytes_copied);
        assert!(moved < written, "{}: {moved} bytes were moved for {written}", engine.name());
        cache.close().expect("closes");
    }
}

/// The room that a cache finds depends on its longest block, so it is the same at the next opening: nothing goes then.
#[test]
fn without_a_size_the_next_opening_keeps_everything() {
    for engine in EngineKind::ALL {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("disk.img");
        let plan = saker::ImagePlan { engine: *engine, ..saker::ImagePlan::kv(16 << 20, "tiny", 1) };
        plan.create(&path).expect("an image");
        let url = format!("file:{}", path.display());
        let open = || KvCache::open(&url, RetentionOptions::default()).expect("opens");
        let mut cache = open();
        for n in 0..1500 {
            let block = vec![7; if n % 2 == 0 { 3000 } else { 20_000 }];
            assert!(cache.put_if_absent(&key(n), &block).expect("room is made"), "{engine:?}: {n}");
        }
        assert!(cache.stats().evicted > 100, "{engine:?}: it was full");
        let (bytes, mut lives) = (cache.bytes(), Some(cache));
        for is_closed in [true, false] {
            let cache = lives.take().expect("it is open");
            if is_closed {
                cache.close().expect("closes")
            } else {
                drop(cache)
            }
            let cache = open();
            assert_eq!((cache.bytes(), cache.stats().evicted), (bytes, 0), "{engine:?}");
            lives = Some(cache);
        }
    }
}
