// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong with a device that is shared.

use crate::error::Error;
use saker_host::HostError;
use thiserror::Error;

/// Why a call of a [`Store`](crate::Store) failed.
///
/// ```
/// use saker::{HostError, Store, StoreError};
/// let store = Store::open("mem:?size=4MiB&profile=tiny")?;
/// assert!(matches!(store.put("", "value"), Err(StoreError::Host(HostError::KeyLength(0)))));
/// store.close()?;
/// assert!(matches!(store.get("key"), Err(StoreError::Closed)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Error)]
pub enum StoreError {
    /// The device refused, or did not answer.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The device cannot be opened or closed.
    #[error(transparent)]
    Device(#[from] Error),
    /// It was closed.
    #[error("the device is closed")]
    Closed,
    /// A transaction was committed or aborted.
    #[error("the transaction has ended")]
    Ended,
    /// It was opened by the process that forked this one.
    #[error("the device was opened before this process was forked; open it in the process that uses it")]
    Forked,
    /// A call on it has panicked.
    #[error("a call on this device has panicked; open it again")]
    Broken,
    /// The space was removed.
    #[error("the space was removed; ask `Spaces` for it again, which makes an empty one")]
    Gone,
    /// A scan was asked for while the device has as many under way as it can have.
    #[error(
        "the device has 16 scans under way, which is the most: end one (close or drop it), then try again"
    )]
    ManyScans,
    /// The device cannot be divided into spaces, or the name is none.
    #[error("{0}")]
    Spaces(String),
}
