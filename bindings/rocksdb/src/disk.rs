// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the blocks of files are.

#[cfg(feature = "inside")]
use crate::engine::RelayDisk;
use saker_files::{BlockDisk, Disk, DiskError};

/// Blocks of a device that this program uses, or is.
#[derive(Debug)]
pub enum AnyDisk {
    /// The block namespace of a URL.
    Device(BlockDisk),
    /// Of the device in which RocksDB runs.
    #[cfg(feature = "inside")]
    Inside(RelayDisk),
}

macro_rules! each {
    ($disk:expr, $it:ident => $call:expr) => {
        match $disk {
            AnyDisk::Device($it) => $call,
            #[cfg(feature = "inside")]
            AnyDisk::Inside($it) => $call,
        }
    };
}

impl AnyDisk {
    /// What the device counts.
    #[cfg(feature = "inside")]
    pub fn stats(&mut self) -> Option<saker::Stats> {
        match self {
            Self::Device(disk) => disk.stats(),
            Self::Inside(_) => None,
        }
    }

    /// Events of a device that keeps time in this process, and how many of them came late.
    pub fn lag(&mut self) -> Option<(u64, u64)> {
        match self {
            Self::Device(disk) => disk.lag(),
            #[cfg(feature = "inside")]
            Self::Inside(_) => None,
        }
    }

    /// Closes a device in order.
    ///
    /// # Errors
    /// The device's.
    pub fn close(self) -> Result<(), saker::Error> {
        match self {
            Self::Device(disk) => disk.close(),
            #[cfg(feature = "inside")]
            Self::Inside(_) => Ok(()),
        }
    }
}

impl Disk for AnyDisk {
    fn block_bytes(&self) -> u32 {
        each!(self, disk => disk.block_bytes())
    }

    fn blocks(&self) -> u64 {
        each!(self, disk => disk.blocks())
    }

    fn read(&mut self, first: u64, out: &mut [u8]) -> Result<(), DiskError> {
        each!(self, disk => disk.read(first, out))
    }

    fn read_bytes(&mut self, offset: u64, out: &mut [u8]) -> Result<(), DiskError> {
        each!(self, disk => disk.read_bytes(offset, out))
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), DiskError> {
        each!(self, disk => disk.write(first, data))
    }

    fn trim(&mut self, first: u64, blocks: u64) -> Result<(), DiskError> {
        each!(self, disk => disk.trim(first, blocks))
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        each!(self, disk => disk.flush())
    }
}
