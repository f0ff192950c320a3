// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each operation does to the tree, and to the bytes of its checkpoint.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it carries out what devices say"
    )
)]

use super::{Applied, Node, Refused, Tree};
use crate::extent::{Extent, Extents};
use crate::inode::InodeId;
use crate::op::{OP_BYTES, RUN_BYTES};

/// Bytes of a name that a checkpoint needs for a while.
const PASSING_BYTES: usize = 24;

/// Of a name: the operation that makes it, and one that moves it from another.
fn entry_bytes(name: &str) -> usize {
    2 * (OP_BYTES + name.len() + PASSING_BYTES)
}

fn file_bytes(extents: &Extents) -> usize {
    OP_BYTES + RUN_BYTES * extents.len()
}

impl Tree {
    pub(super) fn add(
        &mut self,
        parent: InodeId,
        name: &str,
        inode: InodeId,
        node: Node,
    ) -> Result<Applied, Refused> {
        if inode.0 < self.next || inode.0 == u64::MAX {
            return Err("a number is used twice");
        }
        let bytes =
            entry_bytes(name) + if let Node::File(file) = &node { file_bytes(&file.extents) } else { 0 };
        self.enter(parent, name, inode)?;
        self.nodes.insert(inode, node);
        self.next = inode.0 + 1;
        self.encoded_bytes += bytes;
        Ok(Applied::default())
    }

    fn enter(&mut self, parent: InodeId, name: &str, inode: InodeId) -> Result<(), Refused> {
        let directory = self.directory_mut(parent)?;
        if directory.entries.contains_key(name) {
            return Err("a name is used twice");
        }
        directory.entries.insert(name.to_owned(), inode);
        Ok(())
    }

    pub(super) fn link(&mut self, parent: InodeId, name: &str, inode: InodeId) -> Result<Applied, Refused> {
        let links = self.file_mut(inode)?.links.checked_add(1).ok_or("a file has too many names")?;
        self.enter(parent, name, inode)?;
        self.file_mut(inode)?.links = links;
        self.encoded_bytes += entry_bytes(name);
        Ok(Applied::default())
    }

    pub(super) fn remove(&mut self, parent: InodeId, name: &str) -> Result<Applied, Refused> {
        let inode = self.lookup(parent, name).ok_or("no such name")?;
        if self.directory(inode).is_some_and(|directory| !directory.entries.is_empty()) {
            return Err("a directory is not empty");
        }
        self.directory_mut(parent)?.entries.remove(name);
        self.encoded_bytes -= entry_bytes(name);
        Ok(Applied { gone: self.unlink(inode), cut: Vec::new() })
    }

    /// A name of it is gone. The file, if that was the last one.
    fn unlink(&mut self, inode: InodeId) -> Option<(InodeId, Extents)> {
        if let Some(Node::File(file)) = self.nodes.get_mut(&inode) {
            file.links -= 1;
            if file.links > 0 {
                return None;
            }
        }
        let Some(Node::File(file)) = self.nodes.remove(&inode) else { return None };
        self.encoded_bytes -= file_bytes(&file.extents);
        Some((inode, file.extents))
    }

    pub(super) fn rename(&mut self, old: (InodeId, &str), new: (InodeId, &str)) -> Result<Applied, Refused> {
        let inode = self.lookup(old.0, old.1).ok_or("no such name")?;
        let replaced = self.lookup(new.0, new.1);
        if replaced == Some(inode) {
            return Ok(Applied::default());
        }
        let is_directory = self.directory(inode).is_some();
        if is_directory && self.is_above(inode, new.0) {
            return Err("a directory moves below itself");
        }
        self.directory(new.0).ok_or("no such directory")?;
        if replaced.is_some_and(|other| self.directory(other).is_some() != is_directory) {
            return Err("a file and a directory take each other's place");
        }
        let applied = if replaced.is_some() { self.remove(new.0, new.1)? } else { Applied::default() };
        self.directory_mut(old.0)?.entries.remove(old.1);
        self.directory_mut(new.0)?.entries.insert(new.1.to_owned(), inode);
        self.encoded_bytes = self.encoded_bytes - entry_bytes(old.1) + entry_bytes(new.1);
        if is_directory {
            self.directory_mut(inode)?.parent = new.0;
        }
        Ok(applied)
    }

    pub(super) fn set(
        &mut self,
        inode: InodeId,
        (bytes, time): (u64, u64),
        kept: u64,
        runs: &[Extent],
    ) -> Result<Applied, Refused> {
        let blocks = bytes.div_ceil(self.block_bytes);
        let file = self.file_mut(inode)?;
        let more = runs.iter().try_fold(0_u64, |sum, run| sum.checked_add(run.blocks));
        if file.extents.blocks() < kept || more.and_then(|more| more.checked_add(kept)) != Some(blocks) {
            return Err("a file has other blocks than its length needs");
        }
        let before = file_bytes(&file.extents);
        let cut = file.extents.cut(kept);
        runs.iter().for_each(|run| file.extents.push(*run));
        (file.bytes, file.time) = (bytes, time);
        let after = file_bytes(&file.extents);
        self.encoded_bytes = self.encoded_bytes - before + after;
        Ok(Applied { gone: None, cut })
    }

    pub(super) fn truncate(&mut self, inode: InodeId, bytes: u64, time: u64) -> Result<Applied, Refused> {
        let blocks = bytes.div_ceil(self.block_bytes);
        let file = self.file_mut(inode)?;
        if bytes > file.bytes {
            return Err("a file is cut to more than it has");
        }
        let before = file_bytes(&file.extents);
        let cut = file.extents.cut(blocks);
        (file.bytes, file.time) = (bytes, time);
        let after = file_bytes(&file.extents);
        self.encoded_bytes = self.encoded_bytes - before + after;
        Ok(Applied { gone: None, cut })
    }
}
