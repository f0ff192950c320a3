// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker check`.

use std::path::PathBuf;

use clap::Args;

/// Arguments of `saker check`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Reads every page and record of an image and verifies checksums and sequences; changes nothing. Unfinished writes at \
the tail are what a power cut leaves and no damage; what the next writer repairs by itself is told and no damage either. \
The exit code is 1 when there is damage. Then it is told what is lost, by key where that can be known, and which commands \
save the rest: `saker dump --salvage` writes the sound pairs to a file, `saker repair` makes a sound image of them.

Examples:
  saker check disk.img
  saker check disk.img --json")]
pub struct CheckArgs {
    /// The image file
    pub image: PathBuf,
}
