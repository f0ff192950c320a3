// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker profile`.

use clap::{Args, Subcommand};

/// Arguments of `saker profile`.
#[derive(Args, Debug)]
#[command(after_help = "\
Every number of a profile has a source: paper, public, measured, fitted, default, or override.

Examples:
  saker profile list
  saker profile show saker-mid
  saker profile show saker-mid --toml > mine.toml
  saker profile show mine.toml --json
  saker profile calibrate cosmos-plus --passthrough")]
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
}
