// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device below: logical blocks, as an NVMe namespace of them.

use std::sync::Arc;

/// A command of the device failed; the text says how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DiskError(pub Arc<str>);

impl DiskError {
    /// With a text.
    pub fn new(what: impl Into<Arc<str>>) -> Self {
        Self(what.into())
    }
}

/// Logical blocks. A block is written whole or not at all, whatever happens to power; several blocks of one command, and several
/// commands, have no order before a flush (NVM Command Set 1.0, section 2.1.4: AWUPF of one block).
pub trait Disk {
    /// Bytes of a block, a power of two.
    fn block_bytes(&self) -> u32;
    /// How many there are.
    fn blocks(&self) -> u64;
    /// Reads whole blocks. One that was never written, or was trimmed, reads as zeros.
    ///
    /// # Errors
    /// The device's.
    fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), DiskError>;
    /// Reads bytes from one on, by its number on the device: parts of blocks.
    ///
    /// # Errors
    /// The device's.
    fn read_bytes(&mut self, offset: u64, out: &mut [u8]) -> Result<(), DiskError> {
        let block_bytes = u64::from(self.block_bytes());
        let skip = (offset % block_bytes) as usize;
        let bytes = (skip + out.len()).next_multiple_of(block_bytes as usize);
        if skip == 0 && bytes == out.len() {
            return self.read(offset / block_bytes, out);
        }
        let mut whole = vec![0; bytes];
        self.read(offset / block_bytes, &mut whole)?;
        out.copy_from_slice(&whole[skip..skip + out.len()]);
        Ok(())
    }
    /// Writes whole blocks.
    ///
    /// # Errors
    /// The device's.
    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), DiskError>;
    /// What these blocks hold is not needed any more.
    ///
    /// # Errors
    /// The device's.
    fn trim(&mut self, first: u64, blocks: u64) -> Result<(), DiskError>;
    /// What was written before survives a power cut when this returns.
    ///
    /// # Errors
    /// The device's.
    fn flush(&mut self) -> Result<(), DiskError>;
}
