// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The project's own checker, run as `cargo xtask CMD`.
//!
//! `check` is the developer's command: formatting, layers, text rules, lints, tests, documentation and benches, with
//! every failure listed at the end. `soak` is the same machinery at full counts. Tests read the tier from the
//! environment variable `SAKER_TIER` (`check` or `soak`) and scale their counts by it.

#![forbid(unsafe_code)]

mod baseline;
mod finding;
mod layers;
mod modules;
mod packages;
mod peers;
mod rocksdb;
mod rust;
mod soak;
mod steps;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use workspace::Workspace;

/// A failure of the checker itself, as opposed to a finding about the code.
type Fault = Box<dyn std::error::Error>;

/// Project chores.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check at reduced test counts and list all failures at the end.
    Check,
    /// Run every check at full test counts, in release, with loom; write docs/soak-last.md.
    Soak {
        /// Run only the steps whose names contain one of these; the others keep what they last said.
        steps: Vec<String>,
    },
    /// Compare the crates' dependencies with xtask/layers.toml.
    Layers,
    /// Look for circles of imports inside crates, and compare them with xtask/modules.toml.
    Modules,
    /// Apply the text rules of xtask/tidy.toml to all tracked files.
    Tidy,
    /// Look whether crates could be published, and whether every file has a licence.
    Packages {
        /// Add the line with the licence to files of code that have none.
        #[arg(long)]
        fix: bool,
    },
    /// Build the command as a static program and as a Debian package, with manual pages and completions.
    Package(packages::PackageArgs),
    /// Take digests of what a `saker` binary does, and compare them with those of another one.
    Baseline(baseline::BaselineArgs),
    /// Compare our LSM engine with RocksDB: installs libclang if it is missing, builds RocksDB (10 to 20 minutes), runs.
    #[command(disable_help_flag = true)]
    Rocksdb {
        /// What the comparison is told: `cargo xtask rocksdb --help` lists it.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Compare our engines with LMDB, redb, fjall, bare tables, and RocksDB where `cargo xtask rocksdb` has built it.
    #[command(disable_help_flag = true)]
    Peers {
        /// What the comparison is told: `cargo xtask peers --help` lists it.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("error: {fault}");
            println!("0 passed, 1 failed");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; true when nothing failed.
fn run(command: Command) -> Result<bool, Fault> {
    let workspace = Workspace::discover()?;
    match command {
        Command::Check => steps::check(&workspace),
        Command::Soak { steps } => soak::soak(&workspace, &steps),
        Command::Layers => Ok(finding::report(&layers::check(&workspace)?)),
        Command::Modules => Ok(finding::report(&modules::check(&workspace)?)),
        Command::Tidy => Ok(finding::report(&tidy::check(&workspace)?)),
        Command::Packages { fix } => {
            if fix {
                println!("{} files have their licence now", packages::fix(&workspace)?);
            }
            Ok(finding::report(&packages::check(&workspace)?))
        }
        Command::Package(args) => packages::package(&workspace, &args),
        Command::Baseline(args) => baseline::run(&workspace, &args),
        Command::Rocksdb { args } => rocksdb::run(&workspace, &args),
        Command::Peers { args } => peers::run(&workspace, &args),
    }
}
