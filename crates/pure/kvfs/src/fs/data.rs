// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is in files: appending and reading.
//!
//! Appended bytes gather in a file's tail and go to the device when there are [`WRITE_BYTES`] of them, or when they are synced. Their
//! blocks are taken when they are appended, so that a full device refuses an append and not a sync.
//!
//! The last block of a file may be written again as the file grows: it then begins with the same bytes, so a cut leaves those that were
//! synced. After a truncation that is not so ([`super::truncate`]).

use super::apart::read_places;
use super::live::Live;
use super::{FULL_JOURNAL, Fs};
use super::{FileId, InodeId};
use crate::disk::Disk;
use crate::error::FsError;
use crate::extent::Extents;

/// Bytes of a tail that are written at once.
pub const WRITE_BYTES: usize = 1 << 20;
/// A file takes blocks ahead of its bytes, as many as it has, and at most so many bytes of them.
const AHEAD_BYTES_MAX: u64 = 4 << 20;

/// Writes whole blocks of a file, from block `first` on.
pub(super) fn write_blocks(
    disk: &mut impl Disk,
    extents: &Extents,
    first: u64,
    data: &[u8],
    block_bytes: u64,
) -> Result<(), FsError> {
    let (mut at, mut rest) = (first, data);
    while !rest.is_empty() {
        let run = extents.run(at).expect("a tail has blocks");
        let (part, behind) = rest.split_at(rest.len().min((run.blocks * block_bytes) as usize));
        disk.write(run.start, part)?;
        (at, rest) = (at + part.len() as u64 / block_bytes, behind);
    }
    Ok(())
}

impl<D: Disk> Fs<D> {
    pub(super) fn live(&self, file: FileId) -> Result<(InodeId, &Live), FsError> {
        let inode = self.inode(file)?;
        self.live.get(&inode).map(|live| (inode, live)).ok_or(FsError::Closed)
    }

    pub(super) fn live_mut(&mut self, inode: InodeId) -> Result<&mut Live, FsError> {
        self.live.get_mut(&inode).ok_or(FsError::Closed)
    }

    /// Bytes of a file.
    ///
    /// # Errors
    /// [`FsError::Closed`].
    pub fn bytes(&self, file: FileId) -> Result<u64, FsError> {
        Ok(self.live(file)?.1.bytes)
    }

    /// Appends to a file: all, or nothing.
    ///
    /// # Errors
    /// [`FsError::NoSpace`], the device's.
    pub fn append(&mut self, file: FileId, data: &[u8], time: u64) -> Result<(), FsError> {
        let inode = self.append_to_tail(file, data, time)?;
        if self.live_mut(inode)?.tail.len() >= WRITE_BYTES { self.write_out(inode, false) } else { Ok(()) }
    }

    /// The same, and nothing goes to the device: [`Self::writing`] says what is to.
    ///
    /// # Errors
    /// As of [`Self::append`].
    pub fn append_apart(&mut self, file: FileId, data: &[u8], time: u64) -> Result<(), FsError> {
        self.append_to_tail(file, data, time).map(drop)
    }

    fn append_to_tail(&mut self, file: FileId, data: &[u8], time: u64) -> Result<InodeId, FsError> {
        self.is_going()?;
        let inode = self.inode(file)?;
        self.bring_tail(inode)?;
        self.reserve(inode, data.len() as u64)?;
        let live = self.live_mut(inode)?;
        live.tail.extend_from_slice(data);
        live.bytes += data.len() as u64;
        live.time = time;
        live.is_dirty |= !data.is_empty();
        Ok(inode)
    }

    /// A file's last block comes to the tail, if it is not full.
    pub(super) fn bring_tail(&mut self, inode: InodeId) -> Result<(), FsError> {
        let live = self.live.get(&inode).ok_or(FsError::Closed)?;
        if live.has_tail {
            return Ok(());
        }
        let (from, to) = (live.tail_at, live.bytes);
        let mut tail = vec![0; (to - from) as usize];
        self.read_blocks(inode, from, &mut tail)?;
        let live = self.live_mut(inode)?;
        (live.tail, live.has_tail) = (tail, true);
        Ok(())
    }

