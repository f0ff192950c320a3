// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Histories of transactions, and what is wrong with them.
//!
//! Clients append elements to lists and read lists ("list-append", as Jepsen's Elle has it). An element is appended once, so whoever reads
//! a list learns the order of all writes of its key, and the dependencies between transactions follow: who overwrote whom, who
//! read whose write, who read what another one then overwrote. A cycle of dependencies is an anomaly (A. Adya,
//! "Weak Consistency", 1999). With an edge from each transaction to those that began after its end, a history without cycles is
//! strictly serializable. The crate `adya` looks for the cycles.
//!
//! A store that keeps a list in one pair is told by [`Attempt`] what to read and what to write.
#![forbid(unsafe_code)]

mod attempt;
mod plan;
mod recorder;
#[cfg(test)]
mod tests;

pub use attempt::{Attempt, parsed, written};
pub use plan::{Plan, Plans, Step};
pub use recorder::Recorder;
