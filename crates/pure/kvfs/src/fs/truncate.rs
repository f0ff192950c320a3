// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making files shorter or longer. The rest of a block that is cut goes to another one: a cut of power may leave the file as it was.

use super::data::WRITE_BYTES;
use super::{FULL_JOURNAL, FileId, Fs, InodeId};
use crate::disk::Disk;
use crate::error::FsError;
use crate::extent::Extent;
use crate::op::{Op, RUN_BYTES};

impl<D: Disk> Fs<D> {
    /// Makes a file shorter, or longer by zeros.
    ///
    /// # Errors
    /// The device's, [`FsError::NoSpace`], [`FsError::Busy`].
    pub fn truncate(&mut self, file: FileId, bytes: u64, time: u64) -> Result<(), FsError> {
        self.is_going()?;
        let inode = self.inode(file)?;
        self.is_not_written_apart(inode)?;
        self.settle_file(inode)?;
        let has = self.live_mut(inode)?.bytes;
        if bytes >= has {
            return self.append_zeros(file, bytes - has, time);
        }
        self.bring_tail(inode)?;
        let tail_at = bytes / self.block_bytes() * self.block_bytes();
        let tail = self.tail_of(inode, tail_at, bytes)?;
        self.shorten(inode, bytes, time, tail)
    }

    fn append_zeros(&mut self, file: FileId, bytes: u64, time: u64) -> Result<(), FsError> {
        let inode = self.inode(file)?;
        self.reserve(inode, bytes)?;
        let zeros = vec![0; WRITE_BYTES.min(bytes as usize)];
        let mut left = bytes;
        while left > 0 {
            let part = left.min(zeros.len() as u64);
            self.append(file, &zeros[..part as usize], time)?;
            left -= part;
        }
        Ok(())
    }

    /// The bytes of a file's last block if it ends at `to`.
    fn tail_of(&mut self, inode: InodeId, from: u64, to: u64) -> Result<Vec<u8>, FsError> {
        let live = self.live_mut(inode)?;
        if from >= live.tail_at {
            let start = (from - live.tail_at) as usize;
            return Ok(live.tail[start..start + (to - from) as usize].to_vec());
        }
        let mut tail = vec![0; (to - from) as usize];
        self.read_blocks(inode, from, &mut tail)?;
        Ok(tail)
    }

    fn shorten(&mut self, inode: InodeId, bytes: u64, time: u64, tail: Vec<u8>) -> Result<(), FsError> {
        let block_bytes = self.block_bytes();
        let tail_at = bytes / block_bytes * block_bytes;
        let (whole, blocks) = (tail_at / block_bytes, bytes.div_ceil(block_bytes));
        let named = self.live_mut(inode)?.same;
        // A block that records name is not written again with other bytes behind those that stay.
        let moves = blocks > whole && whole < named;
        if moves {
            self.has_free(1)?;
            if !self.has_journal(RUN_BYTES) {
                return Err(FULL_JOURNAL);
            }
        }
        let kept = if moves { whole } else { blocks };
        let live = self.live_mut(inode)?;
        let before = live.tail_at;
        // A full block in the tail may not be on the device yet.
        let waiting =
            if tail_at > before { live.tail[..(tail_at - before) as usize].to_vec() } else { Vec::new() };
        let cut = live.extents.cut(kept);
        live.same = named.min(whole);
        (live.bytes, live.time) = (bytes, time);
        live.tail_at = before.min(tail_at);
        live.tail = [waiting, tail].concat();
        live.has_tail = true;
        live.is_dirty = !live.tail.is_empty();
        let is_gone = live.is_gone;
        self.free_cut(cut, named.saturating_sub(kept), is_gone);
        if moves {
            self.take_blocks(inode, 1)?;
        }
        self.record_truncation(inode, bytes, time)
    }

    /// Of blocks that a file has lost the first `named` are in records: the operation that takes them out frees them.
    fn free_cut(&mut self, cut: Vec<Extent>, named: u64, is_gone: bool) {
        let mut left = named;
        for mut run in cut {
            let recorded = run.blocks.min(left);
            left -= recorded;
            if recorded > 0 && is_gone {
                self.space.give_later(Extent { start: run.start, blocks: recorded });
            }
            (run.start, run.blocks) = (run.start + recorded, run.blocks - recorded);
            if run.blocks > 0 {
                self.space.give(run);
            }
        }
    }

    fn record_truncation(&mut self, inode: InodeId, bytes: u64, time: u64) -> Result<(), FsError> {
        match self.tree.file(inode) {
            Some(file) if bytes < file.bytes => self.perform(&Op::Truncate { inode, bytes, time }),
            _ => Ok(()),
        }
    }
}
