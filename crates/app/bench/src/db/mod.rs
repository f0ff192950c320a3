// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmarks of RocksDB's db_bench, by its names and parameters, and replay of traces, on the device of a URL.
//!
//! Threads share one device handle, which they take in turn: what a thread waits for its turn is in its latencies. With a
//! rate, an operation's latency counts from when it was meant to begin, whatever kept it from that (no coordinated omission).

mod csv;
mod jobs;
mod mixgraph;
mod pace;
mod replay;
mod runner;

use crate::{BenchReport, add_redirection, stalls_of};
use jobs::{Job, Picks};
use saker::Kv;
use saker_lab::error::LabError;
use saker_lab::report::Point;
use serde_json::json;
use std::path::PathBuf;

pub use mixgraph::MixOptions;
pub use pace::{Rate, Sine};
pub use replay::{ReplayOptions, TimeUnit};

/// A benchmark by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DbBench {
    /// New keys in ascending order.
    FillSeq,
    /// Every key once, in random order.
    FillRandom,
    /// Random keys of a filled store get new values.
    Overwrite,
    /// Random keys are read.
    ReadRandom,
    /// The same while one more thread overwrites.
    ReadWhileWriting,
    /// An iterator goes to a random key and over `seek_nexts` pairs.
    SeekRandom,
    /// Gets, puts and seeks after a model of production (Cao et al., FAST'20).
    MixGraph,
    /// A trace from a file.
    Replay,
}

impl DbBench {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::FillSeq,
        Self::FillRandom,
        Self::Overwrite,
        Self::ReadRandom,
        Self::ReadWhileWriting,
        Self::SeekRandom,
        Self::MixGraph,
        Self::Replay,
    ];

    /// The name it is asked for by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FillSeq => "fillseq",
            Self::FillRandom => "fillrandom",
            Self::Overwrite => "overwrite",
            Self::ReadRandom => "readrandom",
            Self::ReadWhileWriting => "readwhilewriting",
            Self::SeekRandom => "seekrandom",
            Self::MixGraph => "mixgraph",
            Self::Replay => "replay",
        }
    }

    /// The benchmark of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|bench| bench.name().eq_ignore_ascii_case(name))
    }

    /// Whether `num` pairs of the one value size are there at the end.
    pub const fn stores_num(self) -> bool {
        !matches!(self, Self::Replay | Self::MixGraph)
    }

    const fn is_fill(self) -> bool {
        matches!(self, Self::FillSeq | Self::FillRandom)
    }

    const fn needs_preload(self) -> bool {
        !self.is_fill() && !matches!(self, Self::Replay)
    }

    const fn only_writes(self) -> bool {
        self.is_fill() || matches!(self, Self::Overwrite)
    }
}

/// Parameters, named as db_bench names them.
#[derive(Clone, Debug)]
pub struct DbOptions {
    /// The benchmark.
    pub bench: DbBench,
    /// Keys of the store.
    pub num: u64,
    /// Reads of each thread; `num` of them unless told.
    pub reads: Option<u64>,
    /// Writes of each thread; `num` of them unless told.
    pub writes: Option<u64>,
    /// Bytes of a value.
    pub value_size: u32,
    /// Bytes of a key.
    pub key_size: usize,
    /// Threads.
    pub threads: u32,
    /// Pairs behind the one that a seek goes to.
    pub seek_nexts: u32,
    /// Those before it, in falling order.
    pub reverse_iterator: bool,
    /// Writes of a batch.
    pub batch_size: u32,
    /// Writes are queued up to the device's depth, and awaited together.
    pub queued: bool,
    /// Operations per second of all threads together; else each waits for the one before.
    pub rate: Option<Rate>,
    /// Bytes per second of the writer of readwhilewriting.
    pub benchmark_write_rate_limit: u64,
    /// Seconds after which it ends.
    pub duration: Option<f64>,
    /// The store is filled already.
    pub use_existing_db: bool,
    /// The seed.
    pub seed: u64,
    /// Of mixgraph.
    pub mix: MixOptions,
    /// Of replay: the trace.
    pub input: Option<PathBuf>,
    /// Of replay.
    pub replay: ReplayOptions,
}

/// Runs a benchmark on an open device.
///
/// # Errors
/// [`LabError`]: the device's, those of parameters that make no sense, and of traces.
pub fn db_on_url(kv: Kv, url: &str, options: &DbOptions) -> Result<(Kv, BenchReport), LabError> {
    let mut kv = kv;
    let picks = Picks::new(options)?;
    if options.bench.needs_preload() && !options.use_existing_db {
        runner::run(&mut kv, options, vec![picks.preload()], None, true)?;
    }
    let threads = u64::from(options.threads.max(1));
    let jobs = (0..threads).map(|n| job(options, &picks, n)).collect::<Result<Vec<_>, _>>()?;
    let beside = (options.bench == DbBench::ReadWhileWriting).then(|| picks.writer(options));
    let before = stalls_of(&mut kv)?;
    let measured = runner::run(&mut kv, options, jobs, beside, false)?;
    let stalls = stalls_of(&mut kv)?.since(&before);
    let mut point = Point::at([
        ("workload", json!(options.bench.name())),
        ("device", json!(url)),
        ("threads", json!(options.threads)),
    ]);
    measured.add_to(&mut point, options);
    point.add_stalls(&stalls);
    add_redirection(&mut point, &mut kv)?;
    Ok((kv, BenchReport { point, traces: Vec::new(), lines: Vec::new() }))
}

fn job(options: &DbOptions, picks: &Picks, thread: u64) -> Result<Box<dyn Job>, LabError> {
    let (reads, writes) = (options.reads.unwrap_or(options.num), options.writes.unwrap_or(options.num));
    Ok(match options.bench {
        DbBench::FillSeq => picks.fill(thread, writes, false),
        DbBench::FillRandom => picks.fill(thread, writes, true),
        DbBench::Overwrite => picks.random(thread, writes, jobs::Act::Put),
        DbBench::ReadRandom | DbBench::ReadWhileWriting => picks.random(thread, reads, jobs::Act::Get),
        DbBench::SeekRandom => {
            let sought = jobs::Sought { pairs: options.seek_nexts, backwards: options.reverse_iterator };
            picks.random(thread, reads, jobs::Act::Seek(sought))
        }
        DbBench::MixGraph => Box::new(mixgraph::MixGraph::new(options, picks.clone(), thread, reads)?),
        DbBench::Replay => {
            let path =
                options.input.as_deref().ok_or_else(|| LabError::Trace("there is no --input".into()))?;
            Box::new(replay::Replay::open(path, &options.replay, thread, u64::from(options.threads.max(1)))?)
        }
    })
}

#[cfg(test)]
mod tests;
