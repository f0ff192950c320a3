// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker conform`.

use clap::Args;

/// Arguments of `saker conform`.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
A verdict for each clause of the Key Value Command Set Specification: pass, FAIL, open where the specification leaves a \
choice, skipped where it cannot be examined. The exit code is 1 when a clause fails. Pairs are stored and deleted under \
keys that are free; other pairs are left alone.

Examples:
  saker conform mem:
  saker conform tcp://127.0.0.1:4420/NQN --json
  saker conform /dev/ng0n1")]
pub struct ConformArgs {
    /// The device; otherwise --device or SAKER_DEVICE
    #[arg(value_name = "URL")]
    pub url: Option<String>,
}
