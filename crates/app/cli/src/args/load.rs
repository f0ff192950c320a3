// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker load`.

use std::path::PathBuf;

use clap::Args;

use crate::records::Format;

/// Arguments of `saker load`.
#[derive(Args, Debug)]
#[command(after_help = "\
The format follows from the name: .tsv .tab, .jsonl .ndjson, .txt (semicolon); standard input is TSV. A later record \
of a key replaces an earlier one. When a line is bad the records before it stay stored; after mending the line, load \
the whole file again. Everything is flushed when the command ends.

Examples:
  saker load --device file:disk.img users.tsv
  saker load --device file:disk.img UnicodeData.txt
  saker load --device file:disk.img words.dat --format tsv --raw --skip-bad
  zcat users.jsonl.gz | saker load --device file:disk.img - --format jsonl")]
pub struct LoadArgs {
    /// The file; - is standard input
    pub file: PathBuf,
    /// How records stand in it
    #[arg(long)]
    pub format: Option<Format>,
    /// Take lines of tsv and semicolon as they are: a backslash is a backslash
    #[arg(long)]
    pub raw: bool,
    /// Count lines that are no records and go on
    #[arg(long)]
    pub skip_bad: bool,
}
