// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Optimistic transactions without conflicts, `mem:`, timing `off`: each reads four pairs and writes two of them, as those of `cargo xtask
//! rocksdb --transactions`, which sets RocksDB's beside them.
//!
//! `cargo run --release -p saker --example transactions -- TRANSACTIONS [PAIRS] [URL-OPTIONS]...`: 1,000,000 pairs of 16 + 100 bytes,
//! `engine=lsm`, `engine=hash_store`. Of each it tells the processor time of the reads and of the commits. For instructions:
//! `valgrind --tool=callgrind --collect-atstart=no --toggle-collect='transactions::transact' ...`.

use saker::Kv;
use std::time::{Duration, Instant};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const READS: usize = 4;
const WRITES: usize = 2;
const VALUE_BYTES: usize = 100;

fn mixed(n: u64) -> u64 {
    let n = (n ^ n >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (n ^ n >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(mixed(n) >> 1).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

/// What reads and commits took.
#[derive(Default)]
struct Parts {
    reads: Duration,
    commits: Duration,
}

/// Pairs that a transaction reads: different ones, since their numbers are that far from each other.
fn keys(n: u64, pairs: u64) -> [[u8; 16]; READS] {
    let part = pairs / READS as u64;
    std::array::from_fn(|read| key(read as u64 * part + mixed(n * READS as u64 + read as u64) % part))
}

#[inline(never)]
fn transact(kv: &mut Kv, keys: &[[u8; 16]; READS], value: &[u8], parts: &mut Parts) -> Outcome {
    let begun = Instant::now();
    let mut txn = kv.begin_transaction()?;
    for key in keys {
        let found = txn.get(key)?.ok_or("a pair is missing")?;
        assert_eq!(found.len(), value.len());
    }
    let read = Instant::now();
    for key in &keys[..WRITES] {
        txn.put(key, value)?;
    }
    txn.commit()?;
    parts.reads += read - begun;
    parts.commits += read.elapsed();
    Ok(())
}

fn measure(options: &str, pairs: u64, count: u64) -> Outcome {
    let size = (1 << 30) + pairs * 400;
    let mut kv = Kv::open(&format!("mem:?size={size}&{options}"))?;
    let value = [7; VALUE_BYTES];
    (0..pairs).try_for_each(|n| kv.put(&key(n), &value))?;
    let mut parts = Parts::default();
    (0..count).try_for_each(|n| transact(&mut kv, &keys(n, pairs), &value, &mut parts))?;
    let each = |part: Duration| part.as_secs_f64() * 1e6 / count as f64;
    println!("{options:<24} reads {:>8.3} us, commit {:>8.3} us", each(parts.reads), each(parts.commits));
    Ok(())
}

fn main() -> Outcome {
    let mut args = std::env::args().skip(1);
    let count = args.next().map_or(Ok(100_000), |count| count.parse())?;
    let pairs = args.next().map_or(Ok(1_000_000), |pairs| pairs.parse())?;
    let mut options: Vec<_> = args.collect();
    if options.is_empty() {
        options = ["engine=lsm", "engine=hash_store"].map(str::to_owned).to_vec();
    }
    options.iter().try_for_each(|options| measure(options, pairs, count))
}
