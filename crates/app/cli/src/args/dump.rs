// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arguments of `saker dump`.

use std::path::PathBuf;

use clap::Args;

use crate::records::Format;

/// Arguments of `saker dump`.
#[derive(Args, Debug)]
#[command(after_help = "\
The format follows from the name: .tsv .tab, .jsonl .ndjson, .txt (semicolon); standard output is TSV. Records come in \
the device's list order; `saker load` restores them byte for byte from every format. A file is written as FILE.part and \
renamed when complete. Keys written during the dump may be in it or not.

With --salvage a damaged image is only read: all sound pairs are written, what is lost is listed on standard error (or in \
the document of --json), and the exit code is 1 if something is. A pair that may be older than one that was lost is not \
written, unless --uncertain asks for it.

Examples:
  saker dump --device file:disk.img backup.jsonl
  saker dump --device file:disk.img - | sort > sorted.tsv
  saker dump --salvage --device file:damaged.img saved.jsonl")]
pub struct DumpArgs {
    /// The file; - is standard output
    pub file: PathBuf,
    /// How records stand in it
    #[arg(long)]
    pub format: Option<Format>,
    /// Write what is sound of a damaged image, and list what is lost
    #[arg(long)]
    pub salvage: bool,
    /// With --salvage: also write pairs that may be older than ones that were lost
    #[arg(long, requires = "salvage")]
    pub uncertain: bool,
}
