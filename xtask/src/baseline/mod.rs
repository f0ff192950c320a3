// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cargo xtask baseline BINARY`: what a `saker` binary does, in digests, so that two binaries can be compared. A change of code
//! that is to change nothing is checked against the baseline of the commit before it.
//!
//! Four groups: the experiments of `reproduce all`; benches in virtual time, with the histories of `bench history`; image files;
//! and histories that are cut. A binary that has no `bench history` is compared in the rest.

mod benches;
mod histories;
mod images;
mod program;
mod record;
mod reproduce;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::Fault;
use crate::workspace::Workspace;
use program::Program;
use record::Record;

/// Arguments of `cargo xtask baseline`.
#[derive(Args)]
pub struct BaselineArgs {
    /// The binary, of any commit
    binary: PathBuf,
    /// Write the digests to FILE; without it and --against they go to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Compare with the digests in FILE; the exit code is 1 if any differ
    #[arg(long, value_name = "FILE")]
    against: Option<PathBuf>,
    /// Only this group; may be given several times
    #[arg(long, value_name = "GROUP")]
    only: Vec<Group>,
    /// Seeds of each bench, history and image; a difference in their number is one in the digests
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: u64,
    /// Places at which a history is cut, with and without a capacitor each
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=1000))]
    cuts: u64,
}

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Group {
    /// All experiments.
    Reproduce,
    /// Plain benches and comparisons in virtual time, which older binaries have too.
    Bench,
    /// Histories of every engine on every side.
    History,
    /// Image files.
    Images,
    /// Histories that are cut.
    Cuts,
}

impl Group {
    const ALL: [Self; 5] = [Self::Images, Self::Bench, Self::History, Self::Cuts, Self::Reproduce];

    /// What the names of its entries begin with.
    const fn name(self) -> &'static str {
        match self {
            Self::Reproduce => "reproduce",
            Self::Bench => "bench",
            Self::History => "history",
            Self::Images => "images",
            Self::Cuts => "cuts",
        }
    }
}

/// Takes the baseline of a binary, writes it and compares it; true if nothing differs.
///
/// # Errors
/// When the binary cannot be run or fails, a counter stands still or is unknown, or a file cannot be read or written.
pub fn run(workspace: &Workspace, args: &BaselineArgs) -> Result<bool, Fault> {
    // A comparison that cannot be made is no reason to run for minutes.
    let before = args.against.as_ref().map(|path| Record::read(path)).transpose()?;
    let program = Program::at(&args.binary)?;
    let groups: BTreeSet<Group> =
        if args.only.is_empty() { Group::ALL.into() } else { args.only.iter().copied().collect() };
    let mut record = Record::default();
    for group in Group::ALL.into_iter().filter(|group| groups.contains(group)) {
        let entries = record.entries.len();
        match group {
            Group::Reproduce => reproduce::take(&program, &mut record)?,
            Group::Bench => benches::take(&program, args.seeds, &mut record)?,
            Group::History => histories::take(&program, args.seeds, &mut record)?,
            Group::Images => images::take(workspace, &program, args.seeds, &mut record)?,
            Group::Cuts => histories::take_cuts(&program, args.cuts, &mut record)?,
        }
        eprintln!("{}: {} entries", group.name(), record.entries.len() - entries);
    }
    record.not_offered.iter().for_each(|name| eprintln!("{name}: not offered by this binary"));
    match &args.out {
        Some(path) => fs::write(path, record.text()?)?,
        None if before.is_none() => print!("{}", record.text()?),
        None => {}
    }
    Ok(before.is_none_or(|before| is_same(&before, &record, &groups)))
}

/// Prints what differs.
fn is_same(before: &Record, now: &Record, groups: &BTreeSet<Group>) -> bool {
    let names: BTreeSet<&str> = groups.iter().map(|group| group.name()).collect();
    let found = record::compare(before, now, &names);
    found.differences.iter().for_each(|difference| println!("{difference}"));
    println!(
        "{} same, {} differ, {} not offered by one of the binaries and not compared",
        found.same,
        found.differences.len(),
        found.not_offered
    );
    found.differences.is_empty()
}
