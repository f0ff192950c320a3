// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker dump`

use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;

use super::scan::{self, Show};
use super::target::Target;
use super::walk::{Walk, Wanted};
use crate::args::dump::DumpArgs;
use crate::context::{Context, Exit};
use crate::error::{CliError, one_line};
use crate::linked::salvage;
use crate::progress::{Progress, Totals};
use crate::records::format::is_stream;
use crate::records::{BUFFER_BYTES, Format, Writer};
use crate::report::LossReport;

/// What was dumped.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    format: Format,
    #[serde(flatten)]
    totals: Totals,
    #[serde(skip_serializing_if = "Option::is_none")]
    losses: Option<&'a LossReport>,
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
    if args.salvage {
        return salvage(args, format, started, cx);
    }
    let mut totals = cx.with_store(|store, cx| {
        let progress = Progress::new(cx.shows_progress(), None);
        let every = |see: Show<'_>| {
            let walk = Walk::new(store, Wanted::default());
            scan::records(store, walk, None, &mut || true, see)
        };
        if is_stream(&args.file) {
            records(every, &mut *cx.streams.output, format, &progress, CliError::Output)
        } else {
            to_file(every, &args.file, format, &progress)
        }
    })?;
    totals.0.finish((cx.streams.clock)().saturating_sub(started));
    tell(args, format, totals.0, None, cx)?;
    Ok(Exit::Good)
}

fn tell(
    args: &DumpArgs,
    format: Format,
    totals: Totals,
    losses: Option<&LossReport>,
    cx: &mut Context<'_, '_>,
) -> Result<(), CliError> {
    if cx.global.json {
        return cx.document("saker.dump.v1", &Report { file: &args.file, format, totals, losses });
    }
    cx.note(&format!("dumped {}", totals.summary()));
    Ok(())
}

/// Writes what is sound of a damaged image.
fn salvage(
    args: &DumpArgs,
    format: Format,
    started: Duration,
    cx: &mut Context<'_, '_>,
) -> Result<Exit, CliError> {
    let url = cx.device()?;
    let progress = Progress::new(cx.shows_progress(), None);
    let sound = |see: Show<'_>| salvage::salvage(&url, args.uncertain, see);
    let (mut totals, losses) = if is_stream(&args.file) {
        records(sound, &mut *cx.streams.output, format, &progress, CliError::Output)?
    } else {
        to_file(sound, &args.file, format, &progress)?
    };
    progress.finish();
    totals.finish((cx.streams.clock)().saturating_sub(started));
    // What is lost is told whatever else is not.
    for line in losses.lines().iter().filter(|_| !cx.global.json) {
        let _ = writeln!(cx.streams.errors, "{}", one_line(line));
    }
    tell(args, format, totals, Some(&losses), cx)?;
    Ok(if losses.is_lossy() { Exit::No } else { Exit::Good })
}

fn to_file<T>(
    every: impl FnOnce(Show<'_>) -> Result<T, CliError>,
    path: &Path,
    format: Format,
    progress: &Progress,
) -> Result<(Totals, T), CliError> {
    let mut target = Target::create(path)?;
    let output = BufWriter::with_capacity(BUFFER_BYTES, target.file());
    let written = records(every, output, format, progress, |e| CliError::file("write", path)(e))?;
    target.commit().map(|()| written)
}

/// Writes every record that `every` shows to `output` and flushes it.
fn records<W: Write, T>(
    every: impl FnOnce(Show<'_>) -> Result<T, CliError>,
    output: W,
    format: Format,
    progress: &Progress,
    failed: impl Fn(std::io::Error) -> CliError,
) -> Result<(Totals, T), CliError> {
    let mut writer = Writer::new(output, format);
    let mut totals = Totals::default();
    let shown = every(&mut |key, value| {
        writer.write(key, value).map_err(&failed)?;
        totals.add(key, value);
        progress.set(writer.bytes_written());
        Ok(())
    })?;
    totals.file_bytes = writer.bytes_written();
    writer.into_inner().flush().map_err(failed).map(|()| (totals, shown))
}
