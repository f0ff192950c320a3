// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The host's side of a window: lending a buffer to the device for the time of a command.

use std::fmt;
use std::sync::Arc;

use super::mapping::{Lent, Pane};
use super::{DmaSpace, MapError, PAGE_BYTES, Placement, WINDOW_BYTES_MAX, WINDOW_IOVA, WINDOW_STRIDE};

/// A range of IOVAs of its own onto which its owner maps one buffer at a time.
///
/// Unmapping is safe at any time, whatever the device does: it waits for the copy that is going on, and later
/// accesses fail with a [`DmaError`](crate::DmaError).
pub struct Window {
    space: Arc<DmaSpace>,
    index: u32,
    /// Address of the first mapped byte.
    mapped: Option<u64>,
    owned: Option<OwnedBytes>,
}

/// A `Vec<u8>` taken apart, so that no reference to bytes that the device writes exists meanwhile.
struct OwnedBytes {
    first: *mut u8,
    bytes: usize,
    capacity: usize,
}

// SAFETY: it stands for a Vec<u8>, which is Send.
unsafe impl Send for OwnedBytes {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for OwnedBytes {}

impl Window {
    pub(super) fn new(space: Arc<DmaSpace>, index: u32) -> Self {
        Self { space, index, mapped: None, owned: None }
    }

    /// First address of the window's range; a mapped buffer starts within its first page.
    #[inline]
    pub fn base_iova(&self) -> u64 {
        WINDOW_IOVA + u64::from(self.index) * WINDOW_STRIDE
    }

    /// Address of the first byte of the mapped buffer, if one is mapped.
    #[inline]
    pub fn mapped_iova(&self) -> Option<u64> {
        self.mapped
    }

    /// Lets the device read `buffer`, at the address given to `f`, until `f` returns or unwinds.
    ///
    /// # Errors
    /// [`MapError`] if the buffer is too long or the window holds an owned buffer; `f` does not run then.
    #[inline]
    pub fn with_mapped_read<R>(&mut self, buffer: &[u8], f: impl FnOnce(u64) -> R) -> Result<R, MapError> {
        let first = buffer.as_ptr().cast_mut();
        // SAFETY: the shared borrow lasts until `lend` has closed the gate, and the gate refuses writes.
        unsafe { self.lend(first, buffer.len(), false, f) }
    }

