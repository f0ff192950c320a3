// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What calls of the front door allocate on the caller's thread, device included, once they are warm. One program, because it counts with
//! an allocator of its own.

mod counting;

use counting::allocations_of;
use saker::{EngineKind, Kv, Values, WriteBatch};

/// Pairs that are stored: more than small buffers of `lsm` and `tree` hold.
const PAIRS: u64 = 3000;
/// Keys of a call for a few, and of one for many.
const FEW: u64 = 8;
const MANY: u64 = 64;
/// Calls whose allocations are counted together.
const CALLS: u64 = 200;
/// A call for many may allocate as often more than one for a few: pieces of memory grow by doubling.
const MORE_MAX: f64 = 3.0;

/// Settings that change where pairs are looked for.
const SETTINGS: [&str; 5] = [
    "engine=lsm&write_buffer_size=65536",
    "engine=lsm&write_buffer_size=65536&min_blob_size=unlimited",
    "engine=lsm&min_blob_size=unlimited",
    "engine=tree&write_buffer_size=65536",
    "engine=tree&write_buffer_size=65536&cache_bytes=16MiB",
];

fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(n % PAIRS).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&(n % PAIRS).to_be_bytes());
    key
}

/// A device in memory that holds all pairs and has come to rest.
fn filled(options: &str, value: &[u8]) -> Kv {
    // A section of an index that is read from flash takes memory: this engine has room for all of its index.
    let index = if options.contains("hash_original") { "&cache_bytes=64MiB" } else { "" };
    let mut kv = Kv::open(&format!("mem:?size=512MiB&{options}{index}")).unwrap();
    (0..PAIRS).for_each(|n| kv.put(&key(n), value).unwrap());
    let mut buffer = vec![0; value.len()];
    (0..2 * PAIRS).for_each(|n| assert_eq!(kv.get_into(&key(n), &mut buffer).unwrap(), Some(value.len())));
    (0..CALLS).for_each(|n| assert!(kv.get_into(&n.to_be_bytes(), &mut buffer).unwrap().is_none()));
    kv
}

/// Every engine as it comes, and some settings of engines.
fn for_all(mut check: impl FnMut(&str, &mut Kv, &[u8])) {
    let engines = EngineKind::ALL.iter().map(|engine| format!("engine={}", engine.name()));
    for options in engines.chain(SETTINGS.map(String::from)) {
        for value_bytes in [0, 100, 1000] {
            let value = vec![7; value_bytes];
            check(&format!("{options}, values of {value_bytes}"), &mut filled(&options, &value), &value);
        }
    }
}

/// Keys of call `n`, which are not neighbours.
fn keys(n: u64, count: u64) -> Vec<[u8; 16]> {
    (0..count).map(|m| key(97 * n + 13 * m)).collect()
}

fn mean(work: impl FnMut(u64) -> u64) -> f64 {
    (0..CALLS).map(work).sum::<u64>() as f64 / CALLS as f64
}

#[test]
fn get_into_allocates_nothing() {
    for_all(|what, kv, value| {
        let mut buffer = vec![0; value.len()];
        let there = allocations_of(|| {
            (0..CALLS).for_each(|n| assert!(kv.get_into(&key(7 * n), &mut buffer).unwrap().is_some()));
        });
        let gone = allocations_of(|| {
            (0..CALLS).for_each(|n| assert!(kv.get_into(&n.to_be_bytes(), &mut buffer).unwrap().is_none()));
        });
        assert_eq!((there, gone), (0, 0), "{what}: of pairs that are there, of others");
    });
}

#[test]
fn get_into_allocates_nothing_with_a_cache() {
    for_all(|what, _, value| {
        let options = what.split(',').next().unwrap_or_default();
        let mut kv = filled(&format!("{options}&cache=16MiB"), value);
        let mut buffer = vec![0; value.len()];
        let hits = allocations_of(|| {
            (0..CALLS).for_each(|n| assert!(kv.get_into(&key(7 * n), &mut buffer).unwrap().is_some()));
        });
        assert_eq!(hits, 0, "{what}");
    });
}

#[test]
fn multi_get_into_allocates_nothing_a_value() {
    let of = |kv: &mut Kv, values: &mut Values, count| {
        mean(|n| {
            let keys = keys(n, count);
            let lent: Vec<&[u8]> = keys.iter().map(<[u8; 16]>::as_slice).collect();
            let allocated = allocations_of(|| kv.multi_get_into(&lent, values).unwrap());
            assert_eq!(values.iter().flatten().count(), count as usize);
            allocated
        })
    };
    for_all(|what, kv, _| {
        let mut values = Values::default();
        of(kv, &mut values, MANY);
        let (few, many) = (of(kv, &mut values, FEW), of(kv, &mut values, MANY));
        assert!(many <= few + MORE_MAX, "{what}: {few} of {FEW} keys, {many} of {MANY}");
    });
}

/// What engines keep of a pair, and what they flush and merge, takes memory now and then: these engines with room in their buffers.
fn writes_in_place(what: &str) -> bool {
    let engine = what.trim_start_matches("engine=").split([',', '&']).next().unwrap_or_default();
    let is_at_rest = !what.contains("write_buffer_size") && !what.contains("unlimited");
    is_at_rest && ["hash_store", "lsm", "tree"].contains(&engine)
}

#[test]
fn put_allocates_nothing() {
    for_all(|what, kv, value| {
        if writes_in_place(what) {
            let puts = allocations_of(|| (0..CALLS).for_each(|n| kv.put(&key(7 * n), value).unwrap()));
            assert_eq!(puts, 0, "{what}");
        }
    });
}

#[test]
fn a_batch_that_is_used_again_allocates_nothing_a_pair() {
    for_all(|what, kv, value| {
        if !writes_in_place(what) {
            return;
        }
        let mut batch = WriteBatch::new();
        let mut of = |count| {
            mean(|n| {
                let keys = keys(n, count);
                let packed = allocations_of(|| {
                    batch.clear();
                    keys.iter().for_each(|key| _ = batch.put(key, value));
                });
                assert!(packed == 0 || n == 0, "{what}: {packed} as it is packed");
                allocations_of(|| kv.write(&batch).unwrap())
            })
        };
        of(MANY);
        let (few, many) = (of(FEW), of(MANY));
        assert!(many <= few + MORE_MAX, "{what}: {few} of {FEW} pairs, {many} of {MANY}");
    });
}
