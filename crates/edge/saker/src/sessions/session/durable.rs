// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting until what a session writes survives a cut.

use super::{Session, native, storable};
use crate::sessions::wait::{Durable, Synced};
use saker_host::HostError;
use saker_host::session::SyncError;
use std::sync::Arc;

impl Session {
    /// Returns when everything this session has written survives a cut.
    ///
    /// # Errors
    /// [`SyncError`]: by key, which writes failed.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// use saker::SyncError;
    /// session.put(b"key", b"value")?;
    /// match session.sync() {
    ///     Ok(()) => {} // what this session wrote survives a cut
    ///     Err(SyncError::Failed(keys)) => panic!("{} keys are as they were before", keys.len()),
    ///     Err(SyncError::Unknown(error)) => panic!("nobody knows: {error}"),
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync(&mut self) -> Result<(), SyncError> {
        self.session.sync()
    }

    /// The same as a future. The session can go on: later writes are not waited for.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// # use std::task::{Context, Poll, Waker};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
    /// #             return done;
    /// #         }
    /// #     }
    /// # }
    /// block_on(async {
    ///     session.put(b"first", b"1")?;
    ///     let synced = session.sync_async();
    ///     session.put(b"second", b"2")?; // does not delay it
    ///     synced.await.map_err(Box::<dyn std::error::Error>::from)
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sync_async(&mut self) -> Synced {
        Synced::new(Arc::clone(&self.inner), self.lane, self.session.begin_sync())
    }

    /// Stores a pair and returns when it survives a cut. Sessions that do so at the same time share a command and a Flush.
    ///
    /// # Errors
    /// [`SyncError`].
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put_durable(b"order:1", b"paid")?; // it survives a cut from here on
    /// assert_eq!(session.get(b"order:1")?, Some(b"paid".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_durable(&mut self, key: &[u8], value: &[u8]) -> Result<(), SyncError> {
        self.session.put_durable(&storable(key)?, value)
    }

    /// The same as a future; the pair is visible at once. The value is copied before this returns.
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// # use std::task::{Context, Poll, Waker};
    /// # fn block_on<F: Future>(future: F) -> F::Output {
    /// #     let mut future = std::pin::pin!(future);
    /// #     loop {
    /// #         if let Poll::Ready(done) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
    /// #             return done;
    /// #         }
    /// #     }
    /// # }
    /// let written = session.put_durable_async(b"order:1", b"paid")?;
    /// assert!(session.exists(b"order:1")?, "visible before it is durable");
    /// block_on(written)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_durable_async(&mut self, key: &[u8], value: &[u8]) -> Result<Durable, HostError> {
        let ticket = self.session.begin_durable(&storable(key)?, Some(value))?;
        Ok(Durable::new(Arc::clone(&self.inner), ticket))
    }

    /// Deletes a key, if it is there, and returns when that survives a cut.
    ///
    /// # Errors
    /// [`SyncError`].
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put_durable(b"order:1", b"paid")?;
    /// session.delete_durable(b"order:1")?; // it does not come back after a cut
    /// session.delete_durable(b"order:1")?; // nor is it an error that it is gone
    /// assert!(!session.exists(b"order:1")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete_durable(&mut self, key: &[u8]) -> Result<(), SyncError> {
        self.session.delete_durable(&native(key)?)
    }
}
