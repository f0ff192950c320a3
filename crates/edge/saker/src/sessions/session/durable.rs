//! Waiting until what a session writes survives a cut.

use super::{Session, native};
use crate::sessions::wait::{Durable, Synced};
use saker_host::HostError;
use saker_host::session::SyncError;
use std::sync::Arc;

impl Session {
    /// Returns when everything this session has written survives a cut.
    ///
    /// # Errors
    /// [`SyncError`]: by key, which writes failed.
    pub fn sync(&mut self) -> Result<(), SyncError> {
        self.session.sync()
    }

    /// The same as a future. The session can go on: later writes are not waited for.
    pub fn sync_async(&mut self) -> Synced {
        Synced::new(Arc::clone(&self.inner), self.lane, self.session.begin_sync())
    }

    /// Stores a pair and returns when it survives a cut. Sessions that do so at the same time share a command and a Flush.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn put_durable(&mut self, key: &[u8], value: &[u8]) -> Result<(), SyncError> {
        self.session.put_durable(&native(key)?, value)
    }

    /// The same as a future; the pair is visible at once. The value is copied before this returns.
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened.
    pub fn put_durable_async(&mut self, key: &[u8], value: &[u8]) -> Result<Durable, HostError> {
        let ticket = self.session.begin_durable(&native(key)?, Some(value))?;
        Ok(Durable::new(Arc::clone(&self.inner), ticket))
    }

    /// Deletes a key, if it is there, and returns when that survives a cut.
    ///
    /// # Errors
    /// [`SyncError`].
    pub fn delete_durable(&mut self, key: &[u8]) -> Result<(), SyncError> {
        self.session.delete_durable(&native(key)?)
    }
}
