// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Prints the hit ratio of the read cache under TPC-C by warehouses and terminals, at the two sizes of the paper: how the warehouse
//! counts of the plan `saker-tpcc` were found. Nothing but cache and workload runs here, no store and no device.

use saker_host::{CacheOptions, ReadCache};
use saker_nvme::Key;
use saker_sim::Free;
use saker_workload::tpcc::{Lines, Row, Step, Tpcc, Transaction};

/// As the plan has them.
const SCALE: u32 = 64;
const WARM_UP: usize = 10_000;
const MEASURED: usize = 20_000;
const CACHE_BYTES: [usize; 2] = [512 << 20, 32 << 20];
/// Terminals that keep their home warehouse; 0: each transaction draws one.
const TERMINALS: [u32; 4] = [0, 1, 2, 8];

fn key(row: &Row) -> Key {
    Key::new(&row.key_bytes()).expect("8 bytes")
}

fn play(cache: &ReadCache, step: Step) {
    let value = |row: &Row| vec![7; row.value_bytes() as usize];
    match step {
        Step::Read(row) => {
            if cache.get(&key(&row), &mut Free, |_| ()).is_none() {
                cache.insert(&key(&row), &value(&row), &mut Free);
            }
        }
        Step::Write(row) => cache.update(&key(&row), Some(&value(&row)), &mut Free),
    }
}

fn hit_ratio(warehouses: u32, terminals: u32, bytes: usize) -> f64 {
    let tpcc = Tpcc::scaled(warehouses, SCALE, Lines::OrderLine, 1);
    let cache = ReadCache::new(CacheOptions::sized(bytes / SCALE as usize)).expect("has bytes");
    let mut transactions: Box<dyn Iterator<Item = Transaction>> = match terminals {
        0 => Box::new(tpcc.transactions()),
        count => Box::new(tpcc.terminals(count)),
    };
    transactions.by_ref().take(WARM_UP).flat_map(|t| t.steps).for_each(|step| play(&cache, step));
    let before = cache.stats();
    transactions.take(MEASURED).flat_map(|t| t.steps).for_each(|step| play(&cache, step));
    cache.stats().since(&before).hit_ratio()
}

fn main() {
    println!("scale 1/{SCALE}; hit ratio in percent with {CACHE_BYTES:?} bytes, by terminals (0: drawn)");
    for warehouses in [1, 2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20, 24, 28, 32, 48, 64] {
        print!("{warehouses:>3} warehouses");
        for terminals in TERMINALS {
            let [large, small] = CACHE_BYTES.map(|bytes| 100.0 * hit_ratio(warehouses, terminals, bytes));
            print!("  {terminals}: {large:>6.2} {small:>6.2}");
        }
        println!();
    }
}
