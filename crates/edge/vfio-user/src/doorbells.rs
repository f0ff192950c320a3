// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The page of doorbells that a client may map. A doorbell that is written there tells nobody: the device has to look.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use saker_link::{Doorbells, ForeignOwner};
use saker_pcie::bar::{DOORBELLS, PAGE_BYTES, QUEUE_PAIRS};

/// The file whose second page has the doorbells, as BAR 0 has them.
#[derive(Debug)]
pub(crate) struct DoorbellPage {
    pub file: OwnedFd,
    pub doorbells: Arc<Doorbells>,
}

/// Its mapping here.
#[derive(Debug)]
struct Page(NonNull<u8>);

// SAFETY: it is an address; who reaches the page does so by atomic operations.
unsafe impl Send for Page {}
// SAFETY: as for Send.
unsafe impl Sync for Page {}

impl ForeignOwner for Page {
    /// The file is ours, and sealed.
    fn is_lost(&self) -> bool {
        false
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: the page was mapped by us, and who had a pointer into it kept this alive.
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), PAGE_BYTES as usize) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}

impl DoorbellPage {
    /// A page of zeros in a file that nobody can make shorter.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("saker-doorbells", flags)?;
        ftruncate(&file, DOORBELLS + PAGE_BYTES)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let (protection, bytes) = (ProtFlags::READ | ProtFlags::WRITE, PAGE_BYTES as usize);
        // SAFETY: the system chooses free addresses, so nothing that is mapped changes.
        let page = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, &file, DOORBELLS)? };
        let page = NonNull::new(page.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        let owner = Arc::new(Page(page));
        // SAFETY: a page has room for all doorbells; it is mapped as long as its owner lives, from a file that cannot shrink.
        let doorbells = unsafe { Doorbells::shared(page, QUEUE_PAIRS + 1, owner) };
        Ok(Self { file, doorbells })
    }
}
