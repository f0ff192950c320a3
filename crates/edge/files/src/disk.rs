// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A block namespace as the file system's device.

use crate::{Disk, DiskError};
use saker::{Block, SharedBlock};

/// A block namespace, opened. Clones share it, and are for several threads.
#[derive(Clone, Debug)]
pub struct BlockDisk(SharedBlock);

fn told<T>(done: Result<T, saker::Error>) -> Result<T, DiskError> {
    done.map_err(|error| DiskError::new(error.to_string()))
}

impl BlockDisk {
    /// The block namespace of a URL.
    ///
    /// # Errors
    /// The device's.
    pub fn open(url: &str) -> Result<Self, saker::Error> {
        Block::open(url).map(Self::over)
    }

    /// On blocks that are open already.
    #[must_use]
    pub fn over(blocks: Block) -> Self {
        Self(blocks.share())
    }

    /// What the device counts, if it is in this process.
    pub fn stats(&mut self) -> Option<saker::Stats> {
        self.0.stats()
    }

    /// Events of a device that keeps time in this process, and how many of them came late.
    pub fn lag(&self) -> Option<(u64, u64)> {
        self.0.lag()
    }

    /// Closes the device in order.
    ///
    /// # Errors
    /// The device's.
    pub fn close(self) -> Result<(), saker::Error> {
        self.0.close()
    }
}

impl Disk for BlockDisk {
    fn block_bytes(&self) -> u32 {
        self.0.block_bytes()
    }

    fn blocks(&self) -> u64 {
        self.0.blocks()
    }

    fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), DiskError> {
        told(self.0.read(first, out))
    }

    fn read_bytes(&mut self, offset: u64, out: &mut [u8]) -> Result<(), DiskError> {
        told(self.0.read_at(offset, out))
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), DiskError> {
        told(self.0.write(first, data))
    }

    fn trim(&mut self, first: u64, blocks: u64) -> Result<(), DiskError> {
        told(self.0.trim(first, blocks))
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        told(self.0.flush())
    }
}
