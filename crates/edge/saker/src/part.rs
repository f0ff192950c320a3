// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that get their name when they are complete. Until then `NAME.part` has what is there, so that nobody takes a part for
//! the whole, whenever the process or the machine ends.

use crate::error::Error;
use crate::image::ImageError;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file that is being made.
#[derive(Debug)]
pub(crate) struct Part {
    part: PathBuf,
    path: PathBuf,
    /// Made by whoever has this, and without its name: it goes when this is dropped.
    is_ours: bool,
}

impl Part {
    /// That of a path.
    pub fn of(path: &Path) -> Self {
        let mut name = path.as_os_str().to_owned();
        name.push(".part");
        Self { part: PathBuf::from(name), path: path.to_path_buf(), is_ours: false }
    }

    /// It was made: from now on it is removed if it does not get its name.
    pub const fn made(&mut self) {
        self.is_ours = true;
    }

    /// Where it is until it has its name.
    pub fn place(&self) -> &Path {
        &self.part
    }

    /// Gives it its name, which no file may have. What came there meanwhile is not overwritten where the file system has links.
    ///
    /// # Errors
    /// [`ImageError::Exists`] and [`ImageError::Io`].
    pub fn name(mut self) -> Result<(), Error> {
        self.sync(&self.part, "sync")?;
        match std::fs::hard_link(&self.part, &self.path) {
            Ok(()) => std::fs::remove_file(&self.part).map_err(|error| self.failed(error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(self.failed(error)),
            Err(_) => std::fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))?,
        }
        self.is_ours = false;
        self.sync_folder()
    }

    /// Gives it its name instead of the file that has it.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn replace(mut self) -> Result<(), Error> {
        self.sync(&self.part, "sync")?;
        std::fs::rename(&self.part, &self.path).map_err(|error| self.failed(error))?;
        self.is_ours = false;
        self.sync_folder()
    }

    fn sync(&self, path: &Path, doing: &'static str) -> Result<(), Error> {
        let synced = File::open(path).and_then(|file| file.sync_all());
        synced.map_err(|source| ImageError::Io { path: path.to_path_buf(), doing, source }.into())
    }

    /// The name is durable, too.
    fn sync_folder(&self) -> Result<(), Error> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        self.sync(folder.unwrap_or(Path::new(".")), "sync the folder")
    }

    fn failed(&self, source: io::Error) -> Error {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::AlreadyExists => ImageError::Exists { path }.into(),
            _ => ImageError::Io { path, doing: "rename what was made to", source }.into(),
        }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_ours {
            // Why it failed matters more than a left-over.
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
