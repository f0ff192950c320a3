// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker info`.

use clap::Args;

/// Arguments of `saker info`.
#[derive(Args, Debug)]
#[command(after_help = "\
Identity, flash and every namespace: what it holds, what it can hold, and what keeping it has cost. An image in use by \
another process is not opened; one that is damaged is named, and `saker check` lists the damage.

Examples:
  saker info --device file:disk.img
  saker info --device file:disk.img --json")]
pub struct InfoArgs {}
