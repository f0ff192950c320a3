// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker compare`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use crate::error::CliError;
use crate::records::Format;
use crate::size;

/// Most operations of a run: each pair is held in memory.
const OPERATIONS_MAX: u64 = 1_000_000_000;

/// Arguments of `saker compare`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
HostKV keeps the index on the host over a block device; DiskKV keeps it in the device. Both run the same engine and \
the same operations, dealt round to the same threads, each keeping --qd of them in flight. DiskKV+SAKER xN is DiskKV \
with a session for each thread that gathers N writes in a container; it keeps --qd containers in flight, and a put is \
complete when it is buffered. DiskKV group xN is DiskKV with up to N puts, or gets, in one group command: what an \
application that has them together sends; --qd of these are in flight, and each operation takes as long as its group. \
Several --threads and --qd give a grid, several --store rows for each. A host over blocks has no flash to manage, so \
hash_store stands in at the host for the other hash engines.

Timings: virtual, deterministic events, the same seed gives the same numbers on every machine; real, the profile's \
latencies against this machine's clock, with threads of the operating system; off, as fast as this machine goes. A run \
in real is marked INVALID when more than 1 % of the device's events came more than 5 us late, as they do when there are \
fewer cores than threads and one more for the device.

Examples:
  saker compare
  saker compare --input UnicodeData.txt --timing all
  saker compare --profile saker-mid --threads 4 --sizes 64B,4KiB --operations 10000 --json
  saker compare --store hash_store,tree,lsm --group 4,16,64 --sizes 64B,1KiB --operations 20000
  saker compare --store tree,lsm --skew 0.99 --read-cache 1MiB --sizes 256B --operations 20000
  saker compare --profile saker-mid --threads 1,4,16 --qd 1,32 --batch 1,4,16,64 --sizes 16B --operations 20000
  saker compare --store lsm --sizes 100B --set lsm.min_blob_size=unlimited --set profile.host.background_cores=4 --json
  saker compare --store lsm --hybrid eager,lazy --sizes 4KiB --operations 20000 --set lsm.slowdown=off
  saker compare --html compare.html")]
pub struct CompareArgs {
    /// Take keys and values from FILE instead of making them; - is standard input
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// How records stand in FILE
    #[arg(long, default_value = "auto")]
    pub format: FormatChoice,
    /// Take lines of tsv and semicolon as they are: a backslash is a backslash
    #[arg(long, requires = "input")]
    pub raw: bool,
    /// Which clock latencies are on
    #[arg(long, default_value = "virtual")]
    pub timing: TimingChoice,
    /// The timing profile: a name of `saker profile list`, or a file (with a / or .toml in its name)
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub profile: String,
    /// Application threads, such as 4 or 1,4,16
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: Vec<u32>,
    /// Operations in flight for each thread, of HostKV and of DiskKV, such as 32 or 1,32
    #[arg(long, visible_alias = "depth", value_name = "LIST", value_delimiter = ',', default_value = "32")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub qd: Vec<u32>,
    /// What keeps the pairs, at the host and in the device, such as tree or hash_store,tree,lsm
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "hash_store")]
    pub store: Vec<String>,
    /// Operations of a group command, such as 64 or 4,16,64
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64", value_parser = clap::value_parser!(u16).range(2..=1024))]
    pub group: Vec<u16>,
    /// Writes of a container of SAKER's host layer, such as 64 or 1,4,16,64
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "64", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub batch: Vec<u16>,
    /// A column for HostKV with a tree in the device beside it, where writes go that HostKV would stop, for each policy by which they come
    /// back; of the store lsm
    #[arg(long, value_name = "LIST", value_delimiter = ',', num_args = 0..=1, default_missing_value = "eager")]
    pub hybrid: Vec<HybridChoice>,
    /// Cores for application threads in real and off, such as 0,1
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = core)]
    pub host_cpus: Vec<usize>,
    /// Cores for the device's thread in real and off
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = core)]
    pub device_cpus: Vec<usize>,
    /// Value sizes to run, such as 64B,1KiB
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = size::parse)]
    pub sizes: Vec<u64>,
    /// Operations of each run
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=OPERATIONS_MAX))]
    pub operations: u64,
    /// Get pairs by a zipfian choice with this exponent, as many as there are [default: each pair once]
    #[arg(long, value_name = "EXPONENT", value_parser = skew)]
    pub skew: Option<f64>,
    /// Bytes of a read cache at the host, LRU: of HostKV and of SAKER's host layer
    #[arg(long, value_name = "SIZE", value_parser = cache_size)]
    pub read_cache: Option<u64>,
    /// Bytes of the store's own cache on both sides, of every --store that has cache_bytes [default: by size of the flash]
    #[arg(long, value_name = "SIZE", value_parser = cache_size)]
    pub store_cache: Option<u64>,
    /// Bytes of HostKV's cache for blocks that it has read, LRU, beside --read-cache, which keeps pairs
    #[arg(long, value_name = "SIZE", value_parser = cache_size)]
    pub block_cache: Option<u64>,
    /// Change a number of the profile or a setting of a --store, on both sides, such as profile.host.background_cores=4 or
    /// lsm.min_blob_size=4KiB
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The seed of the workload
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Show every number of every system: latencies, commands, link bytes, NAND pages
    #[arg(long)]
    pub verbose: bool,
    /// Write a page with charts to FILE as well
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Most bytes of a cache: more than any machine's memory is a slip of the pen.
const CACHE_BYTES_MAX: u64 = 1 << 40;

