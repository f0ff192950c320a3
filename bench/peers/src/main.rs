// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Our engines beside what users would pick instead, and beside bare tables: the same keys, values and order of operations for all, on one
//! thread of one process.
//!
//! `cargo xtask peers [OPTIONS]` builds and runs it. Rounds alternate between the stores, because shared machines change their speed from one
//! second to the next; medians are told. Each store is filled before the first round, so first touches of memory are outside the clock.

mod files;
#[cfg(feature = "others")]
mod fjall_store;
#[cfg(feature = "others")]
mod lmdb;
mod ours;
mod peer;
#[cfg(feature = "others")]
mod redb_store;
mod report;
#[cfg(feature = "rocksdb")]
mod rocks;
mod rows;
mod tables;
mod work;

use clap::Parser;
use peer::{Outcome, Peer};
use report::Measured;
use rows::Row;
use std::path::PathBuf;
use std::process::ExitCode;
use work::{COLUMNS, Shape};

/// Our engines beside what users would pick instead, on this machine.
#[derive(Parser)]
struct Cli {
    /// Pairs that are stored.
    #[arg(long, default_value_t = 200_000)]
    pairs: u64,
    /// Bytes of a value: 16, 100 or 1024.
    #[arg(long, default_value_t = 100)]
    value_size: usize,
    /// Operations of a column in a round; 0: as many as pairs.
    #[arg(long, default_value_t = 0)]
    operations: u64,
    /// Pairs of a scan.
    #[arg(long, default_value_t = 100)]
    scan_pairs: usize,
    /// Rounds, of which medians are taken.
    #[arg(long, default_value_t = 5)]
    rounds: u64,
    /// Rows whose names contain one of these; all without it.
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Where the others' files lie: a tmpfs.
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// One JSON document instead of the table.
    #[arg(long)]
    json: bool,
    /// Writes the table between the marks of this page, too.
    #[arg(long)]
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Outcome {
    let operations = if cli.operations == 0 { cli.pairs } else { cli.operations };
    let (pairs, value_bytes) = (cli.pairs.max(1), cli.value_size);
    let shape = Shape { pairs, value_bytes, operations, scan_pairs: cli.scan_pairs.max(1) };
    let folder = tempfile::tempdir_in(&cli.dir)?;
    let is_wanted = |row: &&Row| cli.rows.is_empty() || cli.rows.iter().any(|part| row.name.contains(part));
    let mut open: Vec<(Box<dyn Peer>, Measured)> = Vec::new();
    for row in rows::ALL.iter().filter(is_wanted) {
        eprintln!("filling {}", row.name);
        let before = files::resident();
        let mut peer = row.open(shape, folder.path())?;
        shape.fill(peer.as_mut())?;
        let memory = files::resident().saturating_sub(before);
        open.push((peer, Measured { row: *row, rounds: Vec::new(), disk: None, memory }));
    }
    if open.is_empty() {
        return Err("no row has such a name: leave --rows out to have all".into());
    }
    for round in 1..=cli.rounds {
        eprintln!("round {round} of {}", cli.rounds);
        for (peer, measured) in &mut open {
            measured.rounds.push(shape.round(peer.as_mut(), round)?);
        }
    }
    for (peer, measured) in &mut open {
        measured.disk = peer.file_bytes()?;
    }
    let measured: Vec<Measured> = open.into_iter().map(|(_, measured)| measured).collect();
    tell(cli, shape, &measured)
}

fn tell(cli: &Cli, shape: Shape, measured: &[Measured]) -> Outcome {
    if cli.json {
        println!("{}", serde_json::to_string_pretty(&report::json(shape, measured))?);
    } else {
        print!("{}", report::table(shape, measured));
        (0..COLUMNS.len()).for_each(|column| print!("\n{}", report::bars(column, measured)));
    }
    let Some(page) = &cli.page else { return Ok(()) };
    let text = std::fs::read_to_string(page)?;
    let (begin, end) = (format!("<!-- peers {} -->\n", shape.value_bytes), "<!-- end of peers -->");
    let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, behind) =
        parts.ok_or_else(|| format!("{} has no marks {begin:?} and {end:?}", page.display()))?;
    let mut new = format!("{before}{begin}\n{}\n```text\n", report::table(shape, measured));
    (0..COLUMNS.len()).for_each(|column| new += &(report::bars(column, measured) + "\n"));
    Ok(std::fs::write(page, format!("{}\n```\n\n{end}{behind}", new.trim_end()))?)
}
