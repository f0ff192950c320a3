//! The `saker` command line as a library: [`run`] takes arguments, streams and a [`Backend`], so that a test can
//! be the terminal and the device.
//!
//! Results go to standard output, everything else to standard error. With `--json`, standard output carries one
//! versioned document and nothing else.
#![forbid(unsafe_code)]

mod args;
mod backend;
mod commands;
mod context;
mod device_use;
mod error;
mod input;
mod key;
mod limits;
mod linked;
mod output;
mod progress;
mod records;
mod report;
mod run;
mod size;
mod store;

pub use backend::Backend;
pub use commands::bench::BenchArgs;
pub use commands::check::CheckArgs;
pub use commands::compare::{CompareArgs, TimingChoice};
pub use commands::create::CreateArgs;
pub use commands::namespaces::NamespaceChoice;
pub use commands::serve::{ServeArgs, Serving};
pub use context::Streams;
pub use error::CliError;
pub use limits::{KEY_BYTES_MAX, VALUE_BYTES_MAX};
pub use linked::Linked;
pub use report::{
    Blocks, Calibrated, CalibratedSize, CheckReport, CheckedNamespace, Comparison, CreateReport,
    CreatedNamespace, Finding, Listed, Metric, System, TimedRun,
};
pub use run::run;
pub use store::{Answer, BlockStore, ListOrder, Store};

#[cfg(test)]
mod tests;
