// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of a range through the public door: scans that stop early, scans that say beforehand how many pairs they want, and scans of
//! everything, by the iterator and by the callback, beside a copy of as many bytes. `mem:`, timing `off`, one thread.
//!
//! `cargo run --release -p saker --example ranges -- [PAIRS] [VALUE_BYTES] [SCANS] [URL_OPTIONS]...`: 200,000 pairs of 16 + 100 bytes, 20,000
//! scans of 100 pairs, `tree`, `lsm`, and `lsm` with values beside their keys. Rounds alternate; figures are medians of them, in millions of
//! pairs a second. `early`: the iterator, which is dropped after 100 pairs.

use saker::{KeyRange, Kv, ScanOptions};
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const ROUNDS: usize = 5;
const WANTED: u32 = 100;

/// Pair `n`: rounds visit the keys in an order that no memory foresees.
fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key[8..].copy_from_slice(&n.to_be_bytes());
    key
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Millions of what `work` counts in a second.
fn rate(work: impl FnOnce() -> Outcome<u64>) -> Outcome<f64> {
    let begun = Instant::now();
    let pairs = work()?;
    Ok(pairs as f64 / begun.elapsed().as_secs_f64() / 1e6)
}

/// Takes pairs by the iterator, as many as there are up to `most`; bytes are looked at.
fn iterated(kv: &mut Kv, options: &ScanOptions<'_>, most: u64) -> Outcome<(u64, u64)> {
    let (mut pairs, mut sum) = (0, 0);
    let mut range = kv.range(options)?;
    while pairs < most
        && let Some((key, value)) = range.next_pair()?
    {
        sum += u64::from(key[0]) + value.len() as u64;
        pairs += 1;
    }
    Ok((pairs, sum))
}

fn shown(kv: &mut Kv, options: &ScanOptions<'_>, most: u64) -> Outcome<(u64, u64)> {
    let (mut pairs, mut sum) = (0, 0);
    kv.scan(options, &mut |key, value| {
        sum += u64::from(key[0]) + value.len() as u64;
        pairs += 1;
        pairs < most
    })?;
    Ok((pairs, sum))
}

fn many(kv: &mut Kv, (scans, pairs): (u64, u64), pairs_max: u32, is_iterated: bool) -> Outcome<u64> {
    let mut seen = 0;
    for n in 0..scans {
        let from = key(n.wrapping_mul(7919) % pairs);
        let options = ScanOptions {
            range: KeyRange { from: &from, ..KeyRange::default() },
            pairs_max,
            ..ScanOptions::default()
        };
        let most = u64::from(WANTED);
        seen += if is_iterated { iterated(kv, &options, most)?.0 } else { shown(kv, &options, most)?.0 };
    }
    Ok(seen)
}

/// As many bytes as the pairs have, copied.
fn copied(from: &[u8], to: &mut [u8], pairs: u64) -> u64 {
    from.chunks(1 << 16).zip(to.chunks_mut(1 << 16)).for_each(|(from, to)| to.copy_from_slice(from));
    std::hint::black_box(to);
    pairs
}

fn measure(options: &str, pairs: u64, value_bytes: usize, scans: u64) -> Outcome {
    let flash = (pairs * (value_bytes as u64 + 100) * 4).max(512 << 20);
    let mut kv = Kv::open(&format!("mem:?size={flash}B&{options}"))?;
    let value = vec![7; value_bytes];
    (0..pairs).map(key).try_for_each(|key| kv.put(&key, &value))?;
    let bytes = pairs as usize * (16 + value_bytes);
    let (from, mut to) = (vec![1; bytes], vec![2; bytes]);
    let mut rates: [Vec<f64>; 6] = Default::default();
    let all = ScanOptions::default();
    let told = (scans, pairs);
    for _ in 0..ROUNDS {
        rates[0].push(rate(|| many(&mut kv, told, WANTED, false))?);
        rates[1].push(rate(|| many(&mut kv, told, WANTED, true))?);
        rates[2].push(rate(|| many(&mut kv, told, 0, true))?);
        rates[3].push(rate(|| Ok(shown(&mut kv, &all, u64::MAX)?.0))?);
        rates[4].push(rate(|| Ok(iterated(&mut kv, &all, u64::MAX)?.0))?);
        rates[5].push(rate(|| Ok(copied(&from, &mut to, pairs)))?);
    }
    let [callback, told, early, full, iterated, copied] = rates.map(median);
    println!(
        "{options:>34} {callback:9.2} {told:9.2} {early:9.2} {full:9.2} {iterated:9.2} {copied:9.2} {:7.2}",
        told / early
    );
    Ok(())
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let mut number = |usual: u64| arguments.next().map_or(Ok(usual), |n| n.parse());
    let (pairs, value_bytes, scans) = (number(200_000)?, number(100)?, number(20_000)?);
    let mut stores: Vec<String> = arguments.collect();
    if stores.is_empty() {
        stores = ["engine=tree", "engine=lsm", "engine=lsm&min_blob_size=256"].map(str::to_owned).to_vec();
    }
    println!(
        "{pairs} pairs of 16 + {value_bytes} bytes, {scans} scans of {WANTED} pairs, millions of pairs a second"
    );
    println!(
        "                              store  callback      told     early all shown  all iter    memcpy early/told"
    );
    stores.iter().try_for_each(|options| measure(options, pairs, value_bytes as usize, scans))
}
