// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Locks of files, for the users of one file system.

use super::{FileId, Fs};
use crate::disk::Disk;
use crate::error::FsError;

impl<D: Disk> Fs<D> {
    /// Makes a file if there is none, and locks it for one user of this file system at a time. A lock ends with the program.
    ///
    /// # Errors
    /// [`FsError::Locked`], or as of [`Self::create`].
    pub fn lock(&mut self, path: &str, time: u64) -> Result<FileId, FsError> {
        let file = match self.open(path) {
            Err(FsError::NotFound(_)) => self.create(path, time)?,
            opened => opened?,
        };
        let inode = self.inode(file)?;
        if self.locks.insert(inode) {
            return Ok(file);
        }
        self.close(file)?;
        Err(FsError::Locked(path.to_owned()))
    }

    /// Ends a lock.
    ///
    /// # Errors
    /// [`FsError::Closed`].
    pub fn unlock(&mut self, file: FileId) -> Result<(), FsError> {
        let inode = self.inode(file)?;
        self.locks.remove(&inode);
        self.close(file)
    }
}
