// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Directories, names, and opening what they lead to.

use super::live::Live;
use super::{FileId, Fs};
use crate::disk::Disk;
use crate::error::FsError;
use crate::inode::{InodeId, ROOT};
use crate::op::Op;
use crate::path;
use crate::tree::{Kind, Stat};

impl<D: Disk> Fs<D> {
    fn walk(&self, names: &[&str], path: &str) -> Result<InodeId, FsError> {
        let mut at = ROOT;
        for name in names {
            self.as_directory(at, path)?;
            at = self.tree.lookup(at, name).ok_or_else(|| FsError::NotFound(path.to_owned()))?;
        }
        Ok(at)
    }

    fn as_directory(&self, inode: InodeId, path: &str) -> Result<(), FsError> {
        match self.tree.stat(inode).map(|stat| stat.kind) {
            Some(Kind::Directory) => Ok(()),
            _ => Err(FsError::NotADirectory(path.to_owned())),
        }
    }

    fn as_file(&self, inode: InodeId, path: &str) -> Result<(), FsError> {
        match self.tree.file(inode) {
            Some(_) => Ok(()),
            None => Err(FsError::IsADirectory(path.to_owned())),
        }
    }

    fn find(&self, path: &str) -> Result<InodeId, FsError> {
        self.walk(&path::names(path)?, path)
    }

