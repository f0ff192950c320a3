// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker restore`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `saker restore`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Writes what a backup has to the namespaces of a device that have the same numbers. All files are read and verified before \
anything is written. Namespaces that are not empty are refused; --replace erases them first. If the device fails on the way, \
such as when it is too small, it has a part of the backup, and the error says how much.

Examples:
  saker create new.img --size 1GiB
  saker restore full.bak file:new.img
  saker restore full.bak tcp://127.0.0.1:4420 --then monday.bak --then tuesday.bak
  saker restore full.bak 'file:new.img?nsid=1' --namespace 2
  saker restore full.bak --check")]
pub struct RestoreArgs {
    /// The full backup
    pub file: PathBuf,
    /// The device
    #[arg(required_unless_present = "check")]
    pub url: Option<String>,
    /// A backup that goes on from the one before; may be given several times, in order
    #[arg(long, value_name = "FILE")]
    pub then: Vec<PathBuf>,
    /// Erase what is there first
    #[arg(long)]
    pub replace: bool,
    /// Only this namespace of the backup
    #[arg(long, value_name = "N")]
    pub namespace: Option<u32>,
    /// Only verify the files, and tell what is in them
    #[arg(long, conflicts_with_all = ["url", "replace", "namespace"])]
    pub check: bool,
}
