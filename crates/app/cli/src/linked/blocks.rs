// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Block namespaces as the commands see them.

use saker::{Block, Error as DeviceError};
use serde_json::{Value, json};

use super::opened::{described, failed, refused};
use crate::error::CliError;
use crate::store::Answer;

/// Opens the block namespace of a URL.
///
/// # Errors
/// `Usage` for a URL that makes no sense, `Failed` for a device that cannot be opened.
pub fn open(url: &str) -> Result<Blocks, CliError> {
    Block::open(url).map(Blocks).map_err(|e| refused(&e))
}

/// What a device without key-value namespaces says of itself.
pub fn info(url: &str) -> Result<Value, CliError> {
    let mut block = Block::open(url).map_err(|e| refused(&e))?;
    let head = json!({ "device": url, "profile": block.profile() });
    let info = described(head, block.stats());
    block.close().map_err(|e| failed(&e)).map(|()| info)
}

/// A block namespace, opened.
pub struct Blocks(Block);

fn outcome<T>(result: Result<T, DeviceError>) -> Answer<T> {
    result.map_err(|error| match error {
        DeviceError::Range(_) => match failed(&error) {
            CliError::Failed { what, todo } => CliError::usage(what, todo),
            other => other,
        },
        other => failed(&other),
    })
}

impl Blocks {
    /// Bytes of a block.
    pub fn block_bytes(&self) -> u32 {
        self.0.block_bytes()
    }

    /// Blocks of the namespace.
    pub fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    /// Reads whole blocks from block `first` on.
    ///
    /// # Errors
    /// Those of the device; `Usage` for a range outside the namespace.
    pub fn read(&mut self, first: u64, out: &mut [u8]) -> Answer<()> {
        outcome(self.0.read(first, out))
    }

    /// Writes whole blocks from block `first` on.
    ///
    /// # Errors
    /// Those of the device; `Usage` for a range outside the namespace.
    pub fn write(&mut self, first: u64, data: &[u8]) -> Answer<()> {
        outcome(self.0.write(first, data))
    }

    /// Deallocates blocks: they read as zeros.
    ///
    /// # Errors
    /// Those of the device; `Usage` for a range outside the namespace.
    pub fn trim(&mut self, first: u64, blocks: u64) -> Answer<()> {
        outcome(self.0.trim(first, blocks))
    }

    /// Returns when everything written so far survives a power cut.
    ///
    /// # Errors
    /// Those of the device.
    pub fn flush(&mut self) -> Answer<()> {
        outcome(self.0.flush())
    }

    /// Closes the device in order.
    ///
    /// # Errors
    /// Those of the device.
    pub fn close(self) -> Answer<()> {
        self.0.close().map_err(|e| failed(&e))
    }
}
