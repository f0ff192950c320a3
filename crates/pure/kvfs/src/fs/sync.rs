// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making durable what was done: data first, then the record that names it.

use super::{FileId, Fs, InodeId};
use crate::disk::{Disk, DiskError};
use crate::error::FsError;
use crate::op::Op;

impl<D: Disk> Fs<D> {
    /// Everything is durable when this returns.
    ///
    /// # Errors
    /// The device's; [`FsError::Stopped`].
    pub fn sync(&mut self) -> Result<(), FsError> {
        self.is_going()?;
        let all: Vec<InodeId> = self.live.keys().copied().collect();
        for inode in &all {
            self.write_out(*inode, true)?;
        }
        self.flush_data()?;
        for inode in all {
            self.record_file(inode)?;
        }
        self.commit()
    }

    /// All operations on names that were done before are durable when this returns.
    ///
    /// # Errors
    /// The device's; [`FsError::Stopped`].
    pub fn sync_names(&mut self) -> Result<(), FsError> {
        self.is_going()?;
        self.commit()
    }

    pub(super) fn flush_data(&mut self) -> Result<(), FsError> {
        if self.is_unflushed {
            let done = self.disk.flush();
            self.or_stop(done)?;
            self.is_unflushed = false;
        }
        Ok(())
    }

    /// All operations are durable when this returns. What they say of files was flushed before they were done ([`Self::record_file`]).
    pub(super) fn commit(&mut self) -> Result<(), FsError> {
        self.unfollow()?;
        let is_recorded =
            self.pending.is_empty() && !self.journal.has_passing() && !self.journal.is_lengthened();
        if is_recorded && self.space.awaiting_blocks() == 0 {
            return Ok(());
        }
        if !is_recorded {
            // Of passing records, and of what they say of files, too.
            self.flush_data()?;
            let done = self.record();
            self.or_stop(done)?;
            self.pending.clear();
        }
        self.followed = None;
        for freed in self.space.durable() {
            self.disk.trim(freed.start, freed.blocks)?;
        }
        Ok(())
    }

    fn record(&mut self) -> Result<(), DiskError> {
        if self.journal.has_room(self.pending.len()) {
            return self.journal.append(&mut self.disk, &self.pending);
        }
        let mut all = Vec::with_capacity(self.tree.encoded_bytes());
        self.tree.operations().iter().for_each(|op| op.encode(&mut all));
        assert!(all.len() <= self.tree.encoded_bytes(), "a checkpoint is no longer than was thought");
        self.journal.checkpoint(&mut self.disk, &all)
    }

    /// What a file has is to be in the next record: its bytes are on the device, flushed.
    pub(super) fn record_file(&mut self, inode: InodeId) -> Result<(), FsError> {
        self.unfollow()?;
        let block_bytes = self.block_bytes();
        let (Some(live), Some(file)) = (self.live.get(&inode), self.tree.file(inode)) else { return Ok(()) };
        if !live.is_recorded(file) {
            let (runs, blocks) = (live.unnamed(block_bytes), live.blocks(block_bytes));
            let (bytes, time, kept) = (live.bytes, live.time, live.same.min(blocks));
            self.perform(&Op::Set { inode, bytes, time, kept, runs })?;
            self.live_mut(inode)?.same = blocks;
        }
        self.forget_if_closed(inode);
        Ok(())
    }

    fn forget_if_closed(&mut self, inode: InodeId) {
        let (Some(live), Some(file)) = (self.live.get(&inode), self.tree.file(inode)) else { return };
        if live.handles == 0 && live.is_recorded(file) {
            self.give_back(inode);
            self.live.remove(&inode);
        }
    }

    fn give_back(&mut self, inode: InodeId) {
        let block_bytes = self.block_bytes();
        let Some(live) = self.live.get_mut(&inode) else { return };
        let needed = live.blocks(block_bytes);
        live.extents.cut(needed).into_iter().for_each(|run| self.space.give(run));
    }

    /// What a file has, and its name, are durable when this returns.
    ///
    /// # Errors
    /// The device's; [`FsError::Stopped`].
    pub fn sync_file(&mut self, file: FileId) -> Result<(), FsError> {
        self.is_going()?;
        let inode = self.inode(file)?;
        self.write_out(inode, true)?;
        self.flush_data()?;
        self.record_file(inode)?;
        self.commit()
    }

    /// Sends what was appended to the device. It is there when a sync follows, and no record says so before.
    ///
    /// # Errors
    /// The device's.
    pub fn send_file(&mut self, file: FileId) -> Result<(), FsError> {
        self.is_going()?;
        let inode = self.inode(file)?;
        self.write_out(inode, true)
    }

    /// Closes a file. What was not synced of it can be read and is durable after the next [`Self::sync`].
    ///
    /// # Errors
    /// [`FsError::Busy`]; the device's: the file is closed all the same.
    pub fn close(&mut self, file: FileId) -> Result<(), FsError> {
        let inode = self.inode(file)?;
        let live = self.live_mut(inode)?;
        if live.handles == 1 && live.is_written_apart {
            return Err(FsError::Busy);
        }
        live.handles -= 1;
        let (left, is_gone) = (live.handles, live.is_gone);
        self.handles.remove(&file);
        if left > 0 {
            return Ok(());
        }
        if is_gone {
            self.drop_live(inode);
            return Ok(());
        }
        // Until the journal says what trailers say, it keeps all its blocks.
        self.settle_file(inode)?;
        let written = self.write_out(inode, true);
        self.give_back(inode);
        self.forget_if_closed(inode);
        written
    }
}
