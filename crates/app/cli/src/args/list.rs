// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker list`.

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
One key a line, in the device's list order: by bytes for the tree and lsm engines, by hash for the hash engines. \
Bytes that cannot be shown are written \\t \\n \\r \\\\ \\0 \\xNN. FROM is a place in that order: give the last key \
of one page to begin the next page with it. --sort holds the keys it prints in memory.

Examples:
  saker list --device file:disk.img
  saker list --device file:disk.img --prefix user: --sort --limit 100
  saker list --device file:disk.img --json user:1";

/// Arguments of `saker list`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct ListArgs {
    /// Begin at this key, or where it would be
    pub from: Option<String>,
    /// At most N keys; with --sort, the least ones
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<u64>,
    /// Sort by bytes
    #[arg(long)]
    pub sort: bool,
    /// Only keys that begin with P
    #[arg(long, value_name = "P", default_value = "", hide_default_value = true)]
    pub prefix: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
