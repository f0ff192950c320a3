// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Calls to the host file system, and what their failures mean for the device. Every call that an image makes passes
//! here, where tests can have it fail ([`super::faults`]).

use super::faults::{self, Call};
use rustix::fs::{FallocateFlags, SeekFrom};
use rustix::io::Errno;
use saker_segment_store::CellError;
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

pub(super) fn media_error(error: &io::Error) -> CellError {
    if is_full(error) { CellError::HostFull } else { CellError::HostIo }
}

/// Writes all of it. A part that was written is followed by the rest; an interrupted call is made again.
pub(super) fn write_at(file: &File, mut bytes: &[u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let most = faults::bytes_of(Call::Write, bytes.len());
        match most.and_then(|most| file.write_at(&bytes[..most], at)) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (bytes, at) = (&bytes[written..], at + written as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads all of it, as [`write_at`] writes.
pub(super) fn read_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        let most = faults::bytes_of(Call::Read, bytes.len());
        match most.and_then(|most| file.read_at(&mut bytes[..most], at)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => (bytes, at) = (&mut bytes[read..], at + read as u64),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Whether a call of that kind may be made: no test has planned its failure.
pub(super) fn may(call: Call) -> io::Result<()> {
    again_if_interrupted(|| faults::ask(call))
}

/// fdatasync. It is made again only if it was interrupted: after any other failure the kernel has forgotten what it
/// lost.
pub(super) fn sync_data(file: &File) -> io::Result<()> {
    again_if_interrupted(|| faults::ask(Call::Sync).and_then(|()| file.sync_data()))
}

/// fsync.
pub(super) fn sync_all(file: &File) -> io::Result<()> {
    again_if_interrupted(|| faults::ask(Call::Sync).and_then(|()| file.sync_all()))
}

/// ftruncate.
pub(super) fn set_len(file: &File, bytes: u64) -> io::Result<()> {
    again_if_interrupted(|| faults::ask(Call::Resize).and_then(|()| file.set_len(bytes)))
}

fn again_if_interrupted(mut call: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn fallocate(file: &File, flags: FallocateFlags, at: u64, bytes: u64) -> io::Result<()> {
    again_if_interrupted(|| {
        faults::ask(Call::Allocate)?;
        Ok(rustix::fs::fallocate(file, flags, at, bytes)?)
    })
}

/// Allocates the first bytes of a file, so that writing them can no longer fail for lack of space.
pub(super) fn preallocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => write_zeros(file, 0, bytes),
        result => result,
    }
}

/// Gives the space of a range back. Whether that worked; the bytes are zero then.
pub(super) fn punch_hole(file: &File, at: u64, bytes: u64) -> bool {
    fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes).is_ok()
}

pub(super) fn write_zeros(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    let zeros = vec![0; bytes.min(1 << 20) as usize];
    let mut done = 0;
    while done < bytes {
        let part = (bytes - done).min(zeros.len() as u64);
        write_at(file, &zeros[..part as usize], at + done)?;
        done += part;
    }
    Ok(())
}

/// The next range at or after `from` and before `end` that is not a hole; it is not empty. A file system that does not know
/// holes has one range.
pub(super) fn next_extent(file: &File, from: u64, end: u64) -> io::Result<Option<(u64, u64)>> {
    extent(from, end, &mut |at| rustix::fs::seek(file, at))
}

/// Two calls find a range, and a device at work may give its bytes back between them: then the hole begins where there was data
/// a moment ago, and one looks again.
fn extent(
    mut from: u64,
    end: u64,
    seek: &mut dyn FnMut(SeekFrom) -> Result<u64, Errno>,
) -> io::Result<Option<(u64, u64)>> {
    while from < end {
        let start = match seek(SeekFrom::Data(from)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(None),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((from, end))),
            Err(errno) => return Err(errno.into()),
        };
        if start >= end {
            return Ok(None);
        }
        let stop = seek(SeekFrom::Hole(start)).unwrap_or(end).min(end);
        if stop > start {
            return Ok(Some((start, stop)));
        }
        from = start;
    }
    Ok(None)
}

/// Asks the kernel to read a range from the disk next time, where it may: what is mapped stays.
pub(super) fn uncache(file: &File, at: u64, bytes: u64) {
    // It is a wish: a file system may not know it.
    let _ = rustix::fs::fadvise(file, at, std::num::NonZeroU64::new(bytes), rustix::fs::Advice::DontNeed);
}

/// Makes a new directory entry last.
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_all(&File::open(parent)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of `seek`, one call after the other.
    fn found(answers: &[Result<u64, Errno>]) -> Option<(u64, u64)> {
        let mut answers = answers.iter();
        let next = &mut |_| *answers.next().expect("no further call");
        let found = extent(100, 1000, next).expect("no failure");
        assert!(answers.next().is_none(), "every call is made");
        found
    }

    #[test]
    fn a_range_ends_at_a_hole_or_at_the_end() {
        assert_eq!(found(&[Ok(200), Ok(300)]), Some((200, 300)));
        assert_eq!(found(&[Ok(200), Ok(5000)]), Some((200, 1000)));
        assert_eq!(found(&[Ok(200), Err(Errno::NXIO)]), Some((200, 1000)));
        assert_eq!(found(&[Ok(1000)]), None);
        assert_eq!(found(&[Err(Errno::NXIO)]), None);
        assert_eq!(found(&[Err(Errno::INVAL)]), Some((100, 1000)));
    }

    #[test]
    fn data_given_back_between_two_calls_is_no_range() {
        assert_eq!(found(&[Ok(100), Ok(100), Ok(400), Ok(500)]), Some((400, 500)));
        assert_eq!(found(&[Ok(100), Ok(100), Err(Errno::NXIO)]), None);
        assert_eq!(found(&[Ok(999), Ok(999), Ok(1000)]), None);
    }
}
