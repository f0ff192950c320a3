// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which values are better off in the LSM tree: rates by `min_blob_size`, length of values and kind of use, in virtual time.
//!
//! `cargo bench -p saker-bench --bench blob_sizes`. Without `--bench`, as `cargo test` runs it, it does a little of each.
//! The rates are of one profile, whose memtable is so small that tables are flushed and merged many times. `written` is what the medium
//! wrote for each byte that was stored. A size is best for a kind of use if the product of its rates over all lengths of values is largest.
//! Of `auto` it is told what its rates are beside the better ones of `0` and `unlimited`.
//!
//! Uses follow each other: pairs are stored, put once more in no order, read, and scanned. Then half of what is done is puts and half is
//! gets (`half`), and then there are ten puts for each scan (`ranges`). Both come twice: a pair of `auto` changes its place when it is put
//! again, and at first all are in the log. Of `mixed` values six of ten have 16 to 100 bytes, three
//! have 1024, and one has 4096.

use saker_assembly::Build;
use saker_device::{EngineKind, Settings};
use saker_host::TransferOptions;
use saker_profile::Profile;
use saker_sim::{Rng, Seed};
use saker_world::{Job, Op, RunResult, StoreKind, run_virtual};

const PROFILE: &str = "saker-mid";
const FLASH_BYTES: u64 = 512 << 20;
const BUFFER_BYTES: u64 = 1 << 20;
/// 0: mixed lengths.
const VALUE_BYTES: [usize; 5] = [16, 100, 1024, 4096, 0];
/// Bytes of a pair of them on the average.
const MIXED_BYTES: u64 = 750;
/// Values from so many bytes on are in the value log, and the places of the words.
const SIZES: [(&str, u64); 5] = [("0", 0), ("64", 3), ("4096", 9), ("unlimited", UNLIMITED), ("auto", AUTO)];
const UNLIMITED: u64 = 14;
const AUTO: u64 = 15;
const USES: [&str; 8] = ["fill", "overwrite", "read", "scan", "half", "half 2", "ranges", "ranges 2"];
/// Whose operations are scans alone.
const SCAN: usize = 3;
const SCANNED: u32 = 100;
/// Puts for each scan of `ranges`.
const PUTS_A_SCAN: u64 = 10;

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

/// A value for a key: all that it ever has are of about the same length.
fn value(rng: &mut Rng, (n, bytes): (u64, usize)) -> Vec<u8> {
    let bytes = match (bytes, n % 10) {
        (0, 0) => 4096,
        (0, 1..=3) => 1024,
        (0, _) => 16 + rng.below(85) as usize,
        _ => bytes,
    };
    let mut value = vec![0; bytes];
    rng.fill(&mut value);
    value
}

fn jobs(pairs: u64, value_bytes: usize) -> Vec<Job> {
    let mut rng = Seed(1).child("blob sizes").rng();
    let put = |n: u64, rng: &mut Rng| Op::Put(key(n), value(rng, (n, value_bytes)));
    let any = |rng: &mut Rng| rng.below(pairs);
    let replace = |rng: &mut Rng| put(any(rng), rng);
    let get = |rng: &mut Rng| Op::Get(key(any(rng)));
    let scan = |rng: &mut Rng| Op::Scan { from: key(any(rng)), entries: SCANNED, snapshot: None };
    let scans = 1 + pairs / u64::from(SCANNED);
    let rng = &mut rng;
    let fill = (0..pairs).map(|n| put(n, rng)).collect();
    let overwrite = (0..pairs).map(|_| replace(rng)).collect();
    let read = (0..pairs).map(|_| get(rng)).collect();
    let scanned = (0..scans).map(|_| scan(rng)).collect();
    // By chance, or some threads would only put and others only get.
    let mut half =
        || (0..4 * pairs).map(|_| if rng.below(2) == 0 { replace(rng) } else { get(rng) }).collect();
    let halves: [Vec<_>; 2] = [half(), half()];
    let one = |rng: &mut Rng| if rng.below(1 + PUTS_A_SCAN) == 0 { scan(rng) } else { replace(rng) };
    let mut ranges = || (0..pairs).map(|_| one(rng)).collect();
    let ranges: [Vec<_>; 2] = [ranges(), ranges()];
    let job = |operations| Job {
        threads: 4,
        depth: 4,
        operations,
        flush: false,
        transfer: TransferOptions::default(),
    };
    let all = [fill, overwrite, read, scanned].into_iter().chain(halves).chain(ranges);
    all.map(job).collect()
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
    let [fill, overwrite, ..] = &results[..] else { panic!("a result for each job") };
    let user_bytes = (fill.user_bytes + overwrite.user_bytes) as f64;
    let tables = counted(overwrite, &["flush_write_bytes", "compact_write_bytes"]) as f64;
    let mut rates = [0.0; USES.len()];
    rates.iter_mut().zip(&results).for_each(|(rate, result)| *rate = result.rate());
    rates[SCAN] *= f64::from(SCANNED);
    Cell {
        rates,
        written: (fill.nand_bytes + overwrite.nand_bytes) as f64 / user_bytes,
        tables: tables / user_bytes,
        digest: results.iter().fold(0, |all, result| all.rotate_left(7) ^ result.digest),
    }
}

/// What `auto` comes to beside the better one of `0` and `unlimited`, in percent, for each kind of use.
fn beside_the_better(sizes: &[Cell]) -> [f64; USES.len()] {
    let of = |place: u64| SIZES.iter().position(|(_, known)| *known == place).expect("it is one of them");
    let [apart, inside, auto] = [0, UNLIMITED, AUTO].map(|place| &sizes[of(place)].rates);
    std::array::from_fn(|n| 100.0 * auto[n] / apart[n].max(inside[n]))
}

/// The size with the largest product of rates, for one kind of use.
fn best(cells: &[Vec<Cell>], of: usize) -> &'static str {
    let product = |n: &usize| -> f64 { cells.iter().map(|sizes| sizes[*n].rates[of].ln()).sum() };
    let best = (0..SIZES.len()).max_by(|a, b| product(a).total_cmp(&product(b)));
    SIZES[best.expect("there are some")].0
}

fn table(store: StoreKind, amount: &Amount) -> u64 {
    println!("{}, rates in thousands a second", store.name());
    let cells_of =
        |texts: &[String]| texts.iter().fold(String::new(), |all, text| all + &format!(" {text:>9}"));
    let names = cells_of(&USES.map(str::to_owned));
    println!("{:>6} {:>14}{names} {:>8} {:>8}", "value", "min_blob_size", "written", "tables");
    let mut cells = Vec::new();
    for value_bytes in VALUE_BYTES {
        let bytes = if value_bytes == 0 { MIXED_BYTES } else { value_bytes as u64 };
        let jobs = jobs(amount.pairs_max.min(amount.bytes / bytes), value_bytes);
        let length = if value_bytes == 0 { "mixed".to_owned() } else { value_bytes.to_string() };
        let sizes: Vec<_> = SIZES.iter().map(|(_, place)| cell(store, *place, &jobs)).collect();
        for ((name, _), cell) in SIZES.iter().zip(&sizes) {
            let rates = cells_of(&cell.rates.map(|rate| format!("{:.1}", rate / 1000.0)));
            println!("{length:>6} {name:>14}{rates} {:>8.2} {:>8.2}", cell.written, cell.tables);
        }
        let ratios = cells_of(&beside_the_better(&sizes).map(|ratio| format!("{ratio:.1} %")));
        println!("{length:>6} {:>14}{ratios}", "auto of better");
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
