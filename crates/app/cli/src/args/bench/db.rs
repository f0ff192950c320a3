// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of the benchmarks that db_bench has, by its names.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use saker_bench::db::{DbBench, DbOptions, MixOptions, Rate, ReplayOptions, Sine, TimeUnit};

use super::BenchArgs;
use super::limits::{BATCH_MAX, DAY_MS, KEY_RANGES_MAX, OPERATIONS_MAX, PAIRS_SOUGHT_MAX};
use crate::error::CliError;
use crate::limits::VALUE_BYTES_MAX;
use crate::size;

/// Key size without `--key_size`: db_bench's.
const KEY_BYTES: usize = 16;

/// Parameters of db_bench.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "db_bench's parameters (on a device)")]
pub struct DbArgs {
    /// Reads of each thread [default: --num]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=OPERATIONS_MAX))]
    pub reads: Option<u64>,
    /// Writes of each thread [default: --num]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=OPERATIONS_MAX))]
    pub writes: Option<u64>,
    /// Pairs behind the one that a seek goes to
    #[arg(long = "seek_nexts", alias = "seek-nexts", value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=PAIRS_SOUGHT_MAX))]
    pub seek_nexts: u32,
    /// Seeks go over the pairs before instead: of the lsm and tree engines
    #[arg(long = "reverse_iterator", alias = "reverse-iterator", value_name = "0|1", num_args = 0..=1)]
    #[arg(default_missing_value = "1", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub reverse_iterator: u8,
    /// Writes of a batch
    #[arg(long = "batch_size", alias = "batch-size", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=BATCH_MAX))]
    pub batch_size: u32,
    /// Seconds after which it ends
    #[arg(long, value_name = "S")]
    pub duration: Option<f64>,
    /// Operations per second of all threads; latencies count from when each was meant to begin
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Bytes per second of readwhilewriting's writer
    #[arg(long = "benchmark_write_rate_limit", alias = "benchmark-write-rate-limit", value_name = "SIZE", default_value = "0", value_parser = size::parse)]
    pub benchmark_write_rate_limit: u64,
    /// The store is filled already
    #[arg(long = "use_existing_db", alias = "use-existing-db", value_name = "0|1", num_args = 0..=1)]
    #[arg(default_missing_value = "1", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=1))]
    pub use_existing_db: u8,
    /// The trace to replay: CSV of time, key, key size, value size, operation
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Unit of the trace's times
    #[arg(long = "time_unit", alias = "time-unit", default_value = "s")]
    pub time_unit: Unit,
    /// Replay so many times faster; 0: one operation after the other
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub speed: f64,
    /// mixgraph's parameters
    #[command(flatten)]
    pub mix: MixArgs,
}

/// Parameters of mixgraph, by db_bench's names and with its defaults.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "mixgraph, as in db_bench")]
pub struct MixArgs {
    #[arg(long = "mix_get_ratio", default_value_t = 1.0, hide_short_help = true, help = "Weight of gets")]
    mix_get_ratio: f64,
    #[arg(long = "mix_put_ratio", default_value_t = 0.0, hide_short_help = true, help = "Weight of puts")]
    mix_put_ratio: f64,
    #[arg(long = "mix_seek_ratio", default_value_t = 0.0, hide_short_help = true, help = "Weight of seeks")]
    mix_seek_ratio: f64,
    #[arg(
        long = "mix_max_scan_len",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u32).range(1..=PAIRS_SOUGHT_MAX),
        hide_short_help = true,
        help = "Scans are shorter"
    )]
    mix_max_scan_len: u32,
    #[arg(
        long = "mix_max_value_size",
        default_value_t = 1024,
        value_parser = clap::value_parser!(u32).range(1..=VALUE_BYTES_MAX as i64),
        hide_short_help = true,
        help = "Values are shorter"
    )]
    mix_max_value_size: u32,
    #[arg(long = "keyrange_num", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=KEY_RANGES_MAX))]
    #[arg(hide_short_help = true, help = "Ranges of keys")]
    keyrange_num: u64,
    #[arg(
        long = "keyrange_dist_a",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "Heat of range x: a exp(b x) + c exp(d x)"
    )]
    keyrange_dist_a: f64,
    #[arg(
        long = "keyrange_dist_b",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "b of the ranges' heat"
    )]
    keyrange_dist_b: f64,
    #[arg(
        long = "keyrange_dist_c",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "c of the ranges' heat"
    )]
    keyrange_dist_c: f64,
    #[arg(
        long = "keyrange_dist_d",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "d of the ranges' heat"
    )]
    keyrange_dist_d: f64,
    #[arg(
        long = "key_dist_a",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "Heat of key x in its range: a x^b"
    )]
    key_dist_a: f64,
    #[arg(
        long = "key_dist_b",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "b of the keys' heat"
    )]
    key_dist_b: f64,
    #[arg(
        long = "value_theta",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "Pareto theta of value sizes"
    )]
    value_theta: f64,
    #[arg(
        long = "value_k",
        default_value_t = 0.2615,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "Pareto k of value sizes"
    )]
    value_k: f64,
    #[arg(
        long = "value_sigma",
        default_value_t = 25.45,
        hide_short_help = true,
        help = "Pareto sigma of value sizes"
    )]
    value_sigma: f64,
    #[arg(
        long = "iter_theta",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "Pareto theta of scan lengths"
    )]
    iter_theta: f64,
    #[arg(
        long = "iter_k",
        default_value_t = 2.517,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "Pareto k of scan lengths"
    )]
    iter_k: f64,
    #[arg(
        long = "iter_sigma",
        default_value_t = 14.236,
        hide_short_help = true,
        help = "Pareto sigma of scan lengths"
    )]
    iter_sigma: f64,
    #[arg(long = "sine_mix_rate", num_args = 0..=1, default_missing_value = "1", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=1), hide_short_help = true)]
    #[arg(help = "The rate follows a sine: a sin(b t + c) + d operations per second after t seconds")]
    sine_mix_rate: u8,
    #[arg(
        long = "sine_a",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "a of the sine"
    )]
    sine_a: f64,
    #[arg(
        long = "sine_b",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "b of the sine"
    )]
    sine_b: f64,
    #[arg(
        long = "sine_c",
        default_value_t = 0.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "c of the sine"
    )]
    sine_c: f64,
    #[arg(
        long = "sine_d",
        default_value_t = 1.0,
        allow_negative_numbers = true,
        hide_short_help = true,
        help = "d of the sine"
    )]
    sine_d: f64,
    #[arg(
        long = "sine_mix_rate_interval_milliseconds",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u64).range(1..=DAY_MS),
        hide_short_help = true,
        help = "How often the rate is looked at"
    )]
    sine_mix_rate_interval_milliseconds: u64,
    #[arg(
        long = "sine_mix_rate_noise",
        default_value_t = 0.0,
        hide_short_help = true,
        help = "Up to this part of the rate is random"
    )]
    sine_mix_rate_noise: f64,
}

