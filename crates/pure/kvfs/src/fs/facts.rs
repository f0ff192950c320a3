// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is known of a file system.

use super::{Fs, Space};
use crate::disk::Disk;
use crate::inode::InodeId;
use crate::layout::Layout;
use crate::tree::Tree;

impl<D: Disk> Fs<D> {
    /// Bytes of the device.
    pub fn space(&self) -> Space {
        let block_bytes = self.block_bytes();
        let free = self.space.free_blocks() + self.space.awaiting_blocks();
        Space { total: self.layout.data().blocks * block_bytes, free: free * block_bytes }
    }

    /// Says what contradicts itself: each block of the data is free, or freed and not recorded, or one file's.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), String> {
        let named = |inode: &InodeId| self.tree.file(*inode).map_or(0, |file| file.extents.blocks());
        let in_use = self
            .live
            .iter()
            .map(|(inode, live)| live.extents.blocks() + named(inode).saturating_sub(live.same));
        let at_rest = self.tree.files().filter(|(inode, _)| !self.live.contains_key(inode));
        let of_files = in_use.sum::<u64>() + at_rest.map(|(_, file)| file.extents.blocks()).sum::<u64>();
        let (free, awaiting, all) =
            (self.space.free_blocks(), self.space.awaiting_blocks(), self.layout.data().blocks);
        if of_files + free + awaiting == all {
            return Ok(());
        }
        Err(format!("{of_files} blocks of files, {free} free and {awaiting} freed are not {all}"))
    }

    /// The device, for what it tells of itself.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Where what lies.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The tree as records will say when all is recorded that was done, without what is not synced of files.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// The checkpoint that records go on from, and how many follow it.
    pub fn journal_position(&self) -> (u64, u64) {
        (self.journal.generation(), self.journal.records())
    }
}
