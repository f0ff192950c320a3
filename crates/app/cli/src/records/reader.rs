// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records out of a stream.

use std::io::{self, BufRead};

use thiserror::Error;

use super::lines::{Found, Lines};
use super::{Format, Record, jsonl, separated};
use crate::limits::{key_fault, value_fault};

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {reason}")]
pub struct BadLine {
    /// Its number, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

/// Why there is no next record.
#[derive(Debug, Error)]
pub enum ReadError {
    /// A line is no record. The next call goes on behind it.
    #[error(transparent)]
    Bad(#[from] BadLine),
    /// The stream failed.
    #[error(transparent)]
    Stream(#[from] io::Error),
}

/// Reads records. It holds one line and one record at a time. Empty lines are passed over.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    line: Vec<u8>,
    format: Format,
    raw: bool,
}

impl<R: BufRead> Reader<R> {
    /// Records of `input`. With `raw`, backslashes of the separated formats are no escapes.
    pub const fn new(input: R, format: Format, raw: bool) -> Self {
        Self { lines: Lines::new(input, format.line_bytes_max()), line: Vec::new(), format, raw }
    }

    /// Bytes taken from the stream so far.
    pub const fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    /// Puts the next record into `record`. Whether there was one.
    ///
    /// # Errors
    /// `Bad` for a line that is no record, `Stream` when the stream fails.
    pub fn next(&mut self, record: &mut Record) -> Result<bool, ReadError> {
        loop {
            record.clear();
            match self.lines.next(&mut self.line)? {
                Found::End => return Ok(false),
                Found::TooLong => return Err(self.bad("the line is too long for any record".to_owned())),
                Found::Line if self.line.is_empty() => {}
                Found::Line => return self.parse(record).map(|()| true).map_err(|reason| self.bad(reason)),
            }
        }
    }

    fn parse(&self, record: &mut Record) -> Result<(), String> {
        match self.format.separator() {
            Some(separator) => separated::read(&self.line, separator, self.raw, record)?,
            None => jsonl::read(&self.line, record)?,
        }
        key_fault(&record.key).or_else(|| value_fault(&record.value)).map_or(Ok(()), Err)
    }

    fn bad(&self, reason: String) -> ReadError {
        BadLine { line: self.lines.number(), reason }.into()
    }
}