/// Units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Unit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl MixArgs {
    fn options(&self) -> MixOptions {
        MixOptions {
            mix_get_ratio: self.mix_get_ratio,
            mix_put_ratio: self.mix_put_ratio,
            mix_seek_ratio: self.mix_seek_ratio,
            keyrange_num: self.keyrange_num,
            keyrange_dist: [
                self.keyrange_dist_a,
                self.keyrange_dist_b,
                self.keyrange_dist_c,
                self.keyrange_dist_d,
            ],
            key_dist: (self.key_dist_a, self.key_dist_b),
            value: (self.value_theta, self.value_k, self.value_sigma),
            iter: (self.iter_theta, self.iter_k, self.iter_sigma),
            mix_max_value_size: self.mix_max_value_size,
            mix_max_scan_len: self.mix_max_scan_len,
        }
    }

    fn sine(&self) -> Option<Sine> {
        (self.sine_mix_rate == 1).then_some(Sine {
            a: self.sine_a,
            b: self.sine_b,
            c: self.sine_c,
            d: self.sine_d,
            interval_ms: self.sine_mix_rate_interval_milliseconds,
            noise: self.sine_mix_rate_noise,
        })
    }
}

impl DbArgs {
    fn rate(&self, bench: DbBench) -> Result<Option<Rate>, CliError> {
        let sine = self.mix.sine().filter(|_| bench == DbBench::MixGraph).map(Rate::Sine);
        let rate = self.rate.map(Rate::Fixed).or(sine);
        match rate.filter(|rate| !rate.is_sound()) {
            Some(_) => Err(CliError::usage("a rate is above 0", "give operations per second")),
            None => Ok(rate),
        }
    }

    const fn unit(&self) -> TimeUnit {
        match self.time_unit {
            Unit::S => TimeUnit::S,
            Unit::Ms => TimeUnit::Ms,
            Unit::Us => TimeUnit::Us,
            Unit::Ns => TimeUnit::Ns,
        }
    }
}

/// The device of a benchmark that needs one and was given none: in memory, with an engine that keeps keys in order, and room
/// for the pairs several times over.
pub fn device_for(args: &BenchArgs) -> String {
    let pair = args.value_size + args.key_size.unwrap_or(KEY_BYTES) as u64 + 64;
    let bytes = (4 * args.operations.saturating_mul(pair)).clamp(1 << 30, 1 << 40).next_power_of_two();
    format!("mem:?engine=lsm&size={bytes}")
}

/// What to run, if the workload is one of db_bench's and runs on a device.
///
/// # Errors
/// `Usage` for a rate or a trace that makes no sense.
pub fn options(args: &BenchArgs, value_size: u32) -> Result<Option<DbOptions>, CliError> {
    let Some(bench) = DbBench::named(&args.workload) else { return Ok(None) };
    let db = &args.db;
    if bench == DbBench::Replay && db.input.is_none() {
        return Err(CliError::usage("there is no trace to replay", "name one with --input FILE"));
    }
    if db.duration.is_some_and(|s| !(s > 0.0 && s < 1e9)) {
        return Err(CliError::usage(
            "a duration is above 0 and below 1000000000 seconds",
            "give --duration in seconds",
        ));
    }
    if !(db.speed >= 0.0 && db.speed.is_finite()) {
        return Err(CliError::usage("a speed is 0 or more", "give --speed as a factor"));
    }
    Ok(Some(DbOptions {
        bench,
        num: args.operations,
        reads: db.reads,
        writes: db.writes,
        value_size,
        key_size: args.key_size.unwrap_or(KEY_BYTES),
        threads: args.threads,
        seek_nexts: db.seek_nexts,
        reverse_iterator: db.reverse_iterator == 1,
        batch_size: db.batch_size,
        queued: args.qd > 1,
        rate: db.rate(bench)?,
        benchmark_write_rate_limit: db.benchmark_write_rate_limit,
        duration: db.duration,
        use_existing_db: db.use_existing_db == 1,
        seed: args.seed,
        mix: db.mix.options(),
        input: db.input.clone(),
        replay: ReplayOptions { unit: db.unit(), speed: db.speed },
    }))
}
