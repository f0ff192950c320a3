// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker bench`.

pub mod db;
pub mod history;
pub mod limits;
pub mod refusals;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use saker_bench::db::DbBench;
use saker_bench::policy_names;
use saker_host::Method;
use saker_workload::Suite;
use saker_workload::tpcc::Lines;

use crate::error::CliError;
use crate::size;

/// What the help says behind the options; the names of the methods come in.
const HELP: &str = "\
Workloads: fillseq, fillrandom, overwrite, readrandom, readwrite (16-byte keys); readwhilewriting, seekrandom, mixgraph and replay, \
on a device only (without --device one in memory with the lsm engine); and those of BandSlim (4-byte keys): \
a (one value size), b and c (8 B and 2 KiB as 9:1 and 1:9), d (nine sizes alike), m (mixgraph's sizes up to 1 KiB); ycsb-a to ycsb-f, \
YCSB's core workloads (zipfian; d latest; d and e need --device; e's scans follow the device's order of keys), and ycsb with a \
property file as YCSB writes them: one client loads the records, runs, and reports in YCSB's lines (with --threads, --qd, \
--trace or --transfer in virtual time: without the load phase, as the other workloads); readzipfian and readzipfian:1.2 (any \
exponent); twitter-1 to twitter-54 (production caches; long keys and deletes need --device). With --device also: tpcc \
(New-Order and Payment; lines write ORDER-LINE, tpcc-standard: STOCK, too), kvcache (blocks of language models, asked for by \
prefix, stored if absent, the least recently used go). In virtual time also: history, a seeded history of one engine in digests and \
counters, to check that a change of code changes no behaviour.
Transfer: {METHODS}, adaptive (BandSlim's threshold of 128 B), auto-bytes, auto-time.

Without --device the workload runs in virtual time: the same seed gives the same numbers on every machine. With it, on \
that device, by this machine's clock. A trace file that ends in .jsonl gets a line for each command; any other gets \
trace events for Perfetto (ui.perfetto.dev) or Chrome.

Examples:
  saker bench fillrandom --value-size 100B --operations 100000
  saker bench m --transfer adaptive --profile cosmos-plus --nand off --passthrough
  saker bench a --value-size 64B --transfer inline --profile cosmos-plus --trace trace.json
  saker bench readrandom --device file:disk.img --json
  saker bench readzipfian:0.8 --device 'mem:?cache=64MiB&cache_policy=s3fifo'
  saker bench kvcache --device mem: --operations 2000
  saker bench a --set profile.firmware.fetch_ns=500
  saker bench ycsb-a --operations 20000 --device 'mem:?engine=hash_plus'
  saker bench ycsb --properties workloads/workloada --profile kvvirt
  saker bench seekrandom --num 100000 --seek_nexts 100 --device 'mem:?engine=lsm'
  saker bench readrandom --num 100000 --threads 2 --rate 50000 --device file:disk.img
  saker bench mixgraph --num 100000 --mix_get_ratio 0.83 --mix_put_ratio 0.14 --mix_seek_ratio 0.03
  saker bench history --engine lsm --side host --seed 3 --json
  saker bench replay --input trace.csv --device file:disk.img --speed 10";

fn help() -> String {
    HELP.replace("{METHODS}", &Method::ALL.map(Method::name).join(", "))
}

/// Arguments of `saker bench`.
#[derive(Args, Clone, Debug)]
#[command(after_help = help())]
pub struct BenchArgs {
    /// The workload
    #[arg(value_name = "WORKLOAD")]
    pub workload: String,
    /// Operations; db_bench's name is --num: keys, and operations of each thread
    #[arg(long, alias = "num", value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=limits::OPERATIONS_MAX))]
    pub operations: u64,
    /// Warehouses of tpcc
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub warehouses: u32,
    /// Value size of the workloads that have one size; the block size of kvcache [default there: 1MiB]
    #[arg(long, alias = "value_size", value_name = "SIZE", default_value = "100B", value_parser = size::parse)]
    pub value_size: u64,
    /// Key size in bytes; otherwise the workload's own
    #[arg(long, alias = "key_size", value_name = "N")]
    pub key_size: Option<usize>,
    /// How values go to the device [default: prp in virtual time, what its URL says on a device]
    #[arg(long, value_name = "METHOD")]
    pub transfer: Option<String>,
    /// One command at a time, each awaited, as NVMe passthrough (virtual time)
    #[arg(long)]
    pub passthrough: bool,
    /// Whether NAND pages are programmed (virtual time)
    #[arg(long, default_value = "on")]
    pub nand: Switch,
    /// The timing profile, a name or a file (virtual time) [default: default]
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Replace a number of the profile: profile.KEY=VALUE
    #[arg(long, value_name = "SETTING")]
    pub set: Vec<String>,
    /// Application threads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
    /// Operations of each thread in flight
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1023))]
    pub qd: u32,
    /// The seed
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The property file of workload `ycsb`; its records, operations and sizes count
    #[arg(long, value_name = "FILE")]
    pub properties: Option<PathBuf>,
    /// Which phases of YCSB
    #[arg(long, value_name = "PHASE", default_value = "both")]
    pub phase: PhaseChoice,
    /// Write where each command's time went to FILE (virtual time)
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Parameters of history
    #[command(flatten)]
    pub history: history::HistoryArgs,
    /// Parameters of db_bench
    #[command(flatten)]
    pub db: db::DbArgs,
}

impl BenchArgs {
    /// The name of the profile in virtual time.
    pub fn profile_name(&self) -> &str {
        self.profile.as_deref().unwrap_or("default")
    }
}

/// Phases of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PhaseChoice {
    /// The records are inserted.
    Load,
    /// The operations run.
    Run,
    /// One after the other.
    Both,
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

/// Workloads that need a device's answers to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDevice {
    /// Blocks of attention state.
    KvCache,
    /// TPC-C.
    Tpcc(Lines),
}

impl OnDevice {
    /// The one of that name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "kvcache" => Some(Self::KvCache),
            "tpcc" => Some(Self::Tpcc(Lines::OrderLine)),
            "tpcc-standard" => Some(Self::Tpcc(Lines::OrderLineAndStock)),
            _ => None,
        }
    }
}

/// The method of transfer in virtual time.
pub fn method(args: &BenchArgs) -> &str {
    args.transfer.as_deref().unwrap_or("prp")
}

/// The workload, after a look at the method's name too.
///
/// # Errors
/// `Usage` with the names there are.
pub fn suite(args: &BenchArgs) -> Result<Suite, CliError> {
    let choose = |what: &str, name: &str, names: &[&str]| {
        CliError::usage(format!("there is no {what} `{name}`"), format!("choose one of {}", names.join(", ")))
    };
    let methods = policy_names();
    if !methods.contains(&method(args)) {
        return Err(choose("transfer method", method(args), &methods));
    }
    let mut names = Suite::ALL.map(Suite::name).to_vec();
    names.extend(DbBench::ALL.map(DbBench::name).into_iter().filter(|name| Suite::named(name).is_none()));
    names.extend([
        "readzipfian:1.2",
        "twitter-1 to twitter-54",
        "tpcc",
        "tpcc-standard",
        "kvcache",
        history::NAME,
    ]);
    Suite::named(&args.workload).ok_or_else(|| choose("workload", &args.workload, &names))
}
