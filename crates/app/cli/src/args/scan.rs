// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker scan`.

use std::time::Duration;

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
Keys and values, one record a line with a tab between; bytes that cannot be shown are written \
\\t \\n \\r \\\\ \\0 \\xNN. FROM and TO are compared by bytes on every engine. The lsm and tree engines read the range in \
the device, as of one moment, and print in that order (keys of more than 16 bytes come last); the hash engines go through all keys and print in \
their own order.

Examples:
  saker scan --device file:disk.img
  saker scan --device file:disk.img user:1 user:9 --limit 100
  saker scan --device 'file:ordered.img' --prefix user: --from user:1 --to user:9
  saker scan --device 'file:ordered.img' --reverse --limit 10 --timeout 2
  saker scan --device file:disk.img --json user:1";

/// Arguments of `saker scan`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct ScanArgs {
    /// The least key
    pub from: Option<String>,
    /// The key to stop before
    pub to: Option<String>,
    /// The least key
    #[arg(long = "from", value_name = "KEY", conflicts_with_all = ["from", "to"])]
    pub from_key: Option<String>,
    /// The key to stop before
    #[arg(long = "to", value_name = "KEY", conflicts_with = "to")]
    pub to_key: Option<String>,
    /// Only keys that begin with P
    #[arg(long, value_name = "P", default_value = "", hide_default_value = true)]
    pub prefix: String,
    /// At most N records
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<u64>,
    /// The greatest key first: of the lsm and tree engines
    #[arg(long)]
    pub reverse: bool,
    /// End after S seconds, with an error that says how far it came
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub timeout: Option<Duration>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    seconds.filter(|time| !time.is_zero()).ok_or_else(|| "write seconds above 0, such as 2 or 0.5".to_owned())
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
