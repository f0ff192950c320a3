// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker backup`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `saker backup`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Writes all pairs and blocks of a device to a new file, or those of the namespace that the URL names. Each namespace is as of one \
moment: an image is locked while it is read; over the network engines that have snapshots (lsm, tree) show one, whatever is \
written meanwhile. Other engines and blocks show none: there the copy is refused, unless --per-key says that each pair or \
block by itself will do.

With --since only what has changed is written. Give the full backup and all that were made since, in order. FILE has its \
name when it is complete.

Examples:
  saker backup file:disk.img full.bak
  saker backup tcp://127.0.0.1:4420 full.bak
  saker backup tcp://127.0.0.1:4420 monday.bak --since full.bak
  saker backup tcp://127.0.0.1:4420 tuesday.bak --since full.bak --since monday.bak")]
pub struct BackupArgs {
    /// The device, such as file:disk.img or tcp://HOST:PORT/NQN
    pub url: String,
    /// The file to make
    pub file: PathBuf,
    /// Write only what has changed since this backup; may be given several times, the full one first
    #[arg(long, value_name = "FILE")]
    pub since: Vec<PathBuf>,
    /// Where a namespace shows no one moment: each pair or block as it is when it is read
    #[arg(long)]
    pub per_key: bool,
}
