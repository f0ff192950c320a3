// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker delete`.

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
The key is gone from the device, flushed, when the command ends. Without such a key the exit code is 1.

Examples:
  saker delete --device file:disk.img user:1
  saker delete --device file:disk.img hex:00ff";

/// Arguments of `saker delete`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct DeleteArgs {
    /// The key
    pub key: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
