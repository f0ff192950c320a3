// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How fast a cache of blocks moves values of 1 MiB on this machine, timing `off`: beside `memcpy` of as many bytes in the same
//! run, in turn with it.
//!
//! `cargo run --release -p saker --example kv_cache_speed -- [ROUNDS] [BLOCKS] [PHASES]` (default 15, 128 and
//! `copy,put,get`). A put is compared with copying the caller's block into memory that is not in a CPU cache, a get with copying
//! such memory into the caller's buffer. Medians of the rounds; for a profile run one phase: `15 128 get`.

use saker::{KvCache, RetentionOptions};
use std::hint::black_box;
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const BLOCK: usize = 1 << 20;

/// The cache, the caller's memory, and memory to copy with.
struct Bench {
    cache: KvCache,
    value: Vec<u8>,
    buffer: Vec<u8>,
    far: Vec<Vec<u8>>,
    next: u64,
}

impl Bench {
    fn open(blocks: usize) -> Result<Self, Box<dyn std::error::Error>> {
        let kept = (3 * blocks * BLOCK) as u64;
        let url = format!("mem:?size={}MiB&prefault=10000", 6 * blocks + 1024);
        let options = RetentionOptions { bytes_max: Some(kept), ..RetentionOptions::default() };
        let cache = KvCache::open(&url, options)?;
        let block = |n: usize| (0..BLOCK).map(|i| (i * 31 + n) as u8).collect::<Vec<u8>>();
        let far = (0..blocks).map(block).collect();
        Ok(Self { cache, value: block(7), buffer: vec![0; BLOCK], far, next: 0 })
    }

    fn copy_in(&mut self) -> f64 {
        let begun = Instant::now();
        for far in &mut self.far {
            black_box(far).copy_from_slice(black_box(&self.value));
        }
        rate(self.far.len(), begun)
    }

    fn copy_out(&mut self) -> f64 {
        let begun = Instant::now();
        for far in &self.far {
            black_box(&mut self.buffer).copy_from_slice(black_box(far));
        }
        rate(self.far.len(), begun)
    }

    fn put(&mut self) -> Result<f64, Box<dyn std::error::Error>> {
        let begun = Instant::now();
        for n in 0..self.far.len() as u64 {
            self.value[..8].copy_from_slice(&(self.next + n).to_le_bytes());
            let is_new = self.cache.put_if_absent(&(self.next + n).to_le_bytes(), &self.value)?;
            assert!(is_new, "each key is put once");
        }
        let rate = rate(self.far.len(), begun);
        self.next += self.far.len() as u64;
        Ok(rate)
    }

    /// The newest blocks.
    fn get(&mut self) -> Result<f64, Box<dyn std::error::Error>> {
        let begun = Instant::now();
        for n in self.next - self.far.len() as u64..self.next {
            let length = self.cache.get_into(&n.to_le_bytes(), &mut self.buffer)?;
            assert_eq!(length, Some(BLOCK));
            assert_eq!(self.buffer[..8], n.to_le_bytes());
        }
        let rate = rate(self.far.len(), begun);
        assert_eq!(self.buffer[8..], self.value[8..]);
        Ok(rate)
    }
}

/// GB/s.
fn rate(blocks: usize, begun: Instant) -> f64 {
    (blocks * BLOCK) as f64 / begun.elapsed().as_secs_f64() / 1e9
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let rounds: usize = arguments.next().map_or(Ok(15), |n| n.parse())?;
    let blocks: usize = arguments.next().map_or(Ok(128), |n| n.parse())?;
    let phases = arguments.next().unwrap_or("copy,put,get".into());
    let has = |name| phases.split(',').any(|p| p == name);
    let mut bench = Bench::open(blocks)?;
    let mut rates = [const { Vec::new() }; 4];
    bench.put()?;
    for _ in 0..rounds.max(1) {
        if has("copy") {
            rates[0].push(bench.copy_in());
            rates[2].push(bench.copy_out());
        }
        if has("put") {
            rates[1].push(bench.put()?);
        }
        if has("get") {
            rates[3].push(bench.get()?);
        }
    }
    for (n, what) in ["put", "get"].into_iter().enumerate().filter(|(_, what)| has(what)) {
        let ours = median(rates[2 * n + 1].clone());
        println!("{what}: {ours:.2} GB/s");
        if has("copy") {
            let pairs = rates[2 * n].iter().zip(&rates[2 * n + 1]);
            let ratio = median(pairs.map(|(copy, ours)| ours / copy).collect());
            println!("{what}/memcpy: {:.0} % of {:.2} GB/s", 100.0 * ratio, median(rates[2 * n].clone()));
        }
    }
    Ok(())
}
