// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every page of a report is given, and words that all pages have.

use crate::report::{Experiment, Verdict};
use std::time::Duration;

/// What a report says of the program that made it, and of where and when.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// Version of the program.
    pub version: String,
    /// The commit, if it is known.
    pub commit: Option<String>,
    /// Day and time.
    pub date: String,
    /// Processor, cores and memory.
    pub machine: String,
    /// What was typed.
    pub command: String,
}

/// An experiment that was run, and what a report says beside its results.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The results.
    pub experiment: &'a Experiment,
    /// Time by the clock, if it is known.
    pub took: Option<Duration>,
    /// What was changed for it, path and value.
    pub changed: &'a [(String, String)],
}

/// The name of the first page.
pub const FIRST: &str = "report.html";

/// A verdict in words.
pub const fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::CannotFollow => "cannot follow",
        other => other.name(),
    }
}

/// A time by the clock.
pub fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        short if short < 10.0 => format!("{short:.2} s"),
        long => format!("{long:.0} s"),
    }
}
