// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker top`.

use clap::Args;

/// Arguments of `saker top`.
#[derive(Args, Debug)]
#[command(after_help = "\
Rates, latencies, queues, write amplification, stalls and capacity of a device that others use, by its log page C3h. On a terminal \
it draws; q or Escape ends it. Elsewhere it writes a line for each look, with --json a document. An image that another process \
has open cannot be looked at but through that process: serve it.

Examples:
  saker top tcp://127.0.0.1:4420
  saker top /dev/ng0n1 --interval 5
  saker top tcp://127.0.0.1:4420 --count 10 --json")]
pub struct TopArgs {
    /// The device; otherwise --device or the variable SAKER_DEVICE
    #[arg(value_name = "URL")]
    pub url: Option<String>,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    pub interval: f64,
    /// Looks before it ends; 0: it goes on
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub count: u64,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds: &f64| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| "write 0.05 to 3600".into())
}
