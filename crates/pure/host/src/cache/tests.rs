// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::BTreeMap;

use proptest::prelude::*;
use saker_sim::{Free, Rng, Seed};

use super::*;

fn key(n: u64) -> Key {
    Key::new(&n.to_be_bytes()).expect("8 bytes")
}

fn cache(policy: CachePolicy, bytes: usize, value_bytes_max: usize) -> ReadCache {
    ReadCache::new(CacheOptions { bytes, policy, value_bytes_max }).expect("it has bytes")
}

fn get(cache: &ReadCache, n: u64) -> Option<Vec<u8>> {
    cache.get(&key(n), &mut Free, <[u8]>::to_vec)
}

#[test]
fn no_bytes_are_no_cache() {
    assert!(ReadCache::new(CacheOptions::NONE).is_none());
    assert!(ReadCache::new(CacheOptions::default()).is_none());
}

/// Room for exactly two entries of 100 bytes.
#[test]
fn lru_forgets_what_was_not_used_for_the_longest_time() {
    let cache = cache(CachePolicy::Lru, 2 * (ENTRY_BYTES + 100), 100);
    cache.insert(&key(1), &[1; 100], &mut Free);
    cache.insert(&key(2), &[2; 100], &mut Free);
    assert_eq!(get(&cache, 1), Some(vec![1; 100]));
    cache.insert(&key(3), &[3; 100], &mut Free);
    assert_eq!((get(&cache, 1).is_some(), get(&cache, 2), get(&cache, 3).is_some()), (true, None, true));
    let stats = cache.stats();
    assert_eq!((stats.hits, stats.misses, stats.inserted, stats.entries), (3, 1, 3, 2));
    assert_eq!(stats.bytes, 2 * (ENTRY_BYTES + 100) as u64);
}

#[test]
fn a_write_is_no_use() {
    let cache = cache(CachePolicy::Lru, 2 * (ENTRY_BYTES + 100), 100);
    cache.insert(&key(1), &[1; 100], &mut Free);
    cache.insert(&key(2), &[2; 100], &mut Free);
    cache.update(&key(1), Some(&[9; 100]), &mut Free);
    cache.insert(&key(3), &[3; 100], &mut Free);
    assert_eq!((get(&cache, 1), get(&cache, 2)), (None, Some(vec![2; 100])));
}

/// A scan of keys that are read once does not displace those that are read again and again.
#[test]
fn s3_fifo_withstands_a_scan_and_lru_does_not() {
    let hits_after_scan = |policy| {
        let cache = cache(policy, 100 * (ENTRY_BYTES + 8), 8);
        for n in (0..50).cycle().take(500) {
            if get(&cache, n).is_none() {
                cache.insert(&key(n), &[0; 8], &mut Free);
            }
        }
        (1000..2000).for_each(|n| cache.insert(&key(n), &[0; 8], &mut Free));
        (0..50).filter(|n| cache.contains(&key(*n))).count()
    };
    assert_eq!(hits_after_scan(CachePolicy::Lru), 0);
    assert_eq!(hits_after_scan(CachePolicy::S3Fifo), 50);
}

#[test]
fn only_values_up_to_the_threshold_are_admitted() {
    for policy in CachePolicy::ALL {
        let cache = cache(policy, 1 << 20, 64);
        cache.insert(&key(1), &[1; 64], &mut Free);
        cache.insert(&key(2), &[2; 65], &mut Free);
        assert_eq!((get(&cache, 1).is_some(), get(&cache, 2)), (true, None), "{policy:?}");
        cache.update(&key(1), Some(&[3; 65]), &mut Free);
        assert_eq!(get(&cache, 1), None, "a longer value takes the older one with it");
        assert_eq!(cache.stats().refused, 1);
    }
}

#[test]
fn an_entry_larger_than_the_cache_is_not_kept() {
    for policy in CachePolicy::ALL {
        let cache = cache(policy, 200, 4096);
        cache.insert(&key(1), &[1; 100], &mut Free);
        assert_eq!((get(&cache, 1), cache.stats().bytes), (None, 0), "{policy:?}");
        cache.insert(&key(1), &[1; 10], &mut Free);
        cache.update(&key(1), Some(&[2; 1000]), &mut Free);
        assert_ne!(get(&cache, 1), Some(vec![1; 10]), "{policy:?}: what was replaced is gone");
    }
}

#[test]
fn policies_have_names() {
    for policy in CachePolicy::ALL {
        assert_eq!(CachePolicy::named(policy.name()), Some(policy));
    }
    assert_eq!(CachePolicy::named("fifo"), None);
}

/// Operations as a number each.
fn step(cache: &ReadCache, model: &mut BTreeMap<u64, Vec<u8>>, rng: &mut Rng, bytes_max: u64) {
    let n = rng.below(40);
    let value = vec![rng.below(256) as u8; rng.below(300) as usize];
    match rng.below(10) {
        0..4 => {
            if let Some(found) = get(cache, n) {
                assert_eq!(Some(&found), model.get(&n), "what is here is the newest");
            }
        }
        4..7 => {
            cache.insert(&key(n), &value, &mut Free);
            model.insert(n, value);
        }
        7 => {
            cache.update(&key(n), Some(&value), &mut Free);
            model.insert(n, value);
        }
        8 => {
            cache.update(&key(n), None, &mut Free);
            model.remove(&n);
        }
        _ => {
            cache.remove(&key(n));
            model.remove(&n);
        }
    }
    let stats = cache.stats();
    assert!(stats.bytes <= bytes_max, "{} of {bytes_max} bytes", stats.bytes);
    assert!(stats.bytes >= stats.entries * ENTRY_BYTES as u64);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_cache_never_shows_what_is_not_the_newest(seed: u64, bytes in 1usize..20_000, max in 0usize..300) {
        for policy in CachePolicy::ALL {
            let (cache, mut model) = (cache(policy, bytes, max), BTreeMap::new());
            let mut rng = Seed(seed).rng();
            for _ in 0..400 {
                step(&cache, &mut model, &mut rng, bytes as u64);
            }
        }
    }
}
