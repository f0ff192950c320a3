// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What keeps a server from running.

use std::net::SocketAddr;

use thiserror::Error;

use crate::config::ConfigError;

/// Why a server cannot start, or did not end well. One line, with what to do.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The configuration makes no sense.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A device cannot be opened or closed.
    #[error("{0}")]
    Device(#[from] saker::Error),
    /// A name that no subsystem can have.
    #[error("{0}; give another --nqn")]
    Name(#[from] saker_device::controller::IdentityError),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}; is another target running there?")]
    Listen(SocketAddr, std::io::Error),
    /// The operating system refuses threads or sockets.
    #[error("cannot start: {0}; see the system's limits")]
    System(#[from] std::io::Error),
}