    /// The directory of a path, and the name there.
    fn place<'p>(&self, path: &'p str) -> Result<(InodeId, &'p str), FsError> {
        let (directories, name) = path::split(path)?;
        let parent = self.walk(&directories, path)?;
        self.as_directory(parent, path)?;
        Ok((parent, name))
    }

    /// Makes an empty file and opens it. A file that has the name is emptied.
    ///
    /// # Errors
    /// [`FsError::NotFound`] of a directory above, [`FsError::IsADirectory`], [`FsError::NoSpace`], [`FsError::Busy`].
    pub fn create(&mut self, path: &str, time: u64) -> Result<FileId, FsError> {
        self.is_going()?;
        let (parent, name) = self.place(path)?;
        if let Some(inode) = self.tree.lookup(parent, name) {
            self.as_file(inode, path)?;
            self.is_not_written_apart(inode)?;
            let file = self.open_inode(inode);
            return match self.truncate(file, 0, time) {
                Ok(()) => Ok(file),
                Err(error) => {
                    self.close(file)?;
                    Err(error)
                }
            };
        }
        let inode = self.tree.next_inode();
        self.perform(&Op::Create { parent, inode, time, name: name.to_owned() })?;
        Ok(self.open_inode(inode))
    }

    /// Opens a file.
    ///
    /// # Errors
    /// [`FsError::NotFound`], [`FsError::IsADirectory`].
    pub fn open(&mut self, path: &str) -> Result<FileId, FsError> {
        let inode = self.find(path)?;
        self.as_file(inode, path)?;
        Ok(self.open_inode(inode))
    }

    fn open_inode(&mut self, inode: InodeId) -> FileId {
        let block_bytes = self.block_bytes();
        if let (None, Some(file)) = (self.live.get(&inode), self.tree.file(inode)) {
            let time = self.tree.stat(inode).map_or(0, |stat| stat.time);
            self.live.insert(inode, Live::of(file, time, block_bytes));
        }
        let id = FileId(self.next_handle);
        self.next_handle += 1;
        self.handles.insert(id, inode);
        self.live.entry(inode).and_modify(|live| live.handles += 1);
        id
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// [`FsError::Exists`], [`FsError::NotFound`] of a directory above, [`FsError::NoSpace`].
    pub fn make_directory(&mut self, path: &str, time: u64) -> Result<(), FsError> {
        self.is_going()?;
        let Ok((parent, name)) = self.place(path) else {
            return match self.find(path) {
                // The root.
                Ok(_) => Err(FsError::Exists(path.to_owned())),
                Err(error) => Err(error),
            };
        };
        if self.tree.lookup(parent, name).is_some() {
            return Err(FsError::Exists(path.to_owned()));
        }
        let inode = self.tree.next_inode();
        self.perform(&Op::MakeDirectory { parent, inode, time, name: name.to_owned() })
    }

    /// Takes a file's name away. Who has it open goes on using it.
    ///
    /// # Errors
    /// [`FsError::NotFound`], [`FsError::IsADirectory`].
    pub fn remove(&mut self, path: &str) -> Result<(), FsError> {
        self.is_going()?;
        let (parent, name) = self.place(path)?;
        let inode = self.tree.lookup(parent, name).ok_or_else(|| FsError::NotFound(path.to_owned()))?;
        self.as_file(inode, path)?;
        self.perform(&Op::Remove { parent, name: name.to_owned() })
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`FsError::NotFound`], [`FsError::NotADirectory`], [`FsError::NotEmpty`].
    pub fn remove_directory(&mut self, path: &str) -> Result<(), FsError> {
        self.is_going()?;
        let (parent, name) = self.place(path)?;
        let inode = self.tree.lookup(parent, name).ok_or_else(|| FsError::NotFound(path.to_owned()))?;
        self.as_directory(inode, path)?;
        self.is_empty(inode, path)?;
        self.perform(&Op::Remove { parent, name: name.to_owned() })
    }

    fn is_empty(&self, directory: InodeId, path: &str) -> Result<(), FsError> {
        match self.tree.entries(directory).is_some_and(|mut names| names.next().is_some()) {
            true => Err(FsError::NotEmpty(path.to_owned())),
            false => Ok(()),
        }
    }

    /// Gives something another name, in place of what has that: at each moment the new name leads to one of both.
    ///
    /// # Errors
    /// As of [`Self::remove`] for what is replaced; [`FsError::Circle`].
    pub fn rename(&mut self, path: &str, new_path: &str) -> Result<(), FsError> {
        self.is_going()?;
        let (parent, name) = self.place(path)?;
        let inode = self.tree.lookup(parent, name).ok_or_else(|| FsError::NotFound(path.to_owned()))?;
        let (new_parent, new_name) = self.place(new_path)?;
        let is_directory = self.as_directory(inode, path).is_ok();
        if is_directory && self.tree.is_above(inode, new_parent) {
            return Err(FsError::Circle(new_path.to_owned()));
        }
        if let Some(replaced) = self.tree.lookup(new_parent, new_name).filter(|other| *other != inode) {
            if is_directory {
                self.as_directory(replaced, new_path)?;
                self.is_empty(replaced, new_path)?;
            } else {
                self.as_file(replaced, new_path)?;
            }
        }
        let (name, new_name) = (name.to_owned(), new_name.to_owned());
        self.perform(&Op::Rename { parent, name, new_parent, new_name })
    }

    /// Gives a file one more name.
    ///
    /// # Errors
    /// [`FsError::NotFound`], [`FsError::IsADirectory`], [`FsError::Exists`].
    pub fn link(&mut self, path: &str, new_path: &str) -> Result<(), FsError> {
        self.is_going()?;
        let inode = self.find(path)?;
        self.as_file(inode, path)?;
        let (parent, name) = self.place(new_path)?;
        if self.tree.lookup(parent, name).is_some() {
            return Err(FsError::Exists(new_path.to_owned()));
        }
        self.perform(&Op::Link { parent, inode, name: name.to_owned() })
    }

    /// The names in a directory, in their order, and what they lead to.
    ///
    /// # Errors
    /// [`FsError::NotFound`], [`FsError::NotADirectory`].
    pub fn list(&self, path: &str) -> Result<Vec<(String, Stat)>, FsError> {
        let inode = self.find(path)?;
        let entries = self.tree.entries(inode).ok_or_else(|| FsError::NotADirectory(path.to_owned()))?;
        Ok(entries.filter_map(|(name, inode)| Some((name.to_owned(), self.stat_inode(inode)?))).collect())
    }

    /// What a path leads to.
    ///
    /// # Errors
    /// [`FsError::NotFound`].
    pub fn stat(&self, path: &str) -> Result<Stat, FsError> {
        let inode = self.find(path)?;
        self.stat_inode(inode).ok_or_else(|| FsError::NotFound(path.to_owned()))
    }

    /// What users see: what is not synced of a file counts.
    fn stat_inode(&self, inode: InodeId) -> Option<Stat> {
        let stat = self.tree.stat(inode)?;
        Some(match self.live.get(&inode) {
            Some(live) => Stat { bytes: live.bytes, time: live.time, ..stat },
            None => stat,
        })
    }

    pub(super) fn inode(&self, file: FileId) -> Result<InodeId, FsError> {
        self.handles.get(&file).copied().ok_or(FsError::Closed)
    }
}
