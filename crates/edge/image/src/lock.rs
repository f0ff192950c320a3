// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lock of an image: one writer, or readers.
//!
//! It is an flock(2) on the open file. Media and ring mapping share it; the last of them gives it back by an
//! explicit unlock, which also counts for copies of the descriptor that a child process got by fork and
//! has not closed yet.

use super::{ImageError, header};
use std::fs::{File, OpenOptions, TryLockError};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// What an image is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Alone, to use it.
    Write,
    /// Together with other readers. Programs, erases and ring stores work but stay in this process, so that
    /// recovery can be tried without touching the file.
    Read,
}

/// An open file with its lock.
#[derive(Debug)]
pub(super) struct Locked(File);

impl Deref for Locked {
    type Target = File;
    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // If this fails, closing the file unlocks it.
        let _ = self.0.unlock();
    }
}

impl Locked {
    /// Locks a file that was just made.
    pub fn new(file: File) -> std::io::Result<Self> {
        file.try_lock()?;
        Ok(Self(file))
    }

    /// Between opening and locking another image may have taken the name, as [`std::fs::rename`] does it in one step: what
    /// was opened is nobody's then.
    fn still_at(self, path: &Path) -> Result<Self, ImageError> {
        let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
        let named = std::fs::metadata(path).map(place).map_err(ImageError::io(path, "open"))?;
        let opened = self.0.metadata().map(place).map_err(ImageError::io(path, "examine"))?;
        if named == opened { Ok(self) } else { Err(ImageError::InUse { path: path.to_path_buf() }) }
    }

    /// Opens and locks without waiting.
    pub fn open(path: &Path, access: Access) -> Result<Self, ImageError> {
        let metadata = std::fs::metadata(path).map_err(ImageError::io(path, "open"))?;
        if !metadata.is_file() {
            // Opening a pipe would wait for its other end.
            return Err(ImageError::NotImage { path: path.to_path_buf() });
        }
        let file = OpenOptions::new().read(true).write(access == Access::Write).open(path);
        let file = file.map_err(ImageError::io(path, "open"))?;
        let locked = match access {
            Access::Write => file.try_lock(),
            Access::Read => file.try_lock_shared(),
        };
        match locked {
            Ok(()) => Self(file).still_at(path),
            Err(TryLockError::WouldBlock) => Err(ImageError::InUse { path: path.to_path_buf() }),
            Err(TryLockError::Error(source)) => Err(ImageError::io(path, "lock")(source)),
        }
    }
}

/// A lock of an image without anything else.
#[derive(Debug)]
pub struct Held(pub(super) Locked);

impl Held {
    /// Whether the image at a path is the one that is locked.
    ///
    /// # Errors
    /// [`ImageError::InUse`] if another one has its name by now.
    pub fn still_at(self, path: &Path) -> Result<Self, ImageError> {
        self.0.still_at(path).map(Self)
    }

    /// Whether it is an image, or one whose making was interrupted: [`create`](super::create) writes the header last, so there are
    /// zeros in its place until then.
    ///
    /// # Errors
    /// [`ImageError::Io`].
    pub fn is_image_or_begun(&self, path: &Path) -> Result<bool, ImageError> {
        header::is_there_or_begun(&self.0).map_err(ImageError::io(path, "read"))
    }
}

/// Locks an image, and does nothing else with it.
///
/// # Errors
/// [`ImageError::InUse`], [`ImageError::NotImage`] for what is no file, [`ImageError::Io`].
pub fn hold(path: &Path, access: Access) -> Result<Held, ImageError> {
    Locked::open(path, access).map(Held)
}
