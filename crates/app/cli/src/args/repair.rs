// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker repair`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `saker repair`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Makes a new image of the pairs and blocks of OLD that are sound. OLD is only read, and NEW must not exist. NEW has the size, \
the engine, the settings, the namespaces and the identity of OLD, whose place it is to take: hosts take both for one device, \
so do not serve both at once. What is lost is listed on standard error (or in the document of --json), and the exit code is \
1 if something is.

Examples:
  saker check disk.img
  saker repair disk.img repaired.img
  saker check repaired.img")]
pub struct RepairArgs {
    /// The damaged image; nothing of it changes
    pub old: PathBuf,
    /// The image to make
    pub new: PathBuf,
}
