// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong with host memory.

use thiserror::Error;

/// A device access that the DMA space refused. Nothing was copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("DMA of {bytes} bytes at IOVA {iova:#x}: {fault}")]
pub struct DmaError {
    /// First address of the access.
    pub iova: u64,
    /// Length of the access in bytes.
    pub bytes: usize,
    /// Why it was refused.
    pub fault: DmaFault,
}

/// Why a device access was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DmaFault {
    /// Some byte of the range belongs to no memory (any more).
    #[error("not mapped")]
    Unmapped,
    /// The range is mapped for reading by the device only.
    #[error("mapped read-only")]
    ReadOnly,
}

impl DmaFault {
    #[cold]
    pub(crate) fn at(self, iova: u64, bytes: usize) -> DmaError {
        DmaError { iova, bytes, fault: self }
    }
}

/// The arena has no free run of pages of the size asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the DMA arena has no {pages} contiguous free pages")]
pub struct ArenaFull {
    /// Pages asked for.
    pub pages: u32,
}

/// A buffer that cannot be mapped into a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MapError {
    /// Longer than [`WINDOW_BYTES_MAX`](crate::WINDOW_BYTES_MAX).
    #[error("a buffer of {bytes} bytes is too long for a DMA window")]
    TooLong {
        /// The buffer's length.
        bytes: usize,
    },
    /// The window holds an owned buffer already.
    #[error("the DMA window is occupied")]
    Occupied,
    /// Fewer windows than buffers.
    #[error("more buffers than DMA windows")]
    TooFewWindows,
}
