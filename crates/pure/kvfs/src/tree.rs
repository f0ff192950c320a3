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

use crate::extent::{Extent, Extents};
use crate::op::{OP_BYTES, Op, RUN_BYTES};
use std::collections::BTreeMap;

/// The number of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(pub u64);

/// The directory that every path begins in.
pub const ROOT: InodeId = InodeId(1);

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
            Op::Set { inode, bytes, time, kept, runs } => self.set(*inode, (*bytes, *time), *kept, runs),
            Op::Truncate { inode, bytes, time } => self.truncate(*inode, *bytes, *time),
        }
    }

    fn add(&mut self, parent: InodeId, name: &str, inode: InodeId, node: Node) -> Result<Applied, Refused> {
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

    fn link(&mut self, parent: InodeId, name: &str, inode: InodeId) -> Result<Applied, Refused> {
        let links = self.file_mut(inode)?.links.checked_add(1).ok_or("a file has too many names")?;
        self.enter(parent, name, inode)?;
        self.file_mut(inode)?.links = links;
        self.encoded_bytes += entry_bytes(name);
        Ok(Applied::default())
    }

    fn remove(&mut self, parent: InodeId, name: &str) -> Result<Applied, Refused> {
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

    fn rename(&mut self, old: (InodeId, &str), new: (InodeId, &str)) -> Result<Applied, Refused> {
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

    fn set(
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

    fn truncate(&mut self, inode: InodeId, bytes: u64, time: u64) -> Result<Applied, Refused> {
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

    /// The operations that make this tree out of nothing.
    pub fn operations(&self) -> Vec<Op> {
        let (mut names, mut sets) = (Vec::new(), Vec::new());
        // Numbers grow in the order of the operations, so what a directory moved into may be newer than itself.
        let mut pending: BTreeMap<InodeId, Vec<(InodeId, &str)>> = BTreeMap::new();
        for (parent, node) in &self.nodes {
            let Node::Directory(directory) = node else { continue };
            for (name, inode) in &directory.entries {
                pending.entry(*inode).or_default().push((*parent, name));
            }
        }
        self.emit(&pending, &mut names);
        for (inode, file) in self.files().filter(|(_, file)| file.bytes > 0) {
            let runs = file.extents.iter().collect();
            sets.push(Op::Set { inode, bytes: file.bytes, time: file.time, kept: 0, runs });
        }
        names.extend(sets);
        names
    }

    /// Directories and files in the order of their numbers. A directory whose parent has a higher number is made in the root first,
    /// under its number, and moved when all are there.
    fn emit(&self, pending: &BTreeMap<InodeId, Vec<(InodeId, &str)>>, out: &mut Vec<Op>) {
        let mut moves = Vec::new();
        for (&inode, places) in pending {
            let Some((&(parent, name), others)) = places.split_first() else { continue };
            let is_ready = parent < inode;
            let at = if is_ready { (parent, name.to_owned()) } else { (ROOT, self.passing(inode)) };
            let time = self.stat(inode).map_or(0, |stat| stat.time);
            out.push(match self.file(inode) {
                Some(_) => Op::Create { parent: at.0, inode, time, name: at.1.clone() },
                None => Op::MakeDirectory { parent: at.0, inode, time, name: at.1.clone() },
            });
            if !is_ready {
                let (new_parent, new_name) = (parent, name.to_owned());
                moves.push(Op::Rename { parent: at.0, name: at.1, new_parent, new_name });
            }
            let link = |(parent, name): &(InodeId, &str)| Op::Link {
                parent: *parent,
                inode,
                name: (*name).to_owned(),
            };
            moves.extend(others.iter().map(link));
        }
        out.append(&mut moves);
    }

    /// A name in the root that nothing has.
    fn passing(&self, inode: InodeId) -> String {
        let mut name = format!("{:x}", inode.0);
        while self.lookup(ROOT, &name).is_some() {
            name.push('~');
        }
        name
    }
}