fn cache_size(text: &str) -> Result<u64, String> {
    size::parse(text).and_then(|bytes| {
        let fits = bytes <= CACHE_BYTES_MAX;
        if fits { Ok(bytes) } else { Err("a cache has at most 1TiB".to_owned()) }
    })
}

/// A core of this machine, as Linux numbers them (sysfs: /sys/devices/system/cpu/cpuN).
fn core(text: &str) -> Result<usize, String> {
    let cores = Path::new("/sys/devices/system/cpu");
    let number = text.parse().map_err(|_| "write the numbers of cores, such as 0,1".to_owned())?;
    let is_there = !cores.is_dir() || cores.join(format!("cpu{number}")).is_dir();
    if is_there { Ok(number) } else { Err("this machine has no core of that number".to_owned()) }
}

/// An exponent above 0 of up to 10: beyond, one pair is all that is read.
fn skew(text: &str) -> Result<f64, String> {
    let exponent = text.parse().ok().filter(|n: &f64| *n > 0.0 && *n <= 10.0);
    exponent.ok_or_else(|| "write a number above 0 of up to 10, such as 0.99".to_owned())
}

/// How records stand in the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FormatChoice {
    /// As the name of the file tells
    Auto,
    /// Key, tab, value
    Tsv,
    /// {"key": "...", "value": "..."}
    Jsonl,
    /// Key, semicolon, value with the rest of the line
    Semicolon,
}

/// When writes come back from the device's tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HybridChoice {
    /// As soon as level 0 is short enough
    Eager,
    /// When no write has come for a while
    Lazy,
    /// When reads have lost as much as coming back takes
    Adaptive,
}

/// Which timings to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimingChoice {
    /// Emulated latency against this machine's clock
    Real,
    /// Deterministic events: same seed, same numbers
    Virtual,
    /// No emulated latency
    Off,
    /// One after the other
    All,
}

impl CompareArgs {
    /// The format of the input; nothing without an input.
    ///
    /// # Errors
    /// `Usage` when it is not given and the file's name tells nothing.
    pub fn input_format(&self) -> Result<Option<Format>, CliError> {
        let Some(path) = &self.input else { return Ok(None) };
        let format = match self.format {
            FormatChoice::Auto => Format::of(path)?,
            FormatChoice::Tsv => Format::Tsv,
            FormatChoice::Jsonl => Format::Jsonl,
            FormatChoice::Semicolon => Format::Semicolon,
        };
        Ok(Some(format))
    }
}
