// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker txn`.

use clap::Args;

use super::KEY_HELP;

const EXAMPLES: &str = "\
A script has one operation a line; empty lines and lines that begin with # say nothing:
  get KEY                    read a pair, which must not change until the end
  put KEY VALUE              store a pair; the value is the rest of the line, written like a key
  delete KEY                 remove a pair, if it is there
  require KEY absent         there is no such pair
  require KEY present        there is one
  require KEY value VALUE    it has that value

All of it is done, flushed, or nothing: then the exit code is 1, and the error names the key. While others change what it
reads it runs again. What was read is written like the records of `saker dump`.

Examples:
  saker txn --device file:disk.img move.txt
  printf 'require stock value 3\\nput stock 2\\nput order:1 shoes\\n' | saker txn --device file:disk.img -";

/// Arguments of `saker txn`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct TxnArgs {
    /// The script; - is standard input
    pub script: std::path::PathBuf,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
