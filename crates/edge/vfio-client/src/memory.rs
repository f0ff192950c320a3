// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory that both sides reach: a file in memory, of a length that nobody changes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use saker_link::{Doorbells, ForeignMemory, ForeignOwner, PAGE_BYTES};

/// A mapping, which ends when it is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping is a range of addresses; who reaches into it does so by atomic operations.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl ForeignOwner for Mapping {
    /// What is mapped here cannot be cut off: memory of ours is sealed, and a server's page of doorbells too.
    fn is_lost(&self) -> bool {
        false
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is that of a mapping of ours, and nobody has a pointer into it: they kept this alive.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}

fn map(file: impl AsFd, offset: u64, bytes: usize) -> io::Result<Mapping> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: the system chooses free addresses, so nothing that is mapped changes.
    let start = unsafe { mmap(ptr::null_mut(), bytes, protection, MapFlags::SHARED, file, offset)? };
    let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
    Ok(Mapping { start, bytes })
}

/// Pages of zeros in a file, and their mapping.
///
/// # Errors
/// When the system has no memory.
pub fn shared_pages(pages: u32) -> io::Result<(OwnedFd, Arc<ForeignMemory>)> {
    let bytes = pages as usize * PAGE_BYTES;
    let file = memfd_create("saker-host", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    ftruncate(&file, bytes as u64)?;
    fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    let mapping = map(&file, 0, bytes)?;
    let start = mapping.start;
    // SAFETY: the bytes are mapped as long as the owner lives, from a file that cannot shrink, and reached by this memory only.
    let memory = unsafe { ForeignMemory::new(start, bytes, true, Arc::new(mapping)) };
    Ok((file, memory))
}

/// Memory of a server's file, which has so many bytes.
///
/// # Errors
/// When the file is too short, the bytes are not whole pages, or it cannot be mapped.
pub fn mapped(file: impl AsFd, bytes: u64) -> io::Result<Arc<ForeignMemory>> {
    let size = u64::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let bytes = usize::try_from(bytes).map_err(|_| invalid())?;
    if bytes == 0 || !bytes.is_multiple_of(PAGE_BYTES) || size < bytes as u64 {
        return Err(invalid());
    }
    let mapping = map(&file, 0, bytes)?;
    let start = mapping.start;
    // SAFETY: the bytes are mapped as long as the owner lives, and reached by this memory only. The file was long enough, and a server
    // that cuts it off harms this process only, whose user has chosen the server.
    Ok(unsafe { ForeignMemory::new(start, bytes, true, Arc::new(mapping)) })
}

/// The doorbells of so many queue pairs, in the page at `offset` of a server's file, which has a page there.
///
/// # Errors
/// When the file is too short, or cannot be mapped.
pub fn doorbells(file: impl AsFd, offset: u64, queue_pairs: u16) -> io::Result<Arc<Doorbells>> {
    let size = u64::try_from(rustix::fs::fstat(&file)?.st_size).unwrap_or(0);
    let room = PAGE_BYTES / 8;
    if size < offset.saturating_add(PAGE_BYTES as u64) || usize::from(queue_pairs) > room {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mapping = map(&file, offset, PAGE_BYTES)?;
    let start = mapping.start;
    // SAFETY: a page has room for them; it is mapped as long as its owner lives. The file was long enough, and a server that
    // cuts it off harms this process only, whose user has chosen the server.
    Ok(unsafe { Doorbells::shared(start, queue_pairs, Arc::new(mapping)) })
}
