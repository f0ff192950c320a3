// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker exists`.

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
Prints yes or no; the exit code is 0 for yes and 1 for no.

Examples:
  saker exists --device file:disk.img user:1
  saker exists --device file:disk.img user:1 >/dev/null && echo there";

/// Arguments of `saker exists`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct ExistsArgs {
    /// The key
    pub key: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
