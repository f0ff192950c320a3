// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `saker load`

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Serialize;

use crate::args::load::LoadArgs;
use crate::context::{Context, Exit};
use crate::error::CliError;
use crate::progress::{Progress, Totals};
use crate::records::format::is_stream;
use crate::records::{BUFFER_BYTES, BadLine, Format, ReadError, Reader, Record};
use crate::size::grouped;
use crate::store::Store;

/// What was loaded.
#[derive(Serialize)]
struct Report<'a> {
    file: &'a Path,
    format: Format,
    #[serde(flatten)]
    totals: Totals,
    skipped: u64,
}

/// Stores the records of a file and flushes.
///
/// # Errors
/// `File`; `Usage` without a format; `Failed` for a line that is no record; and those of the device.
pub fn run(args: &LoadArgs, cx: &mut Context<'_, '_>) -> Result<Exit, CliError> {
    let format = args.format.map_or_else(|| Format::of(&args.file), Ok)?;
    let source = if is_stream(&args.file) { None } else { Some(open(&args.file)?) };
    let started = (cx.streams.clock)();
    let mut loading = cx.with_store(|store, cx| {
        let progress = Progress::new(cx.shows_progress(), source.as_ref().and_then(length));
        match source {
            Some(file) => Loading::new(args, progress).all(reader(args, file, format), store),
            None => Loading::new(args, progress).all(reader(args, &mut *cx.streams.input, format), store),
        }
    })?;
    loading.totals.finish((cx.streams.clock)().saturating_sub(started));
    summary(args, format, loading, cx)?;
    Ok(Exit::Good)
}

fn open(path: &Path) -> Result<File, CliError> {
    File::open(path).map_err(CliError::file("open", path))
}

fn length(file: &File) -> Option<u64> {
    file.metadata().ok().filter(|m| m.is_file()).map(|m| m.len())
}

fn reader<R: std::io::Read>(args: &LoadArgs, input: R, format: Format) -> Reader<BufReader<R>> {
    Reader::new(BufReader::with_capacity(BUFFER_BYTES, input), format, args.raw)
}

fn summary(
    args: &LoadArgs,
    format: Format,
    loading: Loading<'_>,
    cx: &mut Context<'_, '_>,
) -> Result<(), CliError> {
    let Loading { totals, skipped, first_bad, .. } = loading;
    if cx.global.json {
        return cx.document("saker.load.v1", &Report { file: &args.file, format, totals, skipped });
    }
    cx.note(&format!("loaded {}", totals.summary()));
    if let Some(bad) = first_bad {
        let first = crate::error::one_line(&bad.to_string());
        cx.note(&format!("skipped {} bad lines, the first: {first}", grouped(skipped)));
    }
    Ok(())
}

/// A load under way.
struct Loading<'a> {
    args: &'a LoadArgs,
    progress: Progress,
    totals: Totals,
    skipped: u64,
    first_bad: Option<BadLine>,
}

impl<'a> Loading<'a> {
    fn new(args: &'a LoadArgs, progress: Progress) -> Self {
        Self { args, progress, totals: Totals::default(), skipped: 0, first_bad: None }
    }

    /// Stores every record, and whatever the outcome settles what was stored.
    fn all<R: BufRead>(mut self, mut reader: Reader<R>, store: &mut dyn Store) -> Result<Self, CliError> {
        let outcome = self.each(&mut reader, store);
        self.totals.file_bytes = reader.bytes_read();
        let drained = store.drain();
        // What was taken lasts, whatever was not.
        let flushed = store.flush();
        self.progress.finish();
        outcome.and(drained).and(flushed).map(|()| self)
    }

    fn each<R: BufRead>(&mut self, reader: &mut Reader<R>, store: &mut dyn Store) -> Result<(), CliError> {
        let mut record = Record::default();
        loop {
            match reader.next(&mut record) {
                Ok(false) => return Ok(()),
                Ok(true) => {
                    store.put_async(&record.key, &record.value)?;
                    self.totals.add(&record.key, &record.value);
                }
                Err(ReadError::Bad(bad)) => self.bad(bad)?,
                Err(ReadError::Stream(error)) => return Err(CliError::file("read", &self.args.file)(error)),
            }
            self.progress.set(reader.bytes_read());
        }
    }

    fn bad(&mut self, bad: BadLine) -> Result<(), CliError> {
        if !self.args.skip_bad {
            return Err(self.stopped(&bad));
        }
        self.skipped += 1;
        self.first_bad.get_or_insert(bad);
        Ok(())
    }

    fn stopped(&self, bad: &BadLine) -> CliError {
        let what = format!("{} {bad}", self.args.file.display());
        let stored = grouped(self.totals.records);
        CliError::failed(what, format!("mend it or add --skip-bad ({stored} records before it are stored)"))
    }
}
