// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker reproduce`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use saker_lab::Settings;
use saker_lab::settings::{SettingError, Sweep, setting, sweep};

use crate::error::CliError;

/// Arguments of `saker reproduce`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Each experiment checks claims of its paper: pass, fail, or cannot_follow for a claim against the paper's own \
arithmetic. A miss stays a miss, with its measured cause. The exit code is 1 when a claim fails, or when two \
documents differ. Scale N runs with 1/N of the published operations.

Examples:
  saker reproduce list
  saker reproduce run bandslim-fig8 bandslim-fig10 --scale 64
  saker reproduce all --out report
  saker reproduce all --json > before.json
  saker reproduce run bandslim-fig8 --set profile.firmware.fetch_ns=500
  saker reproduce run bandslim-fig8 --sweep profile.host.submit_ns=500,1500,4500
  saker reproduce diff before.json after.json
  saker reproduce spread seed1.json seed2.json seed3.json")]
pub struct ReproduceArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// List the experiments
    List,
    /// Run some experiments
    Run {
        /// Their names
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
        #[command(flatten)]
        options: Options,
    },
    /// Run every experiment
    All {
        #[command(flatten)]
        options: Options,
    },
    /// Compare two results: verdicts and numbers
    Diff(DiffArgs),
    /// Show how far results with several seeds are apart, and which verdicts change
    Spread(SpreadArgs),
}

#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Run with 1/N of the published operations; otherwise each at its own scale
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub scale: Option<u32>,
    /// The seed; otherwise 1
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Replace a number of the profile, profile.KEY=VALUE (see `saker profile show`), or a setting of an engine: lsm.NAME=VALUE, hash_ftl.table_to_cache=N
    #[arg(long, value_name = "SETTING")]
    pub set: Vec<String>,
    /// Run with each of several values: profile.KEY=A,B,C; several sweeps combine
    #[arg(long, value_name = "SETTING")]
    pub sweep: Vec<String>,
    /// Write results.json, report.html with a page for each experiment, verdicts.md and the charts into DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Experiments that run at the same time
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub threads: u32,
}

impl Options {
    /// One for each combination of the sweeps' values.
    ///
    /// # Errors
    /// `Usage` for a setting that makes no sense.
    pub fn settings(&self) -> Result<Vec<Settings>, CliError> {
        let wrong = |e: SettingError| CliError::usage(e.to_string(), "see `saker reproduce --help`");
        let profile = self.set.iter().map(|text| setting(text)).collect::<Result<_, _>>().map_err(wrong)?;
        let sweeps: Vec<Sweep> =
            self.sweep.iter().map(|text| sweep(text)).collect::<Result<_, _>>().map_err(wrong)?;
        Ok(Settings { scale: self.scale, seed: self.seed, profile }.swept(&sweeps))
    }
}

/// Arguments of `saker reproduce spread`.
#[derive(Args, Clone, Debug)]
pub struct SpreadArgs {
    /// Results of the same experiments with several seeds, written with --json or --out
    #[arg(value_name = "RESULT", required = true, num_args = 2..)]
    pub results: Vec<PathBuf>,
}

/// Arguments of `saker reproduce diff`.
#[derive(Args, Clone, Debug)]
pub struct DiffArgs {
    /// The earlier document, written with --json or --out
    #[arg(value_name = "BEFORE")]
    pub before: PathBuf,
    /// The later one
    #[arg(value_name = "AFTER")]
    pub after: PathBuf,
    /// Numbers that differ by at most so many per cent count as equal; verdicts never do
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0)]
    pub tolerance: f64,
}
