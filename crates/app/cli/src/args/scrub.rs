// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker scrub`.

use clap::Args;

use crate::size;

/// Arguments of `saker scrub`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Reads all there is and verifies every checksum; changes nothing. Of an image (file:) it reads all pages from the file, also \
while `saker serve` has it open. Of a device on the network it reads all pairs and blocks, which the device checks. What is \
damaged is listed on standard error (or in the document of --json), and the exit code is 1 if something is. A target scrubs \
its images by itself with `saker serve --scrub RATE`.

Examples:
  saker scrub file:disk.img
  saker scrub file:disk.img --rate 50MiB
  saker scrub tcp://127.0.0.1:4420 --rate 10MiB")]
pub struct ScrubArgs {
    /// The device, such as file:disk.img or tcp://HOST:PORT/NQN
    pub url: String,
    /// Bytes a second at most, such as 50MiB
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub rate: Option<u64>,
}
