// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How fast each engine stores and retrieves on this machine, timing `off`, host library and device on one thread: 8-byte keys,
//! distinct, in no order, one operation at a time; and the memory that this takes.
//!
//! `cargo run --release -p saker-lab --example engines -- [PAIRS] [VALUE_BYTES] [ENGINES]`: 1,000,000 pairs of 40 B on all
//! engines unless told otherwise. Flash is in memory and as large as lets the pairs take three quarters of it.

use saker_assembly::Build;
use saker_device::EngineKind;
use saker_profile::Profile;
use saker_world::{Op, Prepared};
use std::time::Instant;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The least flash: spare superblocks are a small part of it.
const BYTES_MIN: u64 = 1 << 30;
const RETRIEVES_MAX: u64 = 2_000_000;
const PROFILE: &str = "kvvirt";

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec()
}

/// Bytes that a pair takes at most, what finds it included.
fn pair_bytes(engine: EngineKind, value_bytes: u64) -> u64 {
    let record = 8 + 16 + value_bytes;
    match engine.name() {
        "hash_original" | "hash_doubling" => record.next_multiple_of(512) + 8,
        "hash_plus" => record.next_multiple_of(64) + 17,
        _ => record + 40,
    }
}

fn flash(engine: EngineKind, pairs: u64, value_bytes: u64) -> u64 {
    (pairs * pair_bytes(engine, value_bytes) / 3 * 4).max(BYTES_MIN)
}

/// Nanoseconds that each of `n` operations took.
fn time(n: u64, device: &mut Prepared, operation: impl Fn(u64) -> Op) -> Outcome<f64> {
    let begun = Instant::now();
    device.run((0..n).map(operation))?;
    Ok(begun.elapsed().as_secs_f64() * 1e9 / n as f64)
}

/// Memory of this process, in MB: what it is, and the most it was.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name: &str| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024 / 1_000_000)
    };
    (of("VmRSS:"), of("VmHWM:"))
}

fn measure(engine: EngineKind, pairs: u64, value_bytes: u64) -> Outcome {
    let build =
        Build::kv(&Profile::builtin(PROFILE)?, flash(engine, pairs, value_bytes), 1)?.with_engine(engine);
    let mut device = Prepared::start(&build)?;
    let value = vec![7; value_bytes as usize];
    let stores = time(pairs, &mut device, |n| Op::Put(key(n), value.clone()))?;
    let gets = pairs.min(RETRIEVES_MAX);
    let retrieves = time(gets, &mut device, |n| Op::Get(key(n * (pairs / gets))))?;
    let snapshot = device.stats();
    let stored = snapshot.namespaces[0].store.pairs;
    let (now, most) = resident();
    println!(
        "{:14} stores {:5.2} M/s, {stores:5.0} ns each; retrieves {:5.2} M/s, {retrieves:5.0} ns each; {stored} pairs, {} MB of \
         flash in use, process {now} MB (at most {most})",
        engine.name(),
        1e3 / stores,
        1e3 / retrieves,
        snapshot.flash_bytes_in_use / 1_000_000,
    );
    Ok(())
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let pairs = arguments.next().map_or(Ok(1_000_000), |n| n.parse())?;
    let value_bytes = arguments.next().map_or(Ok(40), |n| n.parse())?;
    let named = arguments.next();
    for engine in EngineKind::ALL {
        if named.as_ref().is_none_or(|names| names.split(',').any(|name| name == engine.name())) {
            measure(*engine, pairs, value_bytes)?;
        }
    }
    Ok(())
}
