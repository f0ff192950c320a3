// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An allocation in the arena.

use std::fmt;
use std::sync::Arc;

use super::{DmaError, DmaFault, DmaSpace};

/// Contiguous zeroed pages of a [`DmaSpace`]; given back when dropped.
///
/// The device can still reach the pages afterwards (as a real one could without an IOMMU): it reads and writes
/// whatever owns them next, which is wrong but defined.
pub struct DmaRegion {
    space: Arc<DmaSpace>,
    iova: u64,
    pages: u32,
}

impl DmaRegion {
    pub(super) fn new(space: Arc<DmaSpace>, iova: u64, pages: u32) -> Self {
        Self { space, iova, pages }
    }

    /// Address of the first byte; a multiple of the page size.
    #[inline]
    pub fn iova(&self) -> u64 {
        self.iova
    }

    /// Length in bytes; a multiple of the page size.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.pages as usize * super::PAGE_BYTES
    }

    /// The space it belongs to.
    pub fn space(&self) -> &Arc<DmaSpace> {
        &self.space
    }

    /// Copies bytes at `offset` into `into`.
    ///
    /// # Errors
    /// [`DmaError`] if the range leaves the region.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> Result<(), DmaError> {
        self.space.read(self.address(offset, into.len())?, into)
    }

    /// Copies `from` to `offset`.
    ///
    /// # Errors
    /// [`DmaError`] if the range leaves the region.
    pub fn write(&self, offset: usize, from: &[u8]) -> Result<(), DmaError> {
        self.space.write(self.address(offset, from.len())?, from)
    }

    #[inline]
    fn address(&self, offset: usize, bytes: usize) -> Result<u64, DmaError> {
        let iova = self.iova.saturating_add(offset as u64);
        let inside = offset <= self.bytes() && bytes <= self.bytes() - offset;
        if inside { Ok(iova) } else { Err(DmaFault::Unmapped.at(iova, bytes)) }
    }
}

impl Drop for DmaRegion {
    fn drop(&mut self) {
        self.space.free_pages_at(self.iova, self.pages);
    }
}

impl fmt::Debug for DmaRegion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DmaRegion({:#x}, {} pages)", self.iova, self.pages)
    }
}
