// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker grow`.

use std::path::PathBuf;

use clap::Args;

use crate::size;

/// Arguments of `saker grow`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Makes an image larger. Its pairs and blocks are copied to a larger image beside it (IMAGE.part), which then takes its name in \
one step: if that is interrupted, at whatever moment, there is one whole image, the old or the new one. Until then the file \
system needs room for both. Identity, engine, settings and key order stay. An image that is in use is refused, and so is \
a smaller size.

Examples:
  saker grow disk.img --size 2GiB
  saker grow both.img --size 2GiB --namespace 1")]
pub struct GrowArgs {
    /// The image
    pub image: PathBuf,
    /// Bytes of flash that it is to have, rounded down to whole superblocks
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub size: u64,
    /// The namespace that gets what is new; the only one if not given
    #[arg(long, value_name = "N")]
    pub namespace: Option<u32>,
}
