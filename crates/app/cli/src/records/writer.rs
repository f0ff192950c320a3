// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records into a stream.

use std::io::{self, Write};

use super::{Format, jsonl, separated};

/// Writes records, one line and one call of the stream each: give it a buffered one.
#[derive(Debug)]
pub struct Writer<W> {
    output: W,
    line: Vec<u8>,
    format: Format,
    bytes_written: u64,
}

impl<W: Write> Writer<W> {
    /// Records into `output`.
    pub const fn new(output: W, format: Format) -> Self {
        Self { output, line: Vec::new(), format, bytes_written: 0 }
    }

    /// Bytes given to the stream so far.
    pub const fn bytes_written(&self) -> u64 {
        self.bytes_written
    }

    /// Writes one record.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn write(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        self.line.clear();
        match self.format.separator() {
            Some(separator) => separated::write(key, value, separator, &mut self.line),
            None => jsonl::write(key, value, &mut self.line),
        }
        self.output.write_all(&self.line)?;
        self.bytes_written += self.line.len() as u64;
        Ok(())
    }

    /// Gives the stream back.
    pub fn into_inner(self) -> W {
        self.output
    }
}
