// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The joined host and device against a model: any command, any fault, power cut at any event.
//!
//! Counts grow with the environment variable `SAKER_TIER`: `check` (the default) or `soak`.

mod block_commands;
mod blocks;
mod cells;
mod commands;
mod cycles;
mod determinism;
mod faults;
mod format;
mod full;
mod groups;
mod history;
mod lists;
mod load;
mod memory;
mod oracle;
mod pairs;
mod planted;
mod power;
mod resets;
mod rig;
mod silent;
mod transactions;

use saker_testing::tier;
