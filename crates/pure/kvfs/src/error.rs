// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong.

use crate::disk::DiskError;

/// Why a call did nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FsError {
    /// No file or directory has this name.
    #[error("{0}: no such file or directory")]
    NotFound(String),
    /// The name is taken.
    #[error("{0}: it exists already")]
    Exists(String),
    /// A directory is needed.
    #[error("{0}: not a directory")]
    NotADirectory(String),
    /// A file is needed.
    #[error("{0}: is a directory")]
    IsADirectory(String),
    /// Only an empty directory can be removed or replaced.
    #[error("{0}: the directory is not empty")]
    NotEmpty(String),
    /// A directory cannot move below itself.
    #[error("{0}: a directory cannot move below itself")]
    Circle(String),
    /// Not a name.
    #[error("{0:?} is not a name: use 1 to 255 bytes without NUL, and neither `.` nor `..`")]
    Name(String),
    /// Somebody else has the lock.
    #[error("{0}: locked by another user of this file system")]
    Locked(String),
    /// Nobody has this file open.
    #[error("the file is closed")]
    Closed,
    /// Its blocks are being written without the file system.
    #[error("the file is being written; wait until that is done")]
    Busy,
    /// No block is free.
    #[error("no space is left: {0}; remove files, or make the namespace larger")]
    NoSpace(&'static str),
    /// A past failure of the device left open what is there.
    #[error("the file system stopped at a failure of the device ({0}); open it again")]
    Stopped(DiskError),
    /// The device.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The device has no file system.
    #[error("there is no file system on this namespace; make one with `saker fs mkfs`")]
    NoFileSystem,
    /// The device is too small, or its blocks are.
    #[error("the namespace cannot take a file system: {0}")]
    Geometry(String),
    /// The device has a file system that contradicts itself.
    #[error("the file system is damaged: {0}")]
    Damaged(String),
}

/// An operation of the journal that cannot be carried out, by the place behind it.
pub(crate) fn damaged(record: u64, at: usize, why: &str) -> FsError {
    FsError::Damaged(format!("byte {at} of record {record} in the journal: {why}"))
}