    /// A file has blocks for so many bytes more.
    pub(super) fn reserve(&mut self, inode: InodeId, more: u64) -> Result<(), FsError> {
        let block_bytes = self.block_bytes();
        let live = self.live.get(&inode).ok_or(FsError::Closed)?;
        let (has, bytes) = (live.extents.blocks(), live.bytes.saturating_add(more));
        let needed = bytes.div_ceil(block_bytes).saturating_sub(has);
        if needed == 0 {
            return Ok(());
        }
        let ahead = has.min(AHEAD_BYTES_MAX / block_bytes);
        // What is ahead of need must leave room for others.
        let ahead = if self.space.free_blocks() / 8 > ahead + needed { ahead } else { 0 };
        self.has_free(needed)?;
        self.take_blocks(inode, needed.max(ahead))?;
        self.keep_blocks(inode, has)
    }

    /// So many blocks are free, if records and what files have ahead can make them so.
    pub(super) fn has_free(&mut self, blocks: u64) -> Result<(), FsError> {
        if blocks > self.space.free_blocks() {
            self.commit()?;
        }
        if blocks > self.space.free_blocks() {
            self.give_back_ahead();
        }
        if blocks > self.space.free_blocks() { Err(FsError::NoSpace("no block is free")) } else { Ok(()) }
    }

    /// A file takes so many blocks, which are free.
    pub(super) fn take_blocks(&mut self, inode: InodeId, blocks: u64) -> Result<(), FsError> {
        let live = self.live.get_mut(&inode).ok_or(FsError::Closed)?;
        let mut left = blocks;
        while left > 0 {
            let behind = live.extents.iter().last().map(|run| run.end());
            let run = self.space.allocate(left, behind).expect("so many blocks are free");
            left -= run.blocks;
            live.extents.push(run);
        }
        Ok(())
    }

    /// The journal will hold where they are, or the file gives them back.
    fn keep_blocks(&mut self, inode: InodeId, had: u64) -> Result<(), FsError> {
        if self.has_journal(0) {
            return Ok(());
        }
        let taken = self.live_mut(inode)?.extents.cut(had);
        taken.into_iter().for_each(|run| self.space.give(run));
        Err(FULL_JOURNAL)
    }

    /// Blocks that files have ahead of their bytes are free again. No trailer is in them: this is done behind a commit.
    fn give_back_ahead(&mut self) {
        let block_bytes = self.block_bytes();
        for live in self.live.values_mut() {
            let needed = live.blocks(block_bytes);
            live.extents.cut(needed).into_iter().for_each(|run| self.space.give(run));
        }
    }

    /// The block with the last trailer can be written.
    pub(super) fn settle_before_write(&mut self, inode: InodeId) -> Result<(), FsError> {
        if self.journal.is_lengthened() {
            self.settle()?;
        }
        self.settle_file(inode)
    }

    /// Writes a file's tail to the device, its last block too if `all`.
    pub(super) fn write_out(&mut self, inode: InodeId, all: bool) -> Result<(), FsError> {
        let block_bytes = self.block_bytes();
        if !self.live.get(&inode).is_some_and(|live| live.is_dirty) {
            return Ok(());
        }
        self.settle_before_write(inode)?;
        let live = self.live.get_mut(&inode).ok_or(FsError::Closed)?;
        let full = live.tail.len() as u64 / block_bytes * block_bytes;
        let bytes = if all { (live.tail.len() as u64).next_multiple_of(block_bytes) } else { full };
        let kept = live.tail.len();
        live.tail.resize(kept.max(bytes as usize), 0);
        let (first, data) = (live.tail_at / block_bytes, &live.tail[..bytes as usize]);
        let done = write_blocks(&mut self.disk, &live.extents, first, data, block_bytes);
        self.is_unflushed = true;
        live.tail.truncate(kept);
        // Who fails may try again: the tail is as it was.
        done?;
        live.tail.drain(..full as usize);
        live.tail_at += full;
        live.is_dirty = !all && !live.tail.is_empty();
        Ok(())
    }

    /// Reads from a place in a file on; fewer bytes than asked for only at its end.
    ///
    /// # Errors
    /// The device's, [`FsError::Closed`].
    pub fn read_at(&mut self, file: FileId, offset: u64, out: &mut [u8]) -> Result<usize, FsError> {
        let (inode, live) = self.live(file)?;
        let (on_device, bytes) = live.copy_tail(offset, out);
        self.read_blocks(inode, offset, &mut out[..on_device])?;
        Ok(bytes)
    }

    /// Reads bytes that are on the device.
    pub(super) fn read_blocks(&mut self, inode: InodeId, offset: u64, out: &mut [u8]) -> Result<(), FsError> {
        let live = self.live.get(&inode).ok_or(FsError::Closed)?;
        let places = live.places(offset, out.len(), self.block_bytes());
        Ok(read_places(&mut self.disk, places, out)?)
    }
}
