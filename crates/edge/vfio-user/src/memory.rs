// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A client's memory in this process: a file that it shares.
//!
//! Only files that live in memory are taken (memfd, tmpfs, huge pages): a page of another one could make the device wait for a
//! disk, or for a file system of the client's own.

use std::io;
use std::os::fd::OwnedFd;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use rustix::fs::{FileType, fstat, fstatfs};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use saker_link::{ForeignMemory, ForeignOwner, PAGE_BYTES};

use crate::bus_error::Watch;

/// linux/magic.h.
const TMPFS_MAGIC: u64 = 0x0102_1994;
const HUGETLBFS_MAGIC: u64 = 0x9584_58F6;

/// A mapping, which ends when it is dropped.
#[derive(Debug)]
struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
    /// `None` only on the way out.
    watch: Option<Watch>,
}

// SAFETY: a mapping is a range of addresses; who reaches into it does so by atomic operations.
unsafe impl Send for Mapping {}
// SAFETY: as for Send.
unsafe impl Sync for Mapping {}

impl ForeignOwner for Mapping {
    fn is_lost(&self) -> bool {
        self.watch.as_ref().is_none_or(Watch::is_lost)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Not watched any more before the addresses are somebody else's.
        self.watch = None;
        // SAFETY: the range is that of a mapping of ours, and nobody has a pointer into it: they kept this alive.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "it was mapped");
    }
}

/// Maps `bytes` bytes of a client's file from `offset` on.
///
/// # Errors
/// For ranges that are not whole pages of the file, files that do not live in memory, and what the system refuses.
pub(crate) fn map(file: &OwnedFd, offset: u64, bytes: u64, writable: bool) -> io::Result<Arc<ForeignMemory>> {
    let page_bytes = page_bytes(file)?;
    let page = PAGE_BYTES as u64;
    let end = offset.checked_add(bytes).ok_or_else(invalid)?;
    let size = u64::try_from(fstat(file)?.st_size).unwrap_or(0);
    if bytes == 0 || !offset.is_multiple_of(page) || !bytes.is_multiple_of(page) || end > size {
        return Err(invalid());
    }
    // A file of huge pages is mapped by whole ones.
    let (first, last) = (offset / page_bytes * page_bytes, end.next_multiple_of(page_bytes));
    let length = usize::try_from(last - first).map_err(|_| invalid())?;
    let mut protection = ProtFlags::READ;
    protection.set(ProtFlags::WRITE, writable);
    let flags = MapFlags::SHARED | MapFlags::NORESERVE;
    // SAFETY: the system chooses free addresses, so nothing that is mapped changes.
    let start = unsafe { mmap(ptr::null_mut(), length, protection, flags, file, first)? };
    let start = NonNull::new(start.cast::<u8>()).ok_or_else(invalid)?;
    let mut mapping = Mapping { start, bytes: length, watch: None };
    mapping.watch = Some(Watch::new(start.as_ptr() as usize, length, page_bytes as usize)?);
    let (within, bytes) = ((offset - first) as usize, bytes as usize);
    // SAFETY: `within + bytes` bytes are mapped.
    let wanted = unsafe { start.add(within) };
    // SAFETY: the mapping is readable, and writable if asked for, as long as its owner lives: what the client cuts off becomes
    // pages of zeros. This process reaches it by the memory that is made here only.
    Ok(unsafe { ForeignMemory::new(wanted, bytes, writable, Arc::new(mapping)) })
}

/// Bytes of a page of a file that lives in memory.
fn page_bytes(file: &OwnedFd) -> io::Result<u64> {
    let (stat, system) = (fstat(file)?, fstatfs(file)?);
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    match (system.f_type as u64) & 0xFFFF_FFFF {
        TMPFS_MAGIC if is_file => Ok(PAGE_BYTES as u64),
        HUGETLBFS_MAGIC if is_file => u64::try_from(system.f_bsize).map_err(|_| invalid()),
        _ => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}
