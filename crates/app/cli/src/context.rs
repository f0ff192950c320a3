// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every command is given.

use std::io::{Read, Write};
use std::time::Duration;

use serde::Serialize;

use crate::args::Global;
use crate::error::CliError;
pub use crate::exit::Exit;
use crate::output;
use crate::store::{OpenStore, Store};

/// The process around a run.
pub struct Streams<'a> {
    /// Standard input.
    pub input: &'a mut dyn Read,
    /// Standard output, buffered; [`crate::run`] flushes it.
    pub output: &'a mut dyn Write,
    /// Standard error.
    pub errors: &'a mut dyn Write,
    /// Whether progress bars may be drawn on the process's standard error.
    pub progress: bool,
    /// The device to use when `--device` is not given (`SAKER_DEVICE`).
    pub device: Option<String>,
    /// Time since some moment before the run.
    pub clock: &'a dyn Fn() -> Duration,
}

/// The streams, the devices and the options that every command shares.
pub struct Context<'a, 'b> {
    /// The process around.
    pub streams: &'a mut Streams<'b>,
    /// Opens the key-value namespace of a URL.
    pub open: OpenStore<'a>,
    /// Options of every command.
    pub global: Global,
}

impl Context<'_, '_> {
    /// The device's URL.
    ///
    /// # Errors
    /// `Usage` when none is given.
    pub fn device(&self) -> Result<String, CliError> {
        let url = self.global.device.as_ref().or(self.streams.device.as_ref()).filter(|url| !url.is_empty());
        url.cloned().ok_or_else(|| {
            CliError::usage(
                "no device is named",
                "add --device URL (such as file:disk.img) or set SAKER_DEVICE",
            )
        })
    }

    /// Opens the device, runs `body` and closes the device whatever came out. The first error counts.
    ///
    /// # Errors
    /// Those of opening, of `body` and of closing.
    pub fn with_store<T>(
        &mut self,
        body: impl FnOnce(&mut dyn Store, &mut Self) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let mut store = (self.open)(&self.device()?)?;
        let result = body(&mut *store, self);
        let closed = store.close();
        let value = result?;
        closed.map(|()| value)
    }

    /// Writes bytes to standard output.
    ///
    /// # Errors
    /// `Output`.
    pub fn print(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), CliError> {
        self.streams.output.write_all(bytes.as_ref()).map_err(CliError::Output)
    }

    /// Writes the versioned document of a command without a seed.
    ///
    /// # Errors
    /// `Output`.
    pub fn document(&mut self, schema: &str, body: &impl Serialize) -> Result<(), CliError> {
        output::document(self.streams.output, schema, None, body)
    }

    /// Writes the versioned document if `--json` asks for it.
    ///
    /// # Errors
    /// `Output`.
    pub fn document_if_json(&mut self, schema: &str, body: &impl Serialize) -> Result<(), CliError> {
        if self.global.json { self.document(schema, body) } else { Ok(()) }
    }

    /// One line on standard error, unless `--quiet`. A closed standard error is no reason to stop.
    pub fn note(&mut self, line: &str) {
        if !self.global.quiet {
            let _ = writeln!(self.streams.errors, "{line}");
        }
    }

    /// Whether a progress bar may be drawn.
    pub const fn shows_progress(&self) -> bool {
        self.streams.progress && !self.global.quiet
    }
}
