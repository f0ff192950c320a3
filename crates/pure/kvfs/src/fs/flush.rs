// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What outlives the program, as long as the device has power: the bytes go to their blocks, and a trailer or a passing record names them.
//! The device is not asked to make either durable.

use super::{FileId, Fs, InodeId};
use crate::disk::Disk;
use crate::error::FsError;
use crate::op::Op;

impl<D: Disk> Fs<D> {
    /// What a file has, its name, and all that was done to names before outlive this program when this returns. They do not survive a cut
    /// of power. More than a megabyte since the last call is synced instead, and so is everything on files of an older format.
    ///
    /// # Errors
    /// The device's: the same can be tried again; [`FsError::Stopped`].
    pub fn flush_file(&mut self, file: FileId) -> Result<(), FsError> {
        self.is_going()?;
        let inode = self.inode(file)?;
        if self.flush_followed(inode)? {
            return Ok(());
        }
        self.settle()?;
        if !self.grow(inode)? {
            return self.sync_file(file);
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        self.follow(inode)?;
        if self.pass_pending()? {
            return Ok(());
        }
        self.followed = None;
        self.commit()
    }

    /// A file's bytes go to its blocks, and what names them waits for the next record. `false`: they are more than the tail has.
    fn grow(&mut self, inode: InodeId) -> Result<bool, FsError> {
        let block_bytes = self.block_bytes();
        let (Some(live), Some(file)) = (self.live.get(&inode), self.tree.file(inode)) else {
            return Ok(true);
        };
        if live.is_recorded(file) {
            return Ok(true);
        }
        let from = live.first_unnamed(file, block_bytes);
        let Some(start) = from.checked_sub(live.tail_at).filter(|_| live.has_tail) else { return Ok(false) };
        let crc = crc_fast::crc32_iscsi(&live.tail[start as usize..]);
        let (runs, blocks) = (live.unnamed(block_bytes), live.blocks(block_bytes));
        let (bytes, time, kept) = (live.bytes, live.time, live.same.min(blocks));
        self.write_out(inode, true)?;
        self.perform(&Op::Grow { inode, bytes, time, kept, from, crc, runs })?;
        self.live_mut(inode)?.same = blocks;
        Ok(true)
    }
}
