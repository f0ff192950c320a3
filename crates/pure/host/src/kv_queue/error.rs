// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a command was not submitted.

use saker_link::MapError;
use thiserror::Error;

/// Why a command was not submitted. Nothing has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SubmitError {
    /// As many commands are in flight as the queue takes: poll, then try again.
    #[error("the queue is full")]
    Full,
    /// No window is left to lend a buffer through.
    #[error("the DMA space has no window left")]
    Windows,
    /// The buffer cannot be lent.
    #[error(transparent)]
    Map(#[from] MapError),
    /// The memory the caller mapped does not begin at a dword.
    #[error("the buffer is not dword aligned")]
    Alignment,
    /// Only keys of 17 to 255 bytes are named by pointer.
    #[error("a key of {0} bytes is not named by pointer")]
    KeyLength(usize),
    /// As many queued gets wait to be finished as the queue takes.
    #[error("{gets_max} gets are queued, and more are not taken: finish one first")]
    QueuedGets {
        /// So many.
        gets_max: usize,
    },
    /// A queued get was finished with another client than the one that has queued it.
    #[error("the get was queued by another client")]
    ForeignGet,
}

/// A command with an owned buffer that was not submitted.
#[derive(Debug, Error)]
#[error("command not submitted: {error}")]
pub struct Returned {
    /// Why.
    pub error: SubmitError,
    /// The buffer as it came.
    pub buffer: Vec<u8>,
}
