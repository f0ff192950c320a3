//! How fast the whole path is on this machine, timing `off`: 16-byte keys and values, distinct keys.
//!
//! `cargo run --release -p saker-realtime --example speed -- [PAIRS] [URL]` (default 10,000,000 and a few URLs).

use saker_realtime::{Kv, create_image};
use std::time::Instant;

fn key(n: u64) -> [u8; 16] {
    let mixed = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&mixed.to_le_bytes());
    key[8..].copy_from_slice(&n.to_le_bytes());
    key
}

fn rate(n: u64, begun: Instant) -> f64 {
    n as f64 / begun.elapsed().as_secs_f64() / 1e6
}

fn measure(url: &str, pairs: u64) -> Result<(), Box<dyn std::error::Error>> {
    let mut kv = Kv::open(url)?;
    let begun = Instant::now();
    for _ in 0..1_000_000 {
        kv.exists(b"nothing")?;
    }
    println!("{url}: round trip that finds nothing, depth 1: {:.0} ns", 1e3 / rate(1_000_000, begun));
    let begun = Instant::now();
    for n in 0..pairs / 2 {
        kv.put(&key(n), &[7; 16])?;
    }
    println!("{url}: put, depth 1: {:.2} M/s", rate(pairs / 2, begun));
    let begun = Instant::now();
    for n in pairs / 2..pairs {
        kv.put_queued(&key(n), &[7; 16])?;
    }
    kv.drain()?;
    println!("{url}: put, pipelined: {:.2} M/s", rate(pairs - pairs / 2, begun));
    let begun = Instant::now();
    let mut value = [0; 16];
    let gets = pairs.min(2_000_000);
    for n in 0..gets {
        assert_eq!(kv.get_into(&key(n * (pairs / gets)), &mut value)?, Some(16));
    }
    println!("{url}: get, depth 1: {:.2} M/s", rate(gets, begun));
    if let Some(s) = kv.snapshot() {
        let memory = s.namespaces[0].memory.total() as f64 / s.namespaces[0].store.pairs as f64;
        println!(
            "{url}: modelled DRAM {memory:.1} B a pair, {} MB of flash in use",
            s.flash_bytes_in_use / 1_000_000
        );
    }
    kv.close()?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pairs = arguments.next().map_or(Ok(10_000_000), |n| n.parse())?;
    if let Some(url) = arguments.next() {
        return measure(&url, pairs);
    }
    measure("mem:?size=4GiB", pairs)?;
    measure("mem:?size=4GiB&threads=1&depth=256", pairs)?;
    let image = std::env::temp_dir().join(format!("saker-speed-{}.img", std::process::id()));
    create_image(&image, 4 << 30, "default", 1)?;
    let outcome = measure(&format!("file:{}", image.display()), pairs);
    std::fs::remove_file(&image)?;
    outcome
}
