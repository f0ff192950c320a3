// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Blocks of attention state on the device of a URL: requests ask for prefixes, get what is there, store what is not.

use crate::BenchReport;
use crate::door::{Buffers, CacheStore, carry_out};
use saker::KvCache;
use saker_host::HostError;
use saker_lab::error::LabError;
use saker_lab::report::Point;
use saker_store::{KvStore, Lane, Op, Outcome};
use saker_workload::kv_cache::{BlockKey, KvCacheLoad};
use serde_json::json;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Time and bytes of one kind of call.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    calls: u64,
    bytes: u64,
    time: Duration,
}

impl Moved {
    fn timed<R>(&mut self, bytes: usize, call: impl FnOnce() -> R) -> R {
        let begun = Instant::now();
        let result = call();
        self.add(bytes, begun.elapsed());
        result
    }

    fn add(&mut self, bytes: usize, time: Duration) {
        self.time += time;
        self.bytes += bytes as u64;
        self.calls += 1;
    }

    fn bytes_per_s(&self) -> f64 {
        self.bytes as f64 / self.time.as_secs_f64()
    }

    /// Adds the rate to a point, unless nothing was moved.
    fn add_rate(&self, point: &mut Point, name: &str) {
        if self.calls > 0 {
            point.add(name, self.bytes_per_s() / 1e9);
        }
    }
}

/// What was moved, and a copy of as many bytes in memory beside each read.
#[derive(Clone, Copy, Debug, Default)]
struct Moves {
    asked: Moved,
    gets: Moved,
    puts: Moved,
    copies: Moved,
}

/// Runs the load. What is read is checked; a copy of as many bytes in memory is timed beside each read.
///
/// # Errors
/// [`LabError`], also for blocks that are not what was stored.
pub fn on_url(cache: &mut KvCache, url: &str, load: &KvCacheLoad) -> Result<BenchReport, LabError> {
    let size = load.block_bytes as usize;
    let begun = Instant::now();
    let Moves { asked, gets, puts, copies } = run(&mut CacheStore::new(cache, size).open_lane()?, load)?;
    let stats = cache.stats();
    let mut point = Point::at([("workload", json!("kvcache")), ("device", json!(url))]);
    point.add("requests", load.requests as f64);
    point.add("elapsed_s", begun.elapsed().as_secs_f64());
    point.add("block_bytes", size as f64);
    point.add("gets", gets.calls as f64);
    point.add("puts", puts.calls as f64);
    point.add("evicted", stats.evicted as f64);
    gets.add_rate(&mut point, "get_gb_per_s");
    puts.add_rate(&mut point, "put_gb_per_s");
    copies.add_rate(&mut point, "memcpy_gb_per_s");
    if asked.calls > 0 {
        point.add("exists_us_mean", asked.time.as_secs_f64() * 1e6 / asked.calls as f64);
    }
    Ok(BenchReport { point, traces: Vec::new(), lines: Vec::new() })
}

fn run<L: Lane<Error = HostError>>(lane: &mut L, load: &KvCacheLoad) -> Result<Moves, LabError> {
    let size = load.block_bytes as usize;
    let (mut buffers, mut copy) = (Buffers::default(), vec![0u8; size]);
    let mut moves = Moves::default();
    for request in load.requests()? {
        let blocks = request.blocks.len();
        let operations = request.blocks.iter().map(|key| Op::Exists(key.to_vec())).collect();
        let asked = Op::Group { operations, flags: 0 };
        let failures = |outcome: Outcome<'_>| outcome.failures(blocks as u32);
        let there = blocks - moves.asked.timed(0, || carry_out(lane, &asked, failures))? as usize;
        for (n, key) in request.blocks.iter().enumerate() {
            buffers.key.clear();
            buffers.key.extend_from_slice(key);
            let op = if n < there {
                buffers.with_key(Op::Get)
            } else {
                buffers.value.resize(size, 0);
                fill(key, &mut buffers.value);
                buffers.put()
            };
            if n < there {
                read(lane, (&op, key), &mut moves, &mut copy)?;
            } else {
                moves.puts.timed(size, || carry_out(lane, &op, |_| ()))?;
            }
            buffers.back(op);
        }
    }
    Ok(moves)
}

/// The read ends where its block can be seen: what is done with it then is not the read's.
fn read<L: Lane<Error = HostError>>(
    lane: &mut L,
    (op, key): (&Op, &BlockKey),
    moves: &mut Moves,
    copy: &mut [u8],
) -> Result<(), LabError> {
    let begun = Instant::now();
    let Moves { gets, copies, .. } = moves;
    carry_out(lane, op, |outcome| {
        let (time, block) = (begun.elapsed(), outcome.data());
        gets.add(block.len(), time);
        check(key, Some(block.len()).filter(|bytes| *bytes == copy.len()), block)?;
        copies.timed(copy.len(), || black_box(&mut *copy).copy_from_slice(black_box(block)));
        Ok(())
    })?
}

/// The bytes of a block follow from its key: the key again and again, which a copy from elsewhere would not have.
fn fill(key: &BlockKey, block: &mut [u8]) {
    block.chunks_mut(key.len()).for_each(|chunk| chunk.copy_from_slice(&key[..chunk.len()]));
}

/// Both ends and the middle.
fn check(key: &BlockKey, found: Option<usize>, block: &[u8]) -> Result<(), LabError> {
    let middle = block.len() / 2 / key.len() * key.len();
    let is_right = |at: usize| block[at..].iter().zip(key).all(|(byte, expected)| byte == expected);
    let last = block.len().saturating_sub(1) / key.len() * key.len();
    if found == Some(block.len()) && [0, middle, last].into_iter().all(is_right) {
        return Ok(());
    }
    Err(LabError::Missing(format!("block {:032x}", u128::from_le_bytes(*key))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker::RetentionOptions;

    #[test]
    fn popular_prefixes_are_found_and_wrong_blocks_are_noticed() {
        let load = KvCacheLoad { block_bytes: 8192, requests: 60, documents: 5, ..KvCacheLoad::default() };
        let options = RetentionOptions { bytes_max: Some(1 << 20), ..RetentionOptions::default() };
        let mut cache = KvCache::open("mem:?size=64MiB&profile=tiny", options).unwrap();
        let report = on_url(&mut cache, "mem:", &load).unwrap();
        let get = |name: &str| report.point.get(name).unwrap();
        let blocks: usize = load.requests().unwrap().map(|r| r.blocks.len()).sum();
        assert_eq!(get("gets") + get("puts"), blocks as f64);
        assert!(get("gets") > 100.0 && get("evicted") > 20.0, "{:?}", report.point);
        let (key, mut block) = ([3; 16], vec![0; 100]);
        fill(&key, &mut block);
        assert!(check(&key, Some(100), &block).is_ok());
        assert!(check(&key, Some(99), &block).is_err());
        block[99] ^= 1;
        assert!(check(&key, Some(100), &block).is_err());
    }
}
