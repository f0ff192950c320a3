// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading and writing without the file system: it says where bytes are, whoever asked moves them, and others use the file system meanwhile.
//!
//! Blocks of an open file stay its own, so what is read apart cannot become another file's. What is written apart stays in the tail until it is on
//! the device: a read, a sync, or a failed write finds it there.

use super::{FileId, Fs, InodeId};
use crate::disk::{Disk, DiskError};
use crate::error::FsError;
use crate::extent::Extent;

/// Reads bytes of a file from where they are, one place behind the other.
pub(super) fn read_places(
    disk: &mut impl Disk,
    places: Vec<(u64, usize)>,
    out: &mut [u8],
) -> Result<(), DiskError> {
    let mut rest = out;
    for (at, bytes) in places {
        let (part, behind) = rest.split_at_mut(bytes);
        disk.read_bytes(at, part)?;
        rest = behind;
    }
    Ok(())
}

/// Bytes of a file that are on the device. The file has to be open until they are read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "nothing is read yet"]
pub struct Reading {
    /// How many bytes there are of those that were asked for. Behind those on the device they are read already.
    bytes: usize,
    /// Where on the device the first of them are, and how many in a row.
    places: Vec<(u64, usize)>,
}

impl Reading {
    /// Reads what is on the device, to the bytes that were given to [`Fs::reading`]. How many there are: fewer only at the file's end.
    ///
    /// # Errors
    /// The device's.
    pub fn read(self, disk: &mut impl Disk, out: &mut [u8]) -> Result<usize, DiskError> {
        read_places(disk, self.places, out)?;
        Ok(self.bytes)
    }
}

/// Full blocks of a file that are to be written. Until [`Fs::written`] has it back nobody truncates or closes the file.
#[derive(Debug)]
#[must_use = "the file waits for it"]
pub struct Writing {
    inode: InodeId,
    /// Where they begin in the file.
    from: u64,
    data: Vec<u8>,
    runs: Vec<Extent>,
    block_bytes: u64,
}

impl Writing {
    /// Writes them.
    ///
    /// # Errors
    /// The device's: the same can be tried again.
    pub fn write(&self, disk: &mut impl Disk) -> Result<(), DiskError> {
        let mut rest = self.data.as_slice();
        for run in &self.runs {
            let (part, behind) = rest.split_at((run.blocks * self.block_bytes) as usize);
            disk.write(run.start, part)?;
            rest = behind;
        }
        assert!(rest.is_empty(), "they have blocks");
        Ok(())
    }
}

impl<D: Disk> Fs<D> {
    /// Where bytes of a file are, from a place on. Those that are not on the device are copied to the end of what is to be read.
    ///
    /// # Errors
    /// [`FsError::Closed`].
    pub fn reading(&self, file: FileId, offset: u64, out: &mut [u8]) -> Result<Reading, FsError> {
        let (_, live) = self.live(file)?;
        let (on_device, bytes) = live.copy_tail(offset, out);
        let places = live.places(offset, on_device, self.block_bytes());
        Ok(Reading { bytes, places })
    }

    /// The full blocks of a file's tail, if they have at least so many bytes. One at a time of a file.
    ///
    /// # Errors
    /// [`FsError::Closed`], [`FsError::Stopped`], [`FsError::Busy`], the device's.
    pub fn writing(&mut self, file: FileId, bytes_min: usize) -> Result<Option<Writing>, FsError> {
        self.is_going()?;
        let inode = self.inode(file)?;
        self.is_not_written_apart(inode)?;
        let block_bytes = self.block_bytes();
        let full = |tail: usize| tail / block_bytes as usize * block_bytes as usize;
        let live = self.live_mut(inode)?;
        let bytes = full(live.tail.len());
        if !live.is_dirty || bytes < bytes_min.max(1) {
            return Ok(None);
        }
        self.settle_before_write(inode)?;
        let live = self.live_mut(inode)?;
        live.is_written_apart = true;
        let from = live.tail_at;
        let runs = live.runs(from / block_bytes, (from + bytes as u64) / block_bytes);
        let data = live.tail[..bytes].to_vec();
        Ok(Some(Writing { inode, from, data, runs, block_bytes }))
    }

    /// Blocks that are being written stay the file's.
    pub(super) fn is_not_written_apart(&self, inode: InodeId) -> Result<(), FsError> {
        if self.live.get(&inode).is_some_and(|live| live.is_written_apart) {
            Err(FsError::Busy)
        } else {
            Ok(())
        }
    }

    /// They were written, or could not be.
    ///
    /// # Errors
    /// [`FsError::Closed`].
    pub fn written(&mut self, writing: Writing, is_done: bool) -> Result<(), FsError> {
        // A flush that came meanwhile need not have covered them.
        self.is_unflushed = true;
        let live = self.live_mut(writing.inode)?;
        assert!(live.is_written_apart, "it was begun");
        live.is_written_apart = false;
        // A sync of all files may have written them, too.
        if is_done && live.tail_at == writing.from {
            live.tail.drain(..writing.data.len());
            live.tail_at += writing.data.len() as u64;
            live.is_dirty = !live.tail.is_empty();
        }
        Ok(())
    }
}
