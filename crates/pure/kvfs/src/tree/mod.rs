// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names and what they lead to, as operations make them: the same code carries out what users ask and what a journal says.
//!
//! Blocks of files are those that records name. What is written and not synced is in [`crate::fs`].
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

mod change;
mod checkpoint;

use crate::extent::{Extent, Extents};
use crate::inode::{InodeId, ROOT};
use crate::op::Op;
use std::collections::BTreeMap;

/// What a name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Bytes.
    File,
    /// Names.
    Directory,
}

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Its number.
    pub inode: InodeId,
    /// What it is.
    pub kind: Kind,
    /// Bytes of a file.
    pub bytes: u64,
    /// Names of a file.
    pub links: u32,
    /// When it was made or last written, microseconds since 1970.
    pub time: u64,
}

/// A file, as records say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its length.
    pub bytes: u64,
    /// Its blocks, as many as the length needs.
    pub extents: Extents,
    links: u32,
    time: u64,
}

/// A directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    entries: BTreeMap<String, InodeId>,
    parent: InodeId,
    time: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Node {
    File(File),
    Directory(Directory),
}

/// What an operation did to blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The file that has no name any more, with its blocks.
    pub gone: Option<(InodeId, Extents)>,
    /// Blocks that a file does not have any more.
    pub cut: Vec<Extent>,
}

/// Why an operation cannot be done.
pub type Refused = &'static str;

/// All names, from the root on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    nodes: BTreeMap<InodeId, Node>,
    next: u64,
    block_bytes: u64,
    /// Bytes of [`Tree::operations`], at most.
    encoded_bytes: usize,
}

impl Tree {
    /// Nothing but the root.
    pub fn new(block_bytes: u32) -> Self {
        let root = Directory { entries: BTreeMap::new(), parent: ROOT, time: 0 };
        let nodes = BTreeMap::from([(ROOT, Node::Directory(root))]);
        Self { nodes, next: ROOT.0 + 1, block_bytes: u64::from(block_bytes), encoded_bytes: 0 }
    }

    /// A number that nothing has had.
    pub fn next_inode(&self) -> InodeId {
        InodeId(self.next)
    }

    /// Bytes that a checkpoint of it takes, at most.
    pub fn encoded_bytes(&self) -> usize {
        self.encoded_bytes
    }

    /// A file.
    pub fn file(&self, inode: InodeId) -> Option<&File> {
        if let Some(Node::File(file)) = self.nodes.get(&inode) { Some(file) } else { None }
    }

    fn file_mut(&mut self, inode: InodeId) -> Result<&mut File, Refused> {
        if let Some(Node::File(file)) = self.nodes.get_mut(&inode) { Ok(file) } else { Err("no such file") }
    }

    fn directory(&self, inode: InodeId) -> Option<&Directory> {
        if let Some(Node::Directory(directory)) = self.nodes.get(&inode) { Some(directory) } else { None }
    }

    fn directory_mut(&mut self, inode: InodeId) -> Result<&mut Directory, Refused> {
        match self.nodes.get_mut(&inode) {
            Some(Node::Directory(directory)) => Ok(directory),
            _ => Err("no such directory"),
        }
    }

    /// What a name in a directory leads to; `None` without such a directory or name.
    pub fn lookup(&self, parent: InodeId, name: &str) -> Option<InodeId> {
        self.directory(parent)?.entries.get(name).copied()
    }

    /// The names in a directory, in their order.
    pub fn entries(&self, directory: InodeId) -> Option<impl Iterator<Item = (&str, InodeId)>> {
        self.directory(directory).map(|d| d.entries.iter().map(|(name, inode)| (name.as_str(), *inode)))
    }

    /// What is known of something.
    pub fn stat(&self, inode: InodeId) -> Option<Stat> {
        Some(match self.nodes.get(&inode)? {
            Node::File(File { bytes, links, time, .. }) => {
                Stat { inode, kind: Kind::File, bytes: *bytes, links: *links, time: *time }
            }
            Node::Directory(d) => Stat { inode, kind: Kind::Directory, bytes: 0, links: 1, time: d.time },
        })
    }

    /// All files.
    pub fn files(&self) -> impl Iterator<Item = (InodeId, &File)> {
        self.nodes.iter().filter_map(|(inode, node)| match node {
            Node::File(file) => Some((*inode, file)),
            Node::Directory(_) => None,
        })
    }

    /// How many directories, the root included.
    pub fn directories(&self) -> u64 {
        self.nodes.values().filter(|node| matches!(node, Node::Directory(_))).count() as u64
    }

    /// Whether a directory is another one, or above it.
    pub fn is_above(&self, above: InodeId, below: InodeId) -> bool {
        let mut at = below;
        // As many steps as there are nodes, so that a circle ends.
        for _ in 0..=self.nodes.len() {
            if at == above {
                return true;
            }
            match self.directory(at) {
                Some(directory) if at != ROOT => at = directory.parent,
                _ => return false,
            }
        }
        false
    }

    /// Carries an operation out, wholly or not at all.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn apply(&mut self, op: &Op) -> Result<Applied, Refused> {
        match op {
            Op::Create { parent, inode, time, name } => {
                let file = File { bytes: 0, extents: Extents::default(), links: 1, time: *time };
                self.add(*parent, name, *inode, Node::File(file))
            }
            Op::MakeDirectory { parent, inode, time, name } => {
                let directory = Directory { entries: BTreeMap::new(), parent: *parent, time: *time };
                self.add(*parent, name, *inode, Node::Directory(directory))
            }
            Op::Link { parent, inode, name } => self.link(*parent, name, *inode),
            Op::Remove { parent, name } => self.remove(*parent, name),
            Op::Rename { parent, name, new_parent, new_name } => {
                self.rename((*parent, name), (*new_parent, new_name))
            }
            Op::Set { inode, bytes, time, kept, runs } | Op::Grow { inode, bytes, time, kept, runs, .. } => {
                self.set(*inode, (*bytes, *time), *kept, runs)
            }
            Op::Truncate { inode, bytes, time } => self.truncate(*inode, *bytes, *time),
            Op::Follow { .. } | Op::Behind { .. } => Ok(Applied::default()),
        }
    }
}