    /// Lets the device read and write `buffer`, at the address given to `f`, until `f` returns or unwinds.
    ///
    /// # Errors
    /// [`MapError`] if the buffer is too long or the window holds an owned buffer; `f` does not run then.
    #[inline]
    pub fn with_mapped_write<R>(
        &mut self,
        buffer: &mut [u8],
        f: impl FnOnce(u64) -> R,
    ) -> Result<R, MapError> {
        let (first, bytes) = (buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the unique borrow lasts until `lend` has closed the gate, and `buffer` is not used meanwhile.
        unsafe { self.lend(first, bytes, true, f) }
    }

    /// Maps every buffer onto the window of the same index for reading; `f` finds the addresses by
    /// [`mapped_iova`](Self::mapped_iova). All are unmapped when `f` returns or unwinds.
    ///
    /// # Errors
    /// [`MapError`] as for one buffer, or if there are fewer windows than buffers; `f` does not run then.
    pub fn with_mapped_reads<R>(
        windows: &mut [Self],
        buffers: &[&[u8]],
        f: impl FnOnce(&[Self]) -> R,
    ) -> Result<R, MapError> {
        let lent = buffers.iter().map(|buffer| (buffer.as_ptr().cast_mut(), buffer.len()));
        // SAFETY: the shared borrows last until `lend_all` has closed the gates, and these refuse writes.
        unsafe { Self::lend_all(windows, lent, false, f) }
    }

    /// As [`with_mapped_reads`](Self::with_mapped_reads), and the device may write.
    ///
    /// # Errors
    /// [`MapError`] as for one buffer, or if there are fewer windows than buffers; `f` does not run then.
    pub fn with_mapped_writes<R>(
        windows: &mut [Self],
        buffers: &mut [&mut [u8]],
        f: impl FnOnce(&[Self]) -> R,
    ) -> Result<R, MapError> {
        let lent = buffers.iter_mut().map(|buffer| (buffer.as_mut_ptr(), buffer.len()));
        // SAFETY: the unique borrows last until `lend_all` has closed the gates; nobody uses them meanwhile.
        unsafe { Self::lend_all(windows, lent, true, f) }
    }

    /// Maps `buffer` for reading and writing by the device until [`unmap_owned`](Self::unmap_owned), and returns the
    /// address of its first byte.
    ///
    /// # Errors
    /// [`MapError`] with the buffer back, if it is too long or the window holds one already.
    pub fn map_owned(&mut self, buffer: Vec<u8>) -> Result<u64, (MapError, Vec<u8>)> {
        if let Err(error) = self.check(buffer.len()) {
            return Err((error, buffer));
        }
        let mut buffer = std::mem::ManuallyDrop::new(buffer);
        let owned =
            OwnedBytes { first: buffer.as_mut_ptr(), bytes: buffer.len(), capacity: buffer.capacity() };
        // SAFETY: the window is free (checked) and the bytes belong to `self.owned`, which gives them back only after
        // the gate has been closed.
        let iova = unsafe { self.open(owned.first, owned.bytes, true) };
        self.owned = Some(owned);
        Ok(iova)
    }

    /// Unmaps the owned buffer, waiting for a copy that is going on, and returns it; `None` if there is none.
    pub fn unmap_owned(&mut self) -> Option<Vec<u8>> {
        let owned = self.owned.take()?;
        self.close();
        // SAFETY: the parts come from a Vec<u8> that was taken apart by `map_owned`; the gate is closed, so the device
        // does not reach the bytes any more.
        Some(unsafe { Vec::from_raw_parts(owned.first, owned.bytes, owned.capacity) })
    }

    /// Maps bytes that the caller keeps.
    ///
    /// # Safety
    /// As [`Pane::open`], until [`close`](Self::close) has returned or the window is dropped; the window is not mapped;
    /// `bytes` is at most [`WINDOW_BYTES_MAX`].
    #[inline]
    unsafe fn open(&mut self, first: *mut u8, bytes: usize, writable: bool) -> u64 {
        let offset = match self.space.placement() {
            Placement::Natural => first.addr() % PAGE_BYTES,
            Placement::At(offset) => usize::from(offset) % PAGE_BYTES,
        };
        // SAFETY: the caller vouches for everything.
        unsafe { self.open_at(Lent { first, bytes, offset }, writable) }
    }

    /// Maps one page for reading and writing at [`base_iova`](Self::base_iova).
    ///
    /// # Safety
    /// As [`open`](Self::open).
    #[inline]
    pub(crate) unsafe fn open_page(&mut self, first: *mut u8) {
        // SAFETY: the caller vouches for everything.
        unsafe { self.open_at(Lent { first, bytes: PAGE_BYTES, offset: 0 }, true) };
    }

    /// # Safety
    /// As [`open`](Self::open).
    #[inline]
    unsafe fn open_at(&mut self, lent: Lent, writable: bool) -> u64 {
        debug_assert!(self.mapped.is_none() && lent.bytes <= WINDOW_BYTES_MAX);
        // SAFETY: `&mut self` is the only owner of the pane, its gate is closed because nothing is mapped, and the
        // caller vouches for the bytes.
        unsafe { self.pane().open(lent, writable) };
        let iova = self.base_iova() + lent.offset as u64;
        self.mapped = Some(iova);
        iova
    }

    /// Unmaps, waiting for a copy that is going on. Does nothing if nothing is mapped.
    #[inline]
    pub(crate) fn close(&mut self) {
        if self.mapped.take().is_some() {
            // SAFETY: `&mut self` is the only owner of the pane.
            unsafe { self.pane().close() };
        }
    }

    fn pane(&self) -> &Pane {
        self.space.pane(self.index)
    }

    #[inline]
    fn check(&self, bytes: usize) -> Result<(), MapError> {
        if self.mapped.is_some() {
            return Err(MapError::Occupied);
        }
        if bytes > WINDOW_BYTES_MAX { Err(MapError::TooLong { bytes }) } else { Ok(()) }
    }

    /// # Safety
    /// As [`Pane::open`] for the time of the call.
    #[inline]
    unsafe fn lend<R>(
        &mut self,
        first: *mut u8,
        bytes: usize,
        writable: bool,
        f: impl FnOnce(u64) -> R,
    ) -> Result<R, MapError> {
        self.check(bytes)?;
        let lending = Lending(std::slice::from_mut(self));
        // SAFETY: the window is free (checked); `lending` closes the gate before this call ends, also by unwinding.
        let iova = unsafe { lending.0[0].open(first, bytes, writable) };
        Ok(f(iova))
    }

    /// # Safety
    /// As [`Pane::open`] for every item, for the time of the call.
    unsafe fn lend_all<R>(
        windows: &mut [Self],
        lent: impl ExactSizeIterator<Item = (*mut u8, usize)>,
        writable: bool,
        f: impl FnOnce(&[Self]) -> R,
    ) -> Result<R, MapError> {
        let windows = windows.get_mut(..lent.len()).ok_or(MapError::TooFewWindows)?;
        if windows.iter().any(|window| window.mapped.is_some()) {
            return Err(MapError::Occupied);
        }
        let lending = Lending(windows);
        for (window, (first, bytes)) in lending.0.iter_mut().zip(lent) {
            window.check(bytes)?;
            // SAFETY: the window is free (checked); `lending` closes the gate before this call ends.
            unsafe { window.open(first, bytes, writable) };
        }
        Ok(f(lending.0))
    }
}

/// Closes the windows when dropped, also while unwinding.
struct Lending<'a>(&'a mut [Window]);

impl Drop for Lending<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Window::close);
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        drop(self.unmap_owned());
        self.close();
        self.space.free_window(self.index);
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window({}, mapped at {:x?})", self.index, self.mapped)
    }
}
