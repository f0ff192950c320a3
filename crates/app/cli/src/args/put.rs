// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker put`.

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
Values are written like keys and have at most 2 MiB. The value is on the device, flushed, when the command ends.

Examples:
  saker put --device file:disk.img user:1 Ada
  saker put --device file:disk.img hex:00ff base64:AP8=
  saker put --device file:disk.img logo @logo.png
  date | saker put --device file:disk.img now -
  saker put --device file:disk.img mail str:@ada";

/// Arguments of `saker put`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct PutArgs {
    /// The key
    pub key: String,
    /// The value; - is standard input, @FILE a file
    #[arg(allow_negative_numbers = true)]
    pub value: String,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
