// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The device's side of a window: a gate and the bytes behind it.

use std::ptr;

use super::gate::{Access, Gate};
use super::{DmaFault, WINDOW_IOVA, WINDOW_STRIDE};
use crate::sync::UnsafeCell;

/// Plain bytes lent to the device.
#[derive(Clone, Copy)]
pub(super) struct Lent {
    /// First byte.
    pub(super) first: *mut u8,
    /// Length in bytes.
    pub(super) bytes: usize,
    /// Offset of the first byte from the window's own IOVA.
    pub(super) offset: usize,
}

impl Lent {
    const NOTHING: Self = Self { first: ptr::null_mut(), bytes: 0, offset: 0 };

    /// The byte at window offset `at`, if `bytes` bytes from there are lent.
    #[inline]
    fn locate(&self, at: usize, bytes: usize) -> Result<*mut u8, DmaFault> {
        let from =
            at.checked_sub(self.offset).filter(|&from| from <= self.bytes && bytes <= self.bytes - from);
        // Stays within or one past the lent bytes, and wrapping_add keeps this line safe.
        from.map(|from| self.first.wrapping_add(from)).ok_or(DmaFault::Unmapped)
    }
}

/// One window. Aligned to a cache line, so that commands on neighbouring windows do not disturb each other.
///
/// Invariant: while the gate is open, `lent` describes bytes that are valid for reads (and, if the gate is writable,
/// for writes) and that nobody but who entered the gate touches in a conflicting way. `lent` itself changes only
/// while the gate is closed, by the owner of the window.
#[repr(align(64))]
pub(super) struct Pane {
    gate: Gate,
    lent: UnsafeCell<Lent>,
}

// SAFETY: the raw pointer in `lent` is followed only between `enter` and its release, which the gate makes exclusive;
// the cell is written only by the one owner of the window while the gate is closed. The bytes are plain data (u8).
unsafe impl Sync for Pane {}
// SAFETY: nothing in a pane is tied to a thread.
unsafe impl Send for Pane {}

impl Pane {
    pub(super) fn new() -> Self {
        Self { gate: Gate::new(), lent: UnsafeCell::new(Lent::NOTHING) }
    }

    /// Lends `lent` to the device.
    ///
    /// # Safety
    /// The caller is the only owner of this window and its gate is closed. Until `close` returns, the bytes stay
    /// valid for reads, and for writes if `writable`; until then nobody writes them (and, if `writable`, reads them)
    /// except through this pane.
    #[inline]
    pub(super) unsafe fn open(&self, lent: Lent, writable: bool) {
        // SAFETY: the gate is closed, so no device access reads the cell; the caller is the only owner.
        self.lent.with_mut(|cell| unsafe { *cell = lent });
        self.gate.open(writable);
    }

    /// Takes the bytes back; waits while a copy is going on. Afterwards the device's accesses fail.
    ///
    /// # Safety
    /// The caller is the only owner of this window.
    #[inline]
    pub(super) unsafe fn close(&self) {
        self.gate.close();
        // SAFETY: the gate is closed now and the caller is the only owner. Forgetting the pointer is not needed for
        // soundness; it makes a use after the unmapping visible to the loom model.
        self.lent.with_mut(|cell| unsafe { *cell = Lent::NOTHING });
    }

    /// Device: copies bytes at window offset `at` into `into`.
    #[inline]
    pub(super) fn read(&self, at: usize, into: &mut [u8]) -> Result<(), DmaFault> {
        let _entered = self.gate.enter(Access::Read)?;
        self.lent.with(|lent| {
            // SAFETY: the gate is held, so the owner does not write the cell.
            let from = unsafe { &*lent }.locate(at, into.len())?;
            // SAFETY: `locate` checked the range, the lent bytes are valid while the gate is held, and `into` is a
            // unique reference, which cannot overlap bytes that someone else lent.
            unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
            Ok(())
        })
    }

    /// Device: copies `from` to window offset `at`.
    #[inline]
    pub(super) fn write(&self, at: usize, from: &[u8]) -> Result<(), DmaFault> {
        let _entered = self.gate.enter(Access::Write)?;
        self.lent.with(|lent| {
            // SAFETY: the gate is held, so the owner does not write the cell.
            let to = unsafe { &*lent }.locate(at, from.len())?;
            // SAFETY: `locate` checked the range, writable lent bytes are valid for writes and reached by nobody else
            // while the gate is held; so `from`, a live reference, cannot overlap them.
            unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
            Ok(())
        })
    }
}

/// The pane that holds `iova`, and the offset in it.
#[inline]
pub(super) fn locate(panes: &[Pane], iova: u64) -> Result<(&Pane, usize), DmaFault> {
    let distance = iova.checked_sub(WINDOW_IOVA).ok_or(DmaFault::Unmapped)?;
    let pane = usize::try_from(distance / WINDOW_STRIDE).ok().and_then(|index| panes.get(index));
    Ok((pane.ok_or(DmaFault::Unmapped)?, (distance % WINDOW_STRIDE) as usize))
}
