// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How long entering pairs into the hash store's index takes, apart from everything else: batches of eight ask for their
//! lines and are entered when the next batch has asked, as the store does it.
//!
//! `cargo run --release -p saker --example index -- [PAIRS] [KEY_BYTES] [ROUNDS]` (default 10,000,000 pairs, 8 and 16
//! bytes, 3 rounds). The first round pays for first touches of memory; look at the best one.

use saker_device::Quick;
use saker_engine::hash_store::index::{Index, IndexKey, RecordAddr};
use std::time::Instant;

const BATCH: usize = 8;

fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

fn fill(index: &mut Index, pairs: u64, key_bytes: usize) -> f64 {
    let begun = Instant::now();
    let mut old: Vec<(IndexKey, RecordAddr)> = Vec::with_capacity(BATCH);
    let mut new = Vec::with_capacity(BATCH);
    for n in 0..pairs {
        let place = index.place(&key(n)[..key_bytes]).expect("a key of 1 to 16 bytes");
        new.push((place, RecordAddr::new(n * 64, 64, key_bytes as u8)));
        if new.len() == BATCH {
            new.iter().for_each(|(place, _)| index.touch(*place, &mut Quick));
            old.drain(..).for_each(|(place, addr)| assert!(index.insert(place, addr).is_none()));
            std::mem::swap(&mut old, &mut new);
        }
    }
    begun.elapsed().as_secs_f64() * 1e9 / pairs as f64
}

fn main() {
    // Whoever opens a device asks for huge pages from then on.
    let _device = saker::Kv::open("mem:?size=512MiB").expect("memory");
    let mut arguments = std::env::args().skip(1).map(|n| n.parse::<u64>().expect("a number"));
    let pairs = arguments.next().unwrap_or(10_000_000);
    let sizes = arguments.next().map_or(vec![8, 16], |n| vec![n as usize]);
    let rounds = arguments.next().unwrap_or(3);
    for key_bytes in sizes {
        for _ in 0..rounds {
            let mut index = Index::new(1);
            index.reserve(pairs as usize);
            let time = fill(&mut index, pairs, key_bytes);
            let memory = index.memory();
            let a_pair = (memory.index_bytes + memory.directory_bytes) as f64 / pairs as f64;
            println!("{key_bytes}-byte keys: {time:.1} ns a pair, {a_pair:.1} bytes a pair");
        }
    }
}
