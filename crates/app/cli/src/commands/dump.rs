//! `saker dump`

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use super::scan;
use super::target::Target;
use super::walk::{Walk, Wanted};
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::progress::{Progress, Totals};
use crate::records::format::is_stream;
use crate::records::{BUFFER_BYTES, Format, Writer};
use crate::store::Store;

/// Arguments of `saker dump`.
#[derive(Args, Debug)]
#[command(after_help = "\
The format follows from the name: .tsv .tab, .jsonl .ndjson, .txt (semicolon); standard output is TSV. Records come in \
the device's list order; `saker load` restores them byte for byte from every format. A file is written as FILE.part and \
renamed when complete. Keys written during the dump may be in it or not.

Examples:
  saker dump --device file:disk.img backup.jsonl
  saker dump --device file:disk.img - | sort > sorted.tsv")]
pub struct DumpArgs {
    /// The file; - is standard output
    file: PathBuf,
    /// How records stand in it
    #[arg(long)]
    format: Option<Format>,
}

/// What was dumped.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    format: Format,
    #[serde(flatten)]
    totals: Totals,
}

/// Writes every record to a file.
///
/// # Errors
/// `File` or `Output`; `Usage` without a format, or when document and records would mix; and those of the device.
pub fn run(args: &DumpArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let format = args.format.map_or_else(|| Format::of(&args.file), Ok)?;
    if is_stream(&args.file) && cx.global.json {
        return Err(CliError::usage("records and --json cannot both go to standard output", "give a FILE"));
    }
    let started = (cx.streams.clock)();
    let mut totals = cx.with_store(|store, cx| {
        let progress = Progress::new(cx.shows_progress(), None);
        if is_stream(&args.file) {
            records(store, &mut *cx.streams.output, format, &progress, CliError::Output)
        } else {
            to_file(store, &args.file, format, &progress)
        }
    })?;
    totals.finish((cx.streams.clock)().saturating_sub(started));
    if cx.global.json {
        cx.document("saker.dump.v1", &Report { file: &args.file, format, totals })?;
    } else {
        cx.note(&format!("dumped {}", totals.summary()));
    }
    Ok(Exit::Good)
}

fn to_file(
    store: &mut dyn Store,
    path: &Path,
    format: Format,
    progress: &Progress,
) -> Result<Totals, CliError> {
    let mut target = Target::create(path)?;
    let output = BufWriter::with_capacity(BUFFER_BYTES, target.file());
    let totals = records(store, output, format, progress, |e| CliError::file("write", path)(e))?;
    target.commit().map(|()| totals)
}

/// Writes every record to `output` and flushes it.
fn records<W: Write>(
    store: &mut dyn Store,
    output: W,
    format: Format,
    progress: &Progress,
    failed: impl Fn(std::io::Error) -> CliError,
) -> Result<Totals, CliError> {
    let mut writer = Writer::new(output, format);
    let mut totals = Totals::default();
    let walk = Walk::new(store, Wanted::default());
    scan::records(store, walk, None, &mut || true, &mut |key, value| {
        writer.write(key, value).map_err(&failed)?;
        totals.add(key, value);
        progress.set(writer.bytes_written());
        Ok(())
    })?;
    totals.file_bytes = writer.bytes_written();
    writer.into_inner().flush().map_err(failed).map(|()| totals)
}
