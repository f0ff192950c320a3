// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker set`.

use clap::Args;

/// Arguments of `saker set`.
#[derive(Args, Debug)]
#[command(after_help = "\
Settings are the engine's: `saker info` shows each with its value and kind. Those of kind live can be changed while the \
device is open, for as long as it is: all its hosts have the new value, and nothing that is stored changes. A device of \
this command alone (mem:, file:) would forget it at once, so that it is refused: put it in the URL there.

Examples:
  saker set level0_slowdown_writes_trigger=8 slowdown=on --device tcp://127.0.0.1:4420
  saker set cache_bytes=64MiB --device /dev/ng0n1")]
pub struct SetArgs {
    /// What to change, such as cache_bytes=64MiB; each is carried out before the next
    #[arg(value_name = "NAME=VALUE", required = true)]
    pub settings: Vec<String>,
}
