//! How fast the whole path is on this machine, timing `off`: 16-byte keys and values, distinct keys.
//!
//! `cargo run --release -p saker-realtime --example speed -- [PAIRS] [URL] [PHASES]` (default 10,000,000 pairs, a few URLs,
//! and the phases `none,put,queue,get`). Times are of the processor as well as of the clock: on a shared machine the
//! former tells more.

use saker_realtime::{Kv, create_image};
use std::time::Instant;

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn key(n: u64) -> [u8; 16] {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

/// What is measured, in this order.
#[derive(Clone, Copy)]
struct Phases {
    none: bool,
    put: bool,
    queue: bool,
    get: bool,
}

impl Phases {
    fn of(text: &str) -> Self {
        let has = |name| text.split(',').any(|p| p == name);
        Self { none: has("none"), put: has("put"), queue: has("queue"), get: has("get") }
    }
}

/// Runs `work` for `n` operations and prints their rate.
fn phase(url: &str, what: &str, n: u64, work: impl FnOnce() -> Outcome) -> Outcome {
    let begun = Instant::now();
    work()?;
    let seconds = begun.elapsed().as_secs_f64();
    let (rate, nanoseconds) = (n as f64 / seconds / 1e6, seconds * 1e9 / n as f64);
    println!("{url}: {what}: {rate:.2} M/s, {nanoseconds:.0} ns each");
    Ok(())
}

fn measure(url: &str, pairs: u64, phases: Phases) -> Outcome {
    let mut kv = Kv::open(url)?;
    if phases.none {
        let n = pairs.min(1_000_000);
        phase(url, "round trip that finds nothing, depth 1", n, || {
            (0..n).try_for_each(|_| kv.exists(b"nothing").map(drop))?;
            Ok(())
        })?;
    }
    let half = if phases.put && phases.queue { pairs / 2 } else { pairs };
    if phases.put {
        phase(url, "put, depth 1", half, || {
            (0..half).try_for_each(|n| kv.put(&key(n), &[7; 16]))?;
            Ok(())
        })?;
    }
    if phases.queue {
        phase(url, "put, pipelined", half, || {
            (pairs - half..pairs).try_for_each(|n| kv.put_queued(&key(n), &[7; 16]))?;
            Ok(kv.drain()?)
        })?;
    }
    if phases.get {
        let gets = pairs.min(2_000_000);
        phase(url, "get, depth 1", gets, || {
            let mut value = [0; 16];
            for n in 0..gets {
                assert_eq!(kv.get_into(&key(n * (pairs / gets)), &mut value)?, Some(16));
            }
            Ok(())
        })?;
    }
    if let Some(s) = kv.snapshot() {
        let memory = s.namespaces[0].memory.total() as f64 / s.namespaces[0].store.pairs.max(1) as f64;
        let in_use = s.flash_bytes_in_use / 1_000_000;
        println!("{url}: modelled DRAM {memory:.1} B a pair, {in_use} MB of flash in use");
    }
    kv.close()?;
    Ok(())
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let pairs = arguments.next().map_or(Ok(10_000_000), |n| n.parse())?;
    let url = arguments.next();
    let phases = Phases::of(&arguments.next().unwrap_or("none,put,queue,get".into()));
    if let Some(url) = url {
        return measure(&url, pairs, phases);
    }
    measure("mem:?size=4GiB", pairs, phases)?;
    measure("mem:?size=4GiB&threads=1&depth=256", pairs, phases)?;
    let image = std::env::temp_dir().join(format!("saker-speed-{}.img", std::process::id()));
    create_image(&image, 4 << 30, "default", 1)?;
    let outcome = measure(&format!("file:{}", image.display()), pairs, phases);
    std::fs::remove_file(&image)?;
    outcome
}
