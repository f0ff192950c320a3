//! Calls to the host file system, and what their failures mean for the device.

use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;
use saker_medium::MediaError;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// A full file system or quota is a status of its own; so is a limit on the size of files.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

pub(super) fn media_error(error: &io::Error) -> MediaError {
    if is_full(error) { MediaError::HostFull } else { MediaError::HostIo }
}

/// Allocates the first bytes of a file, so that writing them can no longer fail for lack of space.
pub(super) fn preallocate(file: &File, bytes: u64) -> io::Result<()> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_zeros(file, 0, bytes),
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Gives the space of a range back. Whether that worked; the bytes are zero then.
pub(super) fn punch_hole(file: &File, at: u64, bytes: u64) -> bool {
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    loop {
        match rustix::fs::fallocate(file, flags, at, bytes) {
            Ok(()) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

pub(super) fn write_zeros(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; bytes.min(1 << 20) as usize];
    let mut done = 0;
    while done < bytes {
        let part = (bytes - done).min(zeros.len() as u64);
        file.write_all_at(&zeros[..part as usize], at + done)?;
        done += part;
    }
    Ok(())
}

/// The next range at or after `from` and before `end` that is not a hole. A file system that does not know
/// holes has one range.
pub(super) fn next_extent(file: &File, from: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
    if from >= end {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(from)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((from, end))),
        Err(errno) => return Err(errno.into()),
    };
    if start >= end {
        return Ok(None);
    }
    let stop = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(end);
    Ok(Some((start, stop.min(end))))
}

/// Makes a new directory entry last.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent)?.sync_all()
}
