// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our LSM engine beside RocksDB: the same keys, values and order of operations for both, in one process, in turn.
//!
//! `cargo xtask rocksdb -- [OPTIONS]` builds and runs it. Timing is `off`: what is compared is how much work a processor has
//! with a pair, not what flash takes. Repetitions alternate between the stores, and medians are compared, because shared
//! machines change their speed from one second to the next.

mod clock;
mod memory;
#[cfg(feature = "rocksdb")]
mod merge;
mod ours;
mod report;
#[cfg(feature = "rocksdb")]
mod rocks;
mod store;
mod transactions;
mod work;

use clap::Parser;
use report::{Column, Report};
use std::path::PathBuf;
use std::process::ExitCode;
use store::{Durability, Fault, Store};
use work::{Shape, Work};

/// Our LSM engine beside RocksDB, on this machine.
#[derive(Parser)]
struct Cli {
    /// Pairs that are stored.
    #[arg(long, default_value_t = 1_000_000)]
    pairs: u64,
    /// Random reads; 0: as many as pairs, but at most two million.
    #[arg(long, default_value_t = 0)]
    reads: u64,
    /// Scans.
    #[arg(long, default_value_t = 20_000)]
    scans: u64,
    /// Pairs of a scan.
    #[arg(long, default_value_t = 100)]
    scan_pairs: u32,
    /// Bytes of a value.
    #[arg(long, default_value_t = 100)]
    value_size: u32,
    /// Repetitions, of which medians are taken.
    #[arg(long, default_value_t = 3)]
    repetitions: u32,
    /// DRAM of our device in MiB, and so the block cache of RocksDB.
    #[arg(long, default_value_t = 256)]
    dram_mib: u64,
    /// Columns: what an acknowledged write survives.
    #[arg(long, value_delimiter = ',', default_value = "wal,no-wal")]
    columns: Vec<Durability>,
    /// Where RocksDB and our image files lie: a tmpfs.
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// More options for our device's URL, such as `level0_file_num_compaction_trigger=8`; `min_blob_size=unlimited` keeps values in the
    /// tree, as RocksDB does.
    #[arg(long, default_value = "")]
    url: String,
    /// Flash of our device in GiB; 0: for the pairs, records and what segments of 48 MiB keep back. Large memtables and levels need more.
    #[arg(long, default_value_t = 0)]
    flash_gib: u64,
    /// Seed of the order of keys.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave RocksDB out.
    #[arg(long, conflicts_with = "merge")]
    ours_only: bool,
    /// Measure instead what one compaction of RocksDB's takes on one thread, with values of --value-size: medians of --repetitions.
    #[arg(long)]
    merge: bool,
    /// Measure instead so many optimistic transactions, each of four reads and two writes.
    #[arg(long, default_value_t = 0, conflicts_with = "merge")]
    transactions: u64,
    /// Our engines beside which transactions are measured.
    #[arg(long, value_delimiter = ',', default_value = "hash_store,lsm")]
    engines: Vec<String>,
    /// Do not bring memory in before each repetition: first touches are measured, too, and a virtual machine's may be slow.
    #[arg(long, conflicts_with_all = ["merge", "transactions"])]
    cold: bool,
    /// One JSON document instead of the table.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), Fault> {
    if cli.merge {
        return merge(cli);
    }
    let reads = if cli.reads == 0 { cli.pairs.min(2_000_000) } else { cli.reads };
    let shape = Shape {
        pairs: cli.pairs,
        reads,
        scans: cli.scans,
        scan_pairs: cli.scan_pairs,
        value_bytes: cli.value_size,
    };
    if cli.transactions > 0 {
        let compared = transactions::measure(cli, Shape { reads: cli.transactions, ..shape })?;
        let json = cli.json.then(|| serde_json::to_string_pretty(&compared.json())).transpose()?;
        print!("{}", json.map_or_else(|| compared.text(), |json| json + "\n"));
        return Ok(());
    }
    let work = Work::new(shape, cli.seed);
    let mut report = Report::new(shape, work.pair_bytes(), (cli.repetitions, cli.cold));
    for durability in &cli.columns {
        let mut column = Column::new(*durability);
        for repetition in 0..cli.repetitions {
            for side in 0..2 {
                // Who begins changes, so that neither always finds the machine as the other left it.
                let ours = (side + repetition).is_multiple_of(2);
                if !ours && cli.ours_only {
                    continue;
                }
                if !cli.cold {
                    memory::bring_in(memory::needed(work.pair_bytes()));
                }
                let mut store = open(cli, ours, *durability)?;
                column.options(ours, store.options());
                let run = work.run(store.as_mut(), &mut report_progress(cli, store_name(ours)))?;
                column.add(ours, run, store.memory_bytes());
            }
        }
        report.columns.push(column);
    }
    if cli.json {
        println!("{}", serde_json::to_string_pretty(&report.json())?);
    } else {
        print!("{}", report.text());
    }
    Ok(())
}

#[cfg(feature = "rocksdb")]
fn merge(cli: &Cli) -> Result<(), Fault> {
    let merged = merge::measure(&cli.dir, cli.pairs, cli.value_size, cli.repetitions, cli.seed)?;
    if cli.json {
        println!("{}", serde_json::to_string_pretty(&merged.json())?);
    } else {
        print!("{}", merged.text());
    }
    Ok(())
}

#[cfg(not(feature = "rocksdb"))]
fn merge(_: &Cli) -> Result<(), Fault> {
    Err("RocksDB was not built: leave out --no-default-features".into())
}

const fn store_name(ours: bool) -> &'static str {
    if ours { "saker" } else { "rocksdb" }
}

/// Tells on standard error what goes on: 20 million pairs take minutes.
fn report_progress<'a>(cli: &Cli, store: &'a str) -> impl FnMut(&str, f64) + 'a {
    let quiet = cli.json;
    move |phase, us| {
        if !quiet {
            eprintln!("{store}: {phase}: {us:.3} us each");
        }
    }
}

fn open(cli: &Cli, ours: bool, durability: Durability) -> Result<Box<dyn Store>, Fault> {
    if ours {
        let pair_bytes = u64::from(cli.value_size) + 16;
        let flash =
            if cli.flash_gib > 0 { cli.flash_gib << 30 } else { ours::flash_bytes(cli.pairs, pair_bytes) };
        return Ok(Box::new(ours::Ours::open(&cli.dir, durability, flash, &cli.url)?));
    }
    #[cfg(feature = "rocksdb")]
    return Ok(Box::new(rocks::Rocks::open(&cli.dir, durability, cli.dram_mib << 20)?));
    #[cfg(not(feature = "rocksdb"))]
    Err("RocksDB was not built: leave out --no-default-features, or say --ours-only".into())
}
