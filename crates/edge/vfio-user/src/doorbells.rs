// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory of ours that a client may map: the page of doorbells, and a controller memory buffer. A doorbell that is written there tells
//! nobody: the device has to look.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use saker_link::{Doorbells, ForeignMemory, ForeignOwner};
use saker_pcie::bar::{DOORBELLS, PAGE_BYTES, QUEUE_PAIRS};

/// The file whose second page has the doorbells, as BAR 0 has them.
#[derive(Debug)]
pub(crate) struct DoorbellPage {
    pub file: OwnedFd,
    pub doorbells: Arc<Doorbells>,
}

/// A mapping here of a file that is ours, and sealed.
#[derive(Debug)]
struct Ours {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it is an address; who reaches what is there does so by atomic operations.
unsafe impl Send for Ours {}
// SAFETY: as for Send.
unsafe impl Sync for Ours {}

impl ForeignOwner for Ours {
    /// Nobody can make the file shorter.
    fn is_lost(&self) -> bool {
        false
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by us, and who had a pointer into it kept this alive.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}

/// A file of zeros that nobody can make shorter, and the mapping of `bytes` bytes from `offset` on.
fn sealed(name: &str, offset: u64, bytes: u64) -> io::Result<(OwnedFd, Ours)> {
    let file = memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, offset + bytes)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let (protection, bytes) = (ProtFlags::READ | ProtFlags::WRITE, bytes as usize);
    // SAFETY: the system chooses free addresses, so nothing that is mapped changes.
    let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, &file, offset)? };
    let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
    Ok((file, Ours { start, bytes }))
}

/// The memory of a controller memory buffer, and the file that a client maps it from.
///
/// # Errors
/// When the system has no memory.
pub(crate) fn memory(bytes: u64) -> io::Result<(OwnedFd, Arc<ForeignMemory>)> {
    let (file, ours) = sealed("saker-memory-buffer", 0, bytes)?;
    let (start, bytes) = (ours.start, ours.bytes);
    // SAFETY: the bytes are mapped as long as their owner lives, from a file that cannot shrink, and reached by this memory only.
    Ok((file, unsafe { ForeignMemory::new(start, bytes, true, Arc::new(ours)) }))
}

impl DoorbellPage {
    /// A page of zeros in a file that nobody can make shorter.
    ///
    /// # Errors
    /// When the system has no memory.
    pub fn new() -> io::Result<Self> {
        let (file, ours) = sealed("saker-doorbells", DOORBELLS, PAGE_BYTES)?;
        let (start, owner) = (ours.start, Arc::new(ours));
        // SAFETY: a page has room for all doorbells; it is mapped as long as its owner lives, from a file that cannot shrink.
        let doorbells = unsafe { Doorbells::shared(start, QUEUE_PAIRS + 1, owner) };
        Ok(Self { file, doorbells })
    }
}
