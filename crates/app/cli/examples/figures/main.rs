// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The platform's figures on this machine, each with its limit: what `docs/figures.md` quotes.
//!
//! ```text
//! cargo run --release -p saker-cli --example figures -- NAME...
//! ```
//!
//! Names: `virtual`, `virtual-lsm`, `media`, `overhead`, `sparse`, `dump`, `load`. Files go to the directory for temporary files
//! (`TMPDIR`). Run it while nothing else runs.

mod child;
mod dump;
mod load;
mod media;
mod overhead;
mod pairs;
mod sparse;
mod virtual_lsm;
mod virtual_time;

use std::error::Error;
use std::process::ExitCode;

/// What a figure can fail with.
type Outcome = Result<(), Box<dyn Error>>;

type Figure = (&'static str, fn() -> Outcome);

const NAMES: [Figure; 7] = [
    ("virtual", virtual_time::run),
    ("virtual-lsm", virtual_lsm::run),
    ("media", media::run),
    ("overhead", overhead::run),
    ("sparse", sparse::run),
    ("dump", dump::run),
    ("load", load::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == child::MARK) {
        return ExitCode::from(child::saker(&arguments[1..]));
    }
    saker::use_huge_pages();
    match figures(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn figures(arguments: &[String]) -> Outcome {
    if arguments.is_empty() || arguments.iter().any(|a| NAMES.iter().all(|(name, _)| name != a)) {
        let names: Vec<_> = NAMES.iter().map(|(name, _)| *name).collect();
        return Err(format!("name one or more of: {}", names.join(" ")).into());
    }
    let wanted = |name: &str| arguments.iter().any(|a| a == name);
    NAMES.iter().filter(|(name, _)| wanted(name)).try_for_each(|(_, figure)| figure())
}

/// A verdict on a measured number.
fn verdict(holds: bool) -> &'static str {
    if holds { "holds" } else { "MISSED" }
}
