// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A device that is looked at: its counters, again and again.

use std::time::Instant;

use saker::{Counter, Kv};

use super::opened::{failed, refused};
use crate::error::CliError;

/// The device.
pub struct Looked {
    kv: Kv,
    url: String,
}

/// Its counters at a moment.
pub struct Sample {
    /// When they were asked for.
    pub at: Instant,
    /// All of them.
    pub counters: Vec<Counter>,
}

impl Looked {
    /// Opens it.
    ///
    /// # Errors
    /// As for any command.
    pub fn open(url: &str) -> Result<Self, CliError> {
        Ok(Self { kv: Kv::open(url).map_err(|error| refused(&error))?, url: url.to_owned() })
    }

    /// Looks.
    ///
    /// # Errors
    /// `Failed` if it does not answer, or does not tell.
    pub fn look(&mut self) -> Result<Sample, CliError> {
        let at = Instant::now();
        let told = self.kv.counters().map_err(|error| failed(&error.into()))?;
        let counters = told.ok_or_else(|| {
            let what = format!("{} does not tell what it counts (log page C3h)", self.url);
            CliError::failed(what, "`saker top` needs a device of Saker's")
        })?;
        Ok(Sample { at, counters })
    }

    /// Closes it.
    ///
    /// # Errors
    /// Of the device.
    pub fn close(self) -> Result<(), CliError> {
        self.kv.close().map_err(|error| failed(&error))
    }
}
