// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a backup cannot be made, read or restored. Each text is one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a backup cannot be made, read or restored.
///
/// ```
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("disk.bak");
/// # std::fs::write(&path, b"something else")?;
/// use saker::{BackupError, Error};
/// let error = saker::read_backup(&path).unwrap_err();
/// assert!(matches!(error, Error::Backup(BackupError::NotBackup { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Error)]
pub enum BackupError {
    /// There is such a file, and none is written over.
    #[error("{} exists already; choose another name", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file does not begin as a backup does.
    #[error("{} is no backup of Saker's; name a file that `saker backup` has made", path.display())]
    NotBackup {
        /// The file.
        path: PathBuf,
    },
    /// It was made by a later version of the program.
    #[error("{} was made by a newer version ({what}); restore it with that one", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not understood.
        what: String,
    },
    /// It is not what was written: nothing of it is given out from there on.
    #[error("{} is damaged at byte {at}: {what}; use another backup", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the frame begins that is not sound.
        at: u64,
        /// What is wrong with it.
        what: String,
    },
    /// The system refused.
    #[error("cannot {doing} {}: {source}; see the file system", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted, as a verb.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A file does not go on from the one before it.
    #[error("{} does not go on from {}; give the full backup first, then each that was made since, in order", path.display(), before.display())]
    Order {
        /// The file.
        path: PathBuf,
        /// The one before it.
        before: PathBuf,
    },
    /// The first file is not a full one.
    #[error("{} has only what changed since another backup; give the full one before it", path.display())]
    NotFull {
        /// The file.
        path: PathBuf,
    },
    /// Others may write, and the namespace cannot be read as of one moment.
    #[error(
        "namespace {nsid} cannot be copied as of one moment while others may write ({why}); stop the target and back up file:IMAGE, \
         or take a copy in which only each {what} by itself is whole, with --per-key"
    )]
    Moving {
        /// The namespace.
        nsid: u32,
        /// `pair` or `block`.
        what: &'static str,
        /// Why it cannot.
        why: &'static str,
    },
    /// The place for the pairs or blocks is not empty.
    #[error(
        "namespace {nsid} of the target is not empty; name another target, or erase it first with --replace"
    )]
    NotEmpty {
        /// The namespace.
        nsid: u32,
    },
    /// The target cannot hold what the backup has, or the backup lacks it.
    #[error("{what}; {todo}")]
    Unsuited {
        /// What does not fit.
        what: String,
        /// What to do.
        todo: &'static str,
    },
    /// The target failed on the way: it has a part of the backup.
    #[error(
        "{done} of {all} pairs and blocks of namespace {nsid} were restored, then: {reason}; repeat it with --replace on a device that holds them"
    )]
    Stopped {
        /// The namespace.
        nsid: u32,
        /// What was written before.
        done: u64,
        /// What there was to write.
        all: u64,
        /// Why it ended.
        reason: String,
    },
}

impl BackupError {
    /// For `map_err`: names file and attempt.
    pub(crate) fn io(path: &Path, doing: &'static str) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path: path.clone(), doing, source }
    }
}
