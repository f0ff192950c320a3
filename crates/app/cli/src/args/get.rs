// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker get`.

use std::path::PathBuf;

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
The value is written as it is, with nothing added. Without such a key the exit code is 1.

Examples:
  saker get --device file:disk.img user:1
  saker get --device file:disk.img logo --output logo.png
  saker get --device file:disk.img user:1 --json";

/// Arguments of `saker get`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct GetArgs {
    /// The key
    pub key: String,
    /// Write the value to FILE
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
