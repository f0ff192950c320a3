// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traces as CSV: time, key, key size, value size, operation; more columns are passed over.

use super::csv::cells;
use super::jobs::{Act, Job, Sought};
use saker_lab::error::LabError;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// What a trace's times count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl TimeUnit {
    const fn nanos(self) -> f64 {
        match self {
            Self::S => 1e9,
            Self::Ms => 1e6,
            Self::Us => 1e3,
            Self::Ns => 1.0,
        }
    }
}

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReplayOptions {
    /// The unit of its times.
    pub unit: TimeUnit,
    /// Times faster than it was recorded; 0: each operation when the one before has ended.
    pub speed: f64,
}

impl Default for ReplayOptions {
    fn default() -> Self {
        Self { unit: TimeUnit::S, speed: 1.0 }
    }
}

/// The lines of a trace whose keys are of one thread: operations on a key keep their order.
pub(super) struct Replay {
    path: PathBuf,
    lines: std::io::Lines<BufReader<File>>,
    line: u64,
    columns: [usize; 5],
    options: ReplayOptions,
    thread: u64,
    threads: u64,
    first: Option<f64>,
}

/// Names of columns that are known, in the order they have without a header.
const COLUMNS: [&[&str]; 5] = [
    &["time", "timestamp"],
    &["key", "anonymized key"],
    &["key size", "key_size"],
    &["value size", "value_size", "size"],
    &["operation", "op"],
];
/// Twitter's traces (Yang et al., OSDI'20) have a client before the operation, and a time to live behind it.
const TWITTER: (usize, [usize; 5]) = (7, [0, 1, 2, 3, 5]);
const KEY_BYTES_MAX: usize = 255;

impl Replay {
    pub(super) fn open(
        path: &Path,
        options: &ReplayOptions,
        thread: u64,
        threads: u64,
    ) -> Result<Self, LabError> {
        let failed = |e: std::io::Error| LabError::Trace(format!("cannot read {}: {e}", path.display()));
        let lines = BufReader::new(File::open(path).map_err(failed)?).lines();
        let (path, options) = (path.to_owned(), *options);
        Ok(Self { path, lines, line: 0, columns: [0, 1, 2, 3, 4], options, thread, threads, first: None })
    }

    fn wrong(&self, what: &str) -> LabError {
        LabError::Trace(format!("{} line {}: {what}", self.path.display(), self.line))
    }

    /// A header names the columns; without one, seven of them are Twitter's.
    fn look_at_first(&mut self, cells: &[Cow<'_, str>]) -> bool {
        let is_header = cells.first().is_some_and(|cell| cell.parse::<f64>().is_err());
        if !is_header {
            if cells.len() == TWITTER.0 {
                self.columns = TWITTER.1;
            }
            return false;
        }
        for (n, names) in COLUMNS.iter().enumerate() {
            let named = |cell: &Cow<'_, str>| names.contains(&cell.to_ascii_lowercase().as_str());
            self.columns[n] = cells.iter().position(named).unwrap_or(usize::MAX);
        }
        true
    }

    /// One line; nothing if it is another thread's.
    fn read(
        &mut self,
        line: &str,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError> {
        let cells = cells(line);
        if line.trim().is_empty() || (self.line == 1 && self.look_at_first(&cells)) {
            return Ok(None);
        }
        let cell = |n: usize, what: &str| {
            cells
                .get(self.columns[n])
                .map(AsRef::<str>::as_ref)
                .ok_or_else(|| self.wrong(&format!("it has no {what}")))
        };
        let (time, text, operation) = (cell(0, "time")?, cell(1, "key")?, cell(4, "operation")?);
        let number = |text: &str, what: &str| {
            text.parse::<u32>().map_err(|_| self.wrong(&format!("`{text}` is no {what}")))
        };
        let (key_bytes, value_bytes) =
            (number(cell(2, "key size")?, "key size")?, number(cell(3, "value size")?, "value size")?);
        let at = time.parse::<f64>().ok().filter(|at| at.is_finite());
        let at = at.ok_or_else(|| self.wrong(&format!("`{time}` is no time")))?;
        let act = act(operation, value_bytes)
            .ok_or_else(|| self.wrong(&format!("`{operation}` is no operation that is known")))?;
        let length = text.len().max(key_bytes as usize);
        if text.is_empty() || length > KEY_BYTES_MAX {
            return Err(self.wrong("a key has 1 to 255 bytes"));
        }
        let first = *self.first.get_or_insert(at);
        if xxh3_64(text.as_bytes()) % self.threads != self.thread {
            return Ok(None);
        }
        key.clear();
        key.extend_from_slice(text.as_bytes());
        key.resize(length, b'.');
        value.clear();
        if act == Act::Put {
            let hash = xxh3_64(line.as_bytes()).to_le_bytes();
            value.extend(hash.iter().cycle().take(value_bytes as usize));
        }
        let timed = self.options.speed > 0.0;
        let due = ((at - first) * self.options.unit.nanos() / self.options.speed).max(0.0);
        Ok(Some((act, timed.then_some(due as u64))))
    }
}

/// The operation of that name; a scan's value size is the number of its pairs.
fn act(name: &str, size: u32) -> Option<Act> {
    Some(match name.to_ascii_lowercase().as_str() {
        "put" | "set" | "store" | "add" | "replace" | "cas" | "append" | "prepend" | "insert" | "update"
        | "incr" | "decr" | "write" => Act::Put,
        "get" | "gets" | "retrieve" | "read" => Act::Get,
        "delete" | "del" | "remove" => Act::Delete,
        "exist" | "exists" => Act::Exist,
        "seek" | "scan" => Act::Seek(Sought::behind(size.saturating_sub(1))),
        _ => return None,
    })
}

impl Job for Replay {
    fn next(
        &mut self,
        key: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<Option<(Act, Option<u64>)>, LabError> {
        while let Some(line) = self.lines.next() {
            self.line += 1;
            let line = line.map_err(|e| self.wrong(&e.to_string()))?;
            if let Some(next) = self.read(&line, key, value)? {
                return Ok(Some(next));
            }
        }
        // Another thread's operation would have set it.
        if self.first.is_none() {
            return Err(LabError::Trace(format!("{} has no operations", self.path.display())));
        }
        Ok(None)
    }
}
