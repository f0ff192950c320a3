// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which values are better off in the LSM tree: rates by `min_blob_size`, length of values and kind of use, in virtual time.
//!
//! `cargo bench -p saker-bench --bench blob_sizes`. Without `--bench`, as `cargo test` runs it, it does a little of each.
//! The rates are of one profile, whose memtable is so small that tables are flushed and merged many times. `written` is what the medium
//! wrote for each byte that was stored. A size is best for a kind of use if the product of its rates over all lengths of values is largest.

use saker_assembly::Build;
use saker_device::{EngineKind, Settings};
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::{Rng, Seed};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

const PROFILE: &str = "saker-mid";
const FLASH_BYTES: u64 = 512 << 20;
const BUFFER_BYTES: u64 = 1 << 20;
const VALUE_BYTES: [usize; 4] = [16, 100, 1024, 4096];
/// Values from so many bytes on are in the value log, and the places of the words.
const SIZES: [(&str, u64); 4] = [("0", 0), ("64", 3), ("4096", 9), ("unlimited", 14)];
const USES: [&str; 4] = ["fill", "overwrite", "read", "scan"];
const SCANNED: u32 = 100;

/// How much is done.
struct Amount {
    pairs_max: u64,
    bytes: u64,
}

const FULL: Amount = Amount { pairs_max: 100_000, bytes: 32 << 20 };
const SMOKE: Amount = Amount { pairs_max: 300, bytes: 64 << 10 };

/// What a cell of the table measured.
struct Cell {
    /// Operations a second of each kind of use, of scans pairs.
    rates: [f64; USES.len()],
    written: f64,
    /// What flushes and compactions of the tree wrote of that.
    tables: f64,
    digest: u64,
}

fn key(n: u64) -> Vec<u8> {
    n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().repeat(2)
}

fn value(rng: &mut Rng, bytes: usize) -> Vec<u8> {
    let mut value = vec![0; bytes];
    rng.fill(&mut value);
    value
}

fn jobs(pairs: u64, value_bytes: usize) -> Vec<Job> {
    let mut rng = Seed(1).child("blob sizes").rng();
    let fill = (0..pairs).map(|n| Op::Put(key(n), value(&mut rng, value_bytes))).collect();
    let overwrite =
        (0..pairs).map(|_| Op::Put(key(rng.below(pairs)), value(&mut rng, value_bytes))).collect();
    let read = (0..pairs).map(|_| Op::Get(key(rng.below(pairs)))).collect();
    let scans = 1 + pairs / u64::from(SCANNED);
    let scan = |rng: &mut Rng| Op::Scan { from: key(rng.below(pairs)), entries: SCANNED, snapshot: None };
    let scan = (0..scans).map(|_| scan(&mut rng)).collect();
    let job = |operations| Job {
        threads: 4,
        depth: 4,
        operations,
        flush: false,
        transfer: TransferOptions::default(),
    };
    [fill, overwrite, read, scan].map(job).into()
}

fn counted(result: &RunResult, names: &[&str]) -> u64 {
    result.counters.iter().filter(|(name, _)| names.contains(name)).map(|(_, n)| n).sum()
}

fn cell(store: StoreKind, min_blob_size: u64, jobs: &[Job]) -> Cell {
    let profile = Profile::builtin(PROFILE).expect("it is built in");
    let build = match store {
        StoreKind::Host => Build::block(&profile, FLASH_BYTES, 1),
        _ => Build::kv(&profile, FLASH_BYTES, 1),
    };
    let mut build = build.expect("large enough").with_engine(EngineKind::LSM);
    build.ask(&Settings::told(&[("min_blob_size", min_blob_size), ("write_buffer_size", BUFFER_BYTES)]));
    let results = run_virtual(store, &build, jobs).expect("the device is there");
    assert!(results.iter().all(|result| result.errors == 0), "all is carried out");
    let [fill, overwrite, read, scan] = &results[..] else { panic!("a result for each job") };
    let user_bytes = (fill.user_bytes + overwrite.user_bytes) as f64;
    let tables = counted(overwrite, &["flush_write_bytes", "compact_write_bytes"]) as f64;
    Cell {
        rates: [fill.rate(), overwrite.rate(), read.rate(), scan.rate() * f64::from(SCANNED)],
        written: (fill.nand_bytes + overwrite.nand_bytes) as f64 / user_bytes,
        tables: tables / user_bytes,
        digest: results.iter().fold(0, |all, result| all.rotate_left(7) ^ result.digest),
    }
}

/// The size with the largest product of rates, for one kind of use.
fn best(cells: &[Vec<Cell>], of: usize) -> &'static str {
    let product = |n: &usize| -> f64 { cells.iter().map(|sizes| sizes[*n].rates[of].ln()).sum() };
    let best = (0..SIZES.len()).max_by(|a, b| product(a).total_cmp(&product(b)));
    SIZES[best.expect("there are some")].0
}

fn table(store: StoreKind, amount: &Amount) -> u64 {
    println!("{}, rates in thousands a second", store.name());
    println!(
        "{:>6} {:>14} {:>9} {:>9} {:>9} {:>9} {:>8} {:>8}",
        "value", "min_blob_size", "fill", "overwrite", "read", "scan", "written", "tables"
    );
    let mut cells = Vec::new();
    for value_bytes in VALUE_BYTES {
        let jobs = jobs(amount.pairs_max.min(amount.bytes / value_bytes as u64), value_bytes);
        let sizes: Vec<_> = SIZES.iter().map(|(_, place)| cell(store, *place, &jobs)).collect();
        for ((name, _), cell) in SIZES.iter().zip(&sizes) {
            let [fill, overwrite, read, scan] = cell.rates.map(|rate| rate / 1000.0);
            println!(
                "{value_bytes:>6} {name:>14} {fill:>9.1} {overwrite:>9.1} {read:>9.1} {scan:>9.1} {:>8.2} {:>8.2}",
                cell.written, cell.tables
            );
        }
        cells.push(sizes);
    }
    let choices: Vec<_> =
        USES.iter().enumerate().map(|(n, name)| format!("{name} {}", best(&cells, n))).collect();
    println!("best: {}\n", choices.join(", "));
    cells.iter().flatten().fold(0, |all, cell| all.rotate_left(5) ^ cell.digest)
}

fn main() {
    let is_full = std::env::args().any(|argument| argument == "--bench");
    let amount = if is_full { FULL } else { SMOKE };
    let digests = [StoreKind::Disk, StoreKind::Host].map(|store| table(store, &amount));
    println!("digest {:016x}", digests[0].rotate_left(1) ^ digests[1]);
}
