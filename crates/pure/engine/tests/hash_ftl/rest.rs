// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Background work ends when nobody asks for anything.

use crate::hash_ftl::rig::{Bench, scale, shape, variants};
use saker_engine::hash_ftl::{HashFtlConfig, Layout};
use saker_engine::{Condition, Engine, KvError};
use saker_flash::FaultPlan;
use saker_sim::Seed;

/// Quanta after which it counts as never ending: to copy the whole device takes a few hundred.
const QUANTA_MAX: u32 = 20_000;

/// Background work until there is none.
fn rest(bench: &mut Bench, what: &str) {
    let before = bench.store.stats().gc_segments;
    let quanta = (0..QUANTA_MAX).take_while(|_| bench.background()).count();
    let collected = bench.store.stats().gc_segments - before;
    assert!(quanta < QUANTA_MAX as usize, "{what}: {collected} segments collected and no end");
}

/// Stores until the device is full, overwrites, and rests now and then.
fn overwritten(config: HashFtlConfig, segments: u32, seed: u64) {
    let mut bench = Bench::new(config, segments, FaultPlan::default());
    let (mut rng, what) = (Seed(seed).rng(), format!("{config:?}, seed {seed}"));
    let mut pairs = 0u64;
    while bench.put(&pairs.to_be_bytes(), &[3; 100], Condition::Always) != Err(KvError::CapacityExceeded) {
        pairs += 1;
    }
    for n in 0..6000 {
        let key = rng.below(pairs).to_be_bytes();
        assert_eq!(bench.put(&key, &vec![1; rng.below(100) as usize], Condition::Always), Ok(()));
        if n % 500 == 0 {
            rest(&mut bench, &what);
        }
    }
    rest(&mut bench, &what);
}

/// Copying a record changes a section, and with a cache of few sections each change becomes a page: what a collection of
/// records gains is less than what it writes.
#[test]
fn a_full_device_comes_to_rest_with_a_cache_of_few_sections() {
    for segments in [24, 48] {
        for config in variants(segments, true) {
            let pages = if matches!(config.layout, Layout::Fixed) { [1, 4] } else { [1, 2] };
            for pages in pages {
                let cache_bytes = pages * u64::from(shape(segments).geometry.page_bytes);
                (0..scale(1)).for_each(|seed| {
                    overwritten(HashFtlConfig { cache_bytes, ..config }, segments, seed);
                });
            }
        }
    }
}

/// Reads change nothing, so what they find half collected stays so: without that collections of records and of sections take turns for
/// ever where few segments are free and the cache is small.
#[test]
fn collections_rest_while_a_device_is_only_read() {
    // A table that doubles has less room beside it.
    for config in variants(256, true).into_iter().filter(|c| c.doubles_at_percent.is_none()) {
        let g = shape(256).geometry;
        let device = u64::from(g.segments) * g.segment_bytes();
        let config = HashFtlConfig { cache_bytes: 8 * u64::from(g.page_bytes), ..config };
        let mut bench = Bench::new(config, 256, FaultPlan::default());
        let mut rng = Seed(11).rng();
        let pairs = device * 3 / 4 / 512;
        for n in 0..2 * pairs {
            let key = if n < pairs { n } else { rng.below(pairs) };
            assert_eq!(bench.put(&key.to_be_bytes(), &[4; 480], Condition::Always), Ok(()));
        }
        let before = bench.store.stats().gc_segments;
        for _ in 0..pairs {
            assert!(bench.get(&rng.below(pairs).to_be_bytes()).is_ok());
            bench.background();
        }
        let collected = bench.store.stats().gc_segments - before;
        assert!(collected < 40, "{collected} segments collected for {pairs} reads: {config:?}");
    }
}
