// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every engine behind the same calls on this machine, timing `off`, on the caller's thread: stores, retrieves and stores anew of 100-byte
//! values under 16-byte keys, one at a time, in rows beside each other.
//!
//! `cargo run --release -p saker --example engines -- [PAIRS] [SIZE]` (200,000 pairs on 1GiB). Every engine has its default
//! cache. Pages that were programmed are counted, too, for each operation: no other process changes them.

use saker::{EngineKind, Kv};
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const VALUE: [u8; 100] = [7; 100];

fn key(n: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

/// NAND pages that were programmed so far.
fn pages(kv: &mut Kv) -> u64 {
    kv.stats().map_or(0, |s| s.flash.pages_programmed)
}

/// Thousands of operations a second, and pages programmed an operation.
fn phase(kv: &mut Kv, count: u64, mut step: impl FnMut(&mut Kv, u64) -> Outcome<()>) -> Outcome<String> {
    let (before, begun) = (pages(kv), Instant::now());
    (0..count).try_for_each(|n| step(kv, n))?;
    let rate = count as f64 / begun.elapsed().as_secs_f64() / 1e3;
    let programmed = (pages(kv) - before) as f64 / count as f64;
    Ok(format!("{rate:9.0} {programmed:8.3}"))
}

/// The row of an engine.
fn row(engine: &str, pairs: u64, size: &str) -> Outcome<String> {
    let mut kv = Kv::open(&format!("mem:?engine={engine}&size={size}"))?;
    let stores = phase(&mut kv, pairs, |kv, n| Ok(kv.put(&key(n), &VALUE)?))?;
    let retrieves = phase(&mut kv, pairs, |kv, n| {
        let mut value = [0; 100];
        // Not in the order in which they were stored.
        let found = kv.get_into(&key(n * 7919 % pairs), &mut value)?;
        if found == Some(100) && value == VALUE { Ok(()) } else { Err("a pair is gone".into()) }
    })?;
    let again = phase(&mut kv, pairs, |kv, n| Ok(kv.put(&key(n * 7919 % pairs), &VALUE)?))?;
    kv.close()?;
    Ok(format!("{engine:13} {stores}  {retrieves}  {again}"))
}

/// The rows of all engines.
pub fn run(pairs: u64, size: &str) -> Outcome<Vec<String>> {
    EngineKind::ALL.iter().map(|engine| row(engine.name(), pairs, size)).collect()
}

/// Prints them.
#[cfg_attr(test, allow(dead_code, reason = "tests ask for rows"))]
pub fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let pairs = arguments.next().map_or(Ok(200_000), |n| n.parse())?;
    let size = arguments.next().unwrap_or("1GiB".into());
    println!("thousands a second, pages programmed an operation; {pairs} pairs, {size}");
    println!("{:13} {:>18}  {:>18}  {:>18}", "engine", "stores", "retrieves", "stores anew");
    run(pairs, &size)?.iter().for_each(|row| println!("{row}"));
    Ok(())
}
