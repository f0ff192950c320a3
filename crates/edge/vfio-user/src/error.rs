// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What keeps a server from running.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a server cannot start, or did not end well. One line, with what to do.
#[derive(Debug, Error)]
pub enum ServeError {
    /// A device cannot be opened or closed.
    #[error("{0}")]
    Device(#[from] saker::Error),
    /// The socket cannot be made.
    #[error("{0}: {1}; name a path in a folder that you may write to, which no other server uses")]
    Socket(PathBuf, io::Error),
    /// Somebody listens there.
    #[error("{0}: a server listens there already; stop it, or name another path")]
    InUse(PathBuf),
    /// The path is something else than a socket.
    #[error("{0}: there is a file of that name which is no socket; name another path")]
    NoSocket(PathBuf),
    /// The operating system refuses threads, memory or signals.
    #[error("cannot start: {0}; see the system's limits")]
    System(#[from] io::Error),
}
