// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a cache writes for each block that it stores, by the part of the namespace that it takes.
//!
//! `cargo run --release -p saker --example cache_room`

use saker::{Kv, KvCache, RetentionOptions};

const BLOCK_BYTES: usize = 256 << 10;
/// Lookups, of which the first third fills the cache.
const LOOKUPS: u64 = 9000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("engine       part   bytes programmed a byte stored   hit rate");
    for engine in ["hash_store", "hash_plus", "lsm", "tree"] {
        let url = format!("mem:?size=320MiB&engine={engine}");
        let capacity = Kv::open(&url)?.capacity_bytes()?;
        for percent in [50, 70, 75, 80, 85, 90, 100] {
            let (written, hits) = run(&url, capacity / 100 * percent)?;
            println!("{engine:<12} {percent:>3} %   {written:>30.2}   {hits:>8.2}");
        }
    }
    Ok(())
}

/// Bytes programmed for a byte stored, and the part of lookups that found their block.
fn run(url: &str, bytes_max: u64) -> Result<(f64, f64), Box<dyn std::error::Error>> {
    let options = RetentionOptions { bytes_max: Some(bytes_max), ..RetentionOptions::default() };
    let mut cache = KvCache::open(url, options)?;
    let (block, mut random, mut before) = (vec![7; BLOCK_BYTES], 1_u64, (0, 0));
    for lookup in 0..LOOKUPS {
        if lookup == LOOKUPS / 3 {
            before = counted(&mut cache);
        }
        // Products of two uniform numbers: small ones come more often.
        let mut unit = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 11) as f64 / (1_u64 << 53) as f64
        };
        let key = ((unit() * unit() * 3000.0) as u64 + 1).to_be_bytes();
        if cache.get_into(&key, &mut [])?.is_none() {
            cache.put_if_absent(&key, &block)?;
        }
    }
    let after = counted(&mut cache);
    let stored = after.1 - before.1;
    let written = (after.0 - before.0) as f64 / (stored * BLOCK_BYTES as u64) as f64;
    Ok((written, 1.0 - stored as f64 / (LOOKUPS - LOOKUPS / 3) as f64))
}

/// Bytes that were programmed, in pages of 16 KiB, and blocks that were stored.
fn counted(cache: &mut KvCache) -> (u64, u64) {
    let pages = cache.device_stats().map_or(0, |stats| stats.flash.pages_programmed);
    (pages * (16 << 10), cache.stats().stored)
}
