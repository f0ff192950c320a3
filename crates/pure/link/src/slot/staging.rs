// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A slot: a command identifier, a staging page and a PRP list page.

use std::fmt;
use std::ptr::NonNull;

use saker_duty::Duty;

use crate::dma::{DmaRegion, PAGE_BYTES, WINDOW_BYTES_MAX, Window};

/// Bytes of a slot's staging page.
pub const STAGING_BYTES: usize = PAGE_BYTES;

/// Entries of a slot's PRP list: one page.
pub const LIST_ENTRIES: usize = PAGE_BYTES / 8;

// The longest buffer at the worst offset covers one page more than its length; PRP1 names the first page, the list the
// others. So one list page is enough and lists never have to be chained.
const _: () = assert!(WINDOW_BYTES_MAX.div_ceil(PAGE_BYTES) <= LIST_ENTRIES);

/// Page-aligned, as PRP entries that follow PRP1 demand.
#[repr(C, align(4096))]
struct Page([u8; STAGING_BYTES]);

/// The right to have one command in flight, with the memory for it. Moved into the queue with the command and given
/// back with its completion, so that the host cannot touch memory that the device may be using.
///
/// The staging page is plain memory behind a [`Window`]: the device reaches it only between submission and completion,
/// and only if the command [lent](Self::lend_staging) it.
///
/// Whoever has one in hand submits it or gives it back to its pool: one that is dropped is lost to the pool, so debug builds
/// panic. One that is kept for later, by an owner with which it may go, [rests](Self::rest) there.
pub struct Slot(Box<Parts>);

struct Parts {
    index: u16,
    lend: bool,
    window: Window,
    /// From `Box::into_raw`; a raw pointer, because no reference may exist while the window is open.
    page: NonNull<Page>,
    list: DmaRegion,
    duty: Duty,
}

// SAFETY: a slot owns its page; every access goes through `&self` or `&mut self`, or through the window's gate.
unsafe impl Send for Parts {}
// SAFETY: `&Parts` only reads the page, and the device writes it only while the queue owns the slot.
unsafe impl Sync for Parts {}

impl Slot {
    pub(super) fn new(index: u16, window: Window, list: DmaRegion) -> Self {
        let page = Box::new(Page([0; STAGING_BYTES]));
        let page = NonNull::from(Box::leak(page));
        let duty = Duty::new("a slot is submitted, or goes back to its pool");
        Self(Box::new(Parts { index, lend: false, window, page, list, duty }))
    }

    /// It is kept where its owner finds it again, and may go with the owner.
    #[inline]
    pub fn rest(&mut self) {
        self.0.duty.rest();
    }

    /// It is taken from there: it is submitted, or goes back to its pool.
    #[inline]
    pub fn owe(&mut self) {
        self.0.duty.owe();
    }

    /// The command identifier.
    #[inline]
    pub fn index(&self) -> u16 {
        self.0.index
    }

    /// The staging page. Its contents stay from command to command.
    #[inline]
    pub fn staging(&self) -> &[u8; STAGING_BYTES] {
        // SAFETY: the page is allocated and initialised, and closed to the device while someone else than the queue
        // has the slot; the borrow of the slot keeps it from being submitted.
        unsafe { &self.0.page.as_ref().0 }
    }

    /// The staging page, to fill it.
    #[inline]
    pub fn staging_mut(&mut self) -> &mut [u8; STAGING_BYTES] {
        // SAFETY: as for `staging`, and the borrow is unique.
        unsafe { &mut self.0.page.as_mut().0 }
    }

    /// Makes the next submission lend the staging page to the device, and returns the page-aligned address at which
    /// the device will find it. (Commands that do not need the page save the locked operation of taking it back.)
    #[inline]
    pub fn lend_staging(&mut self) -> u64 {
        self.0.lend = true;
        self.0.window.base_iova()
    }

    /// Address of the PRP list page.
    #[inline]
    pub fn list_iova(&self) -> u64 {
        self.0.list.iova()
    }

    /// Writes an entry of the PRP list.
    ///
    /// # Panics
    /// If `entry` is not below [`LIST_ENTRIES`].
    #[inline]
    pub fn write_list_entry(&mut self, entry: usize, iova: u64) {
        assert!(entry < LIST_ENTRIES, "a PRP list page has {LIST_ENTRIES} entries");
        let at = self.0.list.iova() + entry as u64 * 8;
        let written = self.0.list.space().write_u64(at, iova);
        debug_assert!(written.is_ok(), "the list page is in the arena");
    }

    /// The queue takes the slot over: opens the page if it was lent.
    #[inline]
    pub(super) fn depart(&mut self) {
        self.rest();
        if self.0.lend {
            let page = self.0.page.as_ptr().cast();
            // SAFETY: the page stays allocated until the slot is dropped, which closes the window first. The queue owns
            // the slot until `arrive`, so that nobody borrows the page meanwhile.
            unsafe { self.0.window.open_page(page) };
        }
    }

    /// The command has completed: takes the page back.
    #[inline]
    pub(super) fn arrive(&mut self) {
        self.owe();
        self.0.window.close();
        self.0.lend = false;
    }

    pub(super) fn belongs_to(&self, staging_iova: u64) -> bool {
        self.0.window.base_iova() == staging_iova
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.window.close();
        // SAFETY: the page comes from a leaked Box, the window is closed, and nothing uses it after this.
        drop(unsafe { Box::from_raw(self.page.as_ptr()) });
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Slot({})", self.0.index)
    }
}
