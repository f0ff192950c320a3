// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How fast the whole path is on this machine, timing `off`: values of 16 bytes, distinct keys.
//!
//! `cargo run --release -p saker --example speed -- [PAIRS] [URL] [PHASES] [KEY_BYTES]`: 10,000,000 pairs, a few
//! URLs, the phases `none,put,queue,get`, keys of 8 and of 16 bytes unless told otherwise. With a device thread, round trips are also given as a ratio to
//! the barest ring two threads can share, measured before and after: on virtual machines the two move between near and
//! far cores, and absolute figures with them. `prefault` takes the kernel's work of bringing memory in out of the run.

use saker::{Kv, create_image};
use saker_link::probe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn key(n: u64) -> [u8; 16] {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

/// Nanoseconds that each of `n` operations took.
fn time(n: u64, work: impl FnOnce() -> Outcome) -> Result<f64, Box<dyn std::error::Error>> {
    let begun = Instant::now();
    work()?;
    Ok(begun.elapsed().as_secs_f64() * 1e9 / n as f64)
}

fn phase(url: &str, what: &str, n: u64, work: impl FnOnce() -> Outcome) -> Outcome {
    let each = time(n, work)?;
    println!("{url}: {what}: {:.2} M/s, {each:.0} ns each", 1e3 / each);
    Ok(())
}

/// Nanoseconds of a round trip between two threads over the barest ring.
fn floor() -> f64 {
    const TRIPS: u64 = 100_000;
    let (mut there, mut from_host) = probe::channel(64);
    let (mut to_host, mut back) = probe::channel(64);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                if !probe::echo(&mut from_host, &mut to_host) {
                    std::hint::spin_loop();
                }
            }
        });
        let each = time(TRIPS, || {
            for n in 0..TRIPS {
                there.send(n);
                while back.receive().is_none() {
                    std::hint::spin_loop();
                }
            }
            Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        each.expect("nothing in it can fail")
    })
}

/// Round trips through a device thread against the floor, repetition by repetition.
fn round_trips(url: &str) -> Outcome {
    const TRIPS: u64 = 100_000;
    let (mut none, mut flush, mut floors) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..9 {
        let before = floor();
        let mut kv = Kv::open(url)?;
        let a = time(TRIPS, || Ok((0..TRIPS).try_for_each(|_| kv.exists(b"nothing").map(drop))?))?;
        let b = time(TRIPS, || Ok((0..TRIPS).try_for_each(|_| kv.flush())?))?;
        kv.close()?;
        let after = floor();
        let same_state = before.max(after) < 1.5 * before.min(after);
        if same_state {
            let between = (before + after) / 2.0;
            floors.push(between);
            none.push(a / between);
            flush.push(b / between);
        }
    }
    let kept = floors.len();
    let (floor, none, flush) = (median(floors), median(none), median(flush));
    println!("{url}: bare ring {floor:.0} ns a round trip ({kept} of 9 repetitions in one state)");
    println!("{url}: Exist of nothing {none:.2} times that, Flush {flush:.2} times");
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn measure(url: &str, pairs: u64, phases: &str, key_bytes: usize) -> Outcome {
    println!("{url}: keys of {key_bytes} bytes");
    let has = |name| phases.split(',').any(|p| p == name);
    let mut kv = Kv::open(url)?;
    if has("none") {
        let n = pairs.min(1_000_000);
        phase(url, "Exist of nothing, depth 1", n, || {
            Ok((0..n).try_for_each(|_| kv.exists(b"nothing").map(drop))?)
        })?;
        phase(url, "Flush, depth 1", n, || Ok((0..n).try_for_each(|_| kv.flush())?))?;
    }
    let half = if has("put") && has("queue") { pairs / 2 } else { pairs };
    if has("put") {
        phase(url, "put, depth 1", half, || {
            Ok((0..half).try_for_each(|n| kv.put(&key(n)[..key_bytes], &[7; 16]))?)
        })?;
    }
    if has("queue") {
        phase(url, "put, pipelined", half, || {
            (pairs - half..pairs).try_for_each(|n| kv.put_queued(&key(n)[..key_bytes], &[7; 16]))?;
            Ok(kv.drain()?)
        })?;
    }
    if has("get") {
        let gets = pairs.min(2_000_000);
        phase(url, "get, depth 1", gets, || {
            let mut value = [0; 16];
            for n in 0..gets {
                assert_eq!(kv.get_into(&key(n * (pairs / gets))[..key_bytes], &mut value)?, Some(16));
            }
            Ok(())
        })?;
    }
    if let Some(s) = kv.stats() {
        let memory = s.namespaces[0].memory.total() as f64 / s.namespaces[0].store.pairs.max(1) as f64;
        let in_use = s.flash_bytes_in_use / 1_000_000;
        println!("{url}: modelled DRAM {memory:.1} B a pair, {in_use} MB of flash in use");
    }
    Ok(kv.close()?)
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let pairs = arguments.next().map_or(Ok(10_000_000), |n| n.parse())?;
    let url = arguments.next();
    let phases = arguments.next().unwrap_or("none,put,queue,get".into());
    let sizes =
        arguments.next().map_or(Ok(vec![8, 16]), |n| n.parse().map(|n: usize| vec![n.clamp(8, 16)]))?;
    if let Some(url) = url {
        return sizes.into_iter().try_for_each(|key_bytes| measure(&url, pairs, &phases, key_bytes));
    }
    round_trips("mem:?size=1GiB&threads=1")?;
    for key_bytes in sizes {
        measure("mem:?size=4GiB", pairs, &phases, key_bytes)?;
        measure(&format!("mem:?size=4GiB&prefault={pairs}"), pairs, &phases, key_bytes)?;
        measure("mem:?size=4GiB&threads=1&depth=256", pairs, &phases, key_bytes)?;
        let image = std::env::temp_dir().join(format!("saker-speed-{}.img", std::process::id()));
        create_image(&image, 4 << 30, "default", 1)?;
        let outcome = measure(&format!("file:{}", image.display()), pairs, &phases, key_bytes);
        std::fs::remove_file(&image)?;
        outcome?;
    }
    Ok(())
}
