// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The `saker` command line as a library: [`run`] takes arguments and streams, so that a test can be the terminal; [`run_on`]
//! takes the device, too.
//!
//! Results go to standard output, everything else to standard error. With `--json`, standard output carries one
//! versioned document and nothing else.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod context;
mod counted;
mod device_use;
mod error;
mod exit;
mod input;
mod key;
mod limits;
mod linked;
mod output;
mod program;
mod progress;
mod records;
mod report;
mod run;
mod size;
mod store;
mod time_line;
mod top;

pub use context::Streams;
pub use error::CliError;
pub use program::main;
pub use run::{run, run_on};
pub use store::{Answer, ListOrder, OpenStore, Store};

/// The command line as its parser knows it, for manual pages and completions.
#[cfg(feature = "pages")]
pub fn command() -> clap::Command {
    <args::Cli as clap::CommandFactory>::command()
}

#[cfg(test)]
mod tests;
