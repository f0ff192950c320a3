// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker profile`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand};

/// Arguments of `saker profile`.
#[derive(Args, Debug)]
#[command(after_help = "\
Every number of a profile has a source: paper, public, measured, fitted, default, or override.

Examples:
  saker profile list
  saker profile show saker-mid
  saker profile show saker-mid --toml > mine.toml
  saker profile show mine.toml --json
  saker profile calibrate cosmos-plus --passthrough
  saker profile fit saker-mid --points mine.csv --free link.latency_ns=0..5000 --save mine.toml
  saker profile fit cosmos-plus --figure bandslim-fig8")]
pub struct ProfileArgs {
    #[command(subcommand)]
    pub action: Action,
}

#[derive(Debug, Subcommand)]
pub enum Action {
    /// List the profiles that are built in
    List,
    /// Show the numbers of a profile and where they come from
    Show {
        /// A built-in profile, or a file of one (with a / or .toml in its name)
        name: String,
        /// As TOML, to be changed and used as a file
        #[arg(long, conflicts_with = "json")]
        toml: bool,
    },
    /// Measure the methods of transfer on a profile from 4 B to 8 KiB, in virtual time, and find BandSlim's thresholds
    Calibrate {
        /// A built-in profile, or a file of one (with a / or .toml in its name)
        name: String,
        /// One command at a time, each awaited, as NVMe passthrough
        #[arg(long)]
        passthrough: bool,
    },
    /// Choose numbers of a profile so that it meets measured times of stores, and predict times that were held back
    Fit(FitArgs),
}

/// Arguments of `saker profile fit`.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("measured").required(true).args(["points", "figure"]))]
pub struct FitArgs {
    /// A built-in profile, or a file of one (with a / or .toml in its name)
    pub name: String,
    /// A CSV file: a line `method,bytes,value`, then a line for each store: how its value went, its size, its microseconds. Columns that may be
    /// added: over (a method: the value is a ratio to its time) and role (fit, or held: predicted, and no part of the fit)
    #[arg(long, value_name = "FILE", requires = "free")]
    pub points: Option<PathBuf>,
    /// A published figure, with its own numbers and points: bandslim-fig8
    #[arg(long, value_name = "NAME", conflicts_with_all = ["free", "passthrough"])]
    pub figure: Option<String>,
    /// A number that may be chosen and its bounds, PATH=LEAST..MOST (see `saker profile show`); once for each
    #[arg(long, value_name = "NUMBER")]
    pub free: Vec<String>,
    /// One command at a time, each awaited, as NVMe passthrough
    #[arg(long)]
    pub passthrough: bool,
    /// Write the profile with the fitted numbers, marked as such, into a new file
    #[arg(long, value_name = "FILE")]
    pub save: Option<PathBuf>,
}
