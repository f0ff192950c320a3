// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why an image cannot be made, opened or closed. Each text is one line that says what to do.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why an image cannot be made, opened or closed.
#[derive(Debug, Error)]
pub enum ImageError {
    /// [`super::create`] never overwrites.
    #[error("{} exists already; choose another name, or remove it first", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The lock is held elsewhere.
    #[error("{} is in use by another process; stop that one first", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// No header copy carries the magic bytes.
    #[error("{} is not a Saker image", path.display())]
    NotImage {
        /// The file.
        path: PathBuf,
    },
    /// Written by a later version of the program.
    #[error("{} was written by a newer version ({what}); open it with that one", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What is not understood.
        what: String,
    },
    /// The file contradicts its own checksums.
    #[error("{} is damaged: {what}; `saker check` lists all damage", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Region, place and fault.
        what: String,
    },
    /// A configuration that cannot be made into an image.
    #[error("the image cannot have this shape: {0}")]
    Config(String),
    /// The host file system is full.
    #[error(
        "the host file system has no room for {} (full, quota, or a limit such as ulimit -f); an empty image needs {bytes} \
         bytes and the right to grow",
        path.display()
    )]
    HostFull {
        /// The file.
        path: PathBuf,
        /// Bytes that an image of this shape takes before anything is written.
        bytes: u64,
    },
    /// The process may not map so much.
    #[error(
        "the address space of this process has no room for {}, of {bytes} bytes, which is mapped as a whole; raise its limit \
         (ulimit -v), or use a smaller image",
        path.display()
    )]
    AddressSpace {
        /// The file.
        path: PathBuf,
        /// Its bytes.
        bytes: u64,
    },
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was attempted, as a verb.
        doing: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

impl ImageError {
    /// For `map_err`: names file and attempt.
    pub(super) fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, doing, source }
    }

    /// For `map_err` of a mapping. ENOMEM of mmap(2) is a limit of the address space, RLIMIT_AS.
    pub(super) fn map(path: &Path, bytes: u64) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| match source.kind() {
            io::ErrorKind::OutOfMemory => Self::AddressSpace { path, bytes },
            _ => Self::Io { path, doing: "map", source },
        }
    }

    /// The image at a path is damaged: what of it.
    pub fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_path_buf(), what: what.into() }
    }
}
