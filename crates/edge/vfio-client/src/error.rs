// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a device behind a socket cannot be used.

use std::io;
use std::path::PathBuf;

use saker_link::RingError;
use saker_nvme::Status;
use thiserror::Error;

/// Why a device behind a socket cannot be used. One line, with what to do.
#[derive(Debug, Error)]
pub enum VfioError {
    /// Nobody listens there.
    #[error("{0}: {1}; is `saker serve --vfio-user` running there?")]
    Connect(PathBuf, io::Error),
    /// The socket fails.
    #[error("the socket of the device fails: {0}; see the server's messages")]
    Socket(#[from] io::Error),
    /// The server refuses a request.
    #[error("the server refuses request {command}: {error}; see its messages")]
    Refused {
        /// The request.
        command: u16,
        /// Its errno.
        error: io::Error,
    },
    /// The server says what makes no sense.
    #[error("the server answers request {0} with what it cannot be; is it a vfio-user server?")]
    Answer(u16),
    /// It is no NVMe controller.
    #[error("the device there is of class {0:06x}h, and no NVMe controller")]
    Class(u32),
    /// The controller does not become ready.
    #[error("the controller does not become ready (CSTS {0:08x}h); see the server's messages")]
    Fatal(u32),
    /// A command of the connection's making was refused.
    #[error("the controller refuses an admin command: {0}")]
    Admin(Status),
    /// A queue that cannot be.
    #[error(transparent)]
    Ring(#[from] RingError),
}
