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

With --host-id and --number it is carried out once, however often it is sent: who has not seen the answer, or was restarted, sends it again. The device
remembers the last 4096 numbers of a host. A number belongs to one transaction, and later ones have larger numbers.

Examples:
  saker txn --device file:disk.img move.txt
  saker txn --device tcp://127.0.0.1:4420 --host-id hex:5f0c2d9be1a7446a8c3b90d2e4f61753 --number 17 move.txt
  saker txn --device tcp://127.0.0.1:4420 --host-id hex:5f0c2d9be1a7446a8c3b90d2e4f61753 --number 17 --outcome
  printf 'require stock value 3\\nput stock 2\\nput order:1 shoes\\n' | saker txn --device file:disk.img -";

/// Arguments of `saker txn`.
#[derive(Args, Debug)]
#[command(after_help = help())]
pub struct TxnArgs {
    /// The script; - is standard input
    #[arg(required_unless_present = "outcome")]
    pub script: Option<std::path::PathBuf>,
    /// 16 bytes that no other host has, written like a key: carry it out once
    #[arg(long, value_name = "ID", requires = "number")]
    pub host_id: Option<String>,
    /// The transaction's number among those of the host
    #[arg(long, value_name = "N", requires = "host_id")]
    pub number: Option<u64>,
    /// Run nothing: tell whether it was carried out (done, not done, open)
    #[arg(long, requires = "host_id", conflicts_with = "script")]
    pub outcome: bool,
}

fn help() -> String {
    format!("{KEY_HELP}\n{EXAMPLES}")
}
