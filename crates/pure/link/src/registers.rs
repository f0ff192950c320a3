// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The controller's register block.

use thiserror::Error;

use crate::sync::{AtomicU32, Ordering};

/// Offsets of the registers a memory-based controller needs (NVMe Base 2.0, section 3.1.3).
pub mod offset {
    /// Controller Capabilities, 8 bytes.
    pub const CAP: u32 = 0x00;
    /// Version, 4 bytes.
    pub const VS: u32 = 0x08;
    /// Controller Configuration, 4 bytes.
    pub const CC: u32 = 0x14;
    /// Controller Status, 4 bytes.
    pub const CSTS: u32 = 0x1C;
    /// NVM Subsystem Reset, 4 bytes.
    pub const NSSR: u32 = 0x20;
    /// Admin Queue Attributes, 4 bytes.
    pub const AQA: u32 = 0x24;
    /// Admin Submission Queue Base Address, 8 bytes.
    pub const ASQ: u32 = 0x28;
    /// Admin Completion Queue Base Address, 8 bytes.
    pub const ACQ: u32 = 0x30;
}

/// Bytes of the block: up to the end of ACQ, rounded to a cache line.
pub const REGISTER_BYTES: u32 = 0x40;

const DWORDS: usize = REGISTER_BYTES as usize / 4;

/// An access outside the block or not aligned to its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("no register at offset {offset:#x}")]
pub struct RegisterError {
    /// Offset of the access in bytes.
    pub offset: u32,
}

/// Registers as plain storage on atomics; what they mean is the controller's business.
///
/// The host's stores count up [`changes`](Self::changes), so that the controller polls one word. A 64-bit access is two
/// dword accesses, the lower first, which NVMe Base 2.0, section 3.1.3 allows: the 64-bit registers are constant or
/// written while the controller is disabled.
#[derive(Debug)]
pub struct Registers {
    dwords: [AtomicU32; DWORDS],
    changes: AtomicU32,
}

impl Default for Registers {
    fn default() -> Self {
        Self::new()
    }
}

impl Registers {
    /// All registers zero.
    pub fn new() -> Self {
        Self { dwords: std::array::from_fn(|_| AtomicU32::new(0)), changes: AtomicU32::new(0) }
    }

    /// Reads a dword.
    ///
    /// # Errors
    /// [`RegisterError`] if there is none at `offset`.
    pub fn load_u32(&self, offset: u32) -> Result<u32, RegisterError> {
        Ok(self.dword(offset)?.load(Ordering::Acquire))
    }

    /// Reads two dwords; the first is the low half.
    ///
    /// # Errors
    /// [`RegisterError`] if `offset` is not a multiple of 8 or outside.
    pub fn load_u64(&self, offset: u32) -> Result<u64, RegisterError> {
        let [low, high] = self.halves(offset)?;
        Ok(u64::from(low.load(Ordering::Acquire)) | u64::from(high.load(Ordering::Acquire)) << 32)
    }

    /// Host: writes a dword and tells the controller.
    ///
    /// # Errors
    /// [`RegisterError`] if there is none at `offset`.
    pub fn store_u32(&self, offset: u32, value: u32) -> Result<(), RegisterError> {
        self.publish_u32(offset, value)?;
        self.changed();
        Ok(())
    }

    /// Host: writes two dwords and tells the controller.
    ///
    /// # Errors
    /// [`RegisterError`] if `offset` is not a multiple of 8 or outside.
    pub fn store_u64(&self, offset: u32, value: u64) -> Result<(), RegisterError> {
        self.publish_u64(offset, value)?;
        self.changed();
        Ok(())
    }

    /// Controller: writes a dword without counting a change.
    ///
    /// # Errors
    /// [`RegisterError`] if there is none at `offset`.
    pub fn publish_u32(&self, offset: u32, value: u32) -> Result<(), RegisterError> {
        self.dword(offset)?.store(value, Ordering::Release);
        Ok(())
    }

    /// Controller: writes two dwords without counting a change.
    ///
    /// # Errors
    /// [`RegisterError`] if `offset` is not a multiple of 8 or outside.
    pub fn publish_u64(&self, offset: u32, value: u64) -> Result<(), RegisterError> {
        let [low, high] = self.halves(offset)?;
        low.store(value as u32, Ordering::Release);
        high.store((value >> 32) as u32, Ordering::Release);
        Ok(())
    }

    /// How often the host has written (modulo 2^32). If it differs from the value seen last, what the host wrote
    /// before is visible now.
    #[inline]
    pub fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    fn dword(&self, offset: u32) -> Result<&AtomicU32, RegisterError> {
        let aligned = offset.is_multiple_of(4).then_some(offset as usize / 4);
        aligned.and_then(|index| self.dwords.get(index)).ok_or(RegisterError { offset })
    }

    fn halves(&self, offset: u32) -> Result<[&AtomicU32; 2], RegisterError> {
        if !offset.is_multiple_of(8) {
            return Err(RegisterError { offset });
        }
        let low = self.dword(offset)?;
        Ok([low, self.dword(offset + 4)?])
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn host_stores_are_seen_and_counted() {
        let registers = Registers::new();
        registers.store_u64(offset::ASQ, 0x1122_3344_5566_7788).expect("exists");
        registers.store_u32(offset::CC, 1).expect("exists");
        registers.publish_u32(offset::CSTS, 1).expect("exists");
        assert_eq!(registers.changes(), 2);
        assert_eq!(registers.load_u32(offset::ASQ), Ok(0x5566_7788));
        assert_eq!(registers.load_u32(offset::ASQ + 4), Ok(0x1122_3344));
        assert_eq!(registers.load_u64(offset::ASQ), Ok(0x1122_3344_5566_7788));
        assert_eq!((registers.load_u32(offset::CC), registers.load_u32(offset::CSTS)), (Ok(1), Ok(1)));
    }

    #[test]
    fn bad_offsets_are_errors() {
        let registers = Registers::new();
        for offset in [1, 2, 0x40, u32::MAX, u32::MAX - 3] {
            assert_eq!(registers.load_u32(offset), Err(RegisterError { offset }));
            assert_eq!(registers.store_u64(offset, 1), Err(RegisterError { offset }));
        }
        assert_eq!(registers.load_u64(4), Err(RegisterError { offset: 4 }));
        assert_eq!(registers.changes(), 0);
    }
}
