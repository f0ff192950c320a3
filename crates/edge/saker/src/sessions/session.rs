// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A session: the calls of one thread.

mod durable;
mod reads;

use super::Inner;
use saker_host::session;
use saker_host::{HostError, KvQueue, Patience, check_storable};
use saker_nvme::Key;
use saker_runtime::pause::SharedDriver;
use std::sync::Arc;

/// A session of a [`Saker`](super::Saker). Keys have 1 to 16 bytes. Calls that wait do so by polling; those that return
/// futures are polled by the pump.
///
/// ```
/// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
/// let mut session: saker::sessions::Session = saker.session()?;
/// std::thread::spawn(move || {
///     session.put(b"key", b"value").expect("keys of up to 16 bytes"); // dropped: it leaves now
/// }).join().expect("no panic");
/// assert!(saker.session()?.exists(b"key")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Session {
    session: session::Session<KvQueue, SharedDriver>,
    inner: Arc<Inner>,
    lane: usize,
}

impl Session {
    pub(super) fn new(inner: Arc<Inner>, lane: usize) -> Self {
        let session = session::Session::new(
            Arc::clone(&inner.hub),
            (lane, inner.commit_lane()),
            inner.driver.clone(),
            inner.value_bytes_max,
            Patience::default(),
        );
        Self { session, inner, lane }
    }

    /// Stores a pair. It is visible to all sessions at once, and durable after a [`sync`](Self::sync).
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened. What the device says comes with the sync.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"key", b"value")?; // every session sees it now
    /// session.sync()?; // and now it survives a cut
    /// let error = session.put(b"a key of more than 16 bytes", b"value").unwrap_err();
    /// assert!(matches!(error, saker::HostError::NativeKeyLength(_)), "long keys are for `Kv`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        self.session.put(&storable(key)?, value)
    }

    /// Deletes a key, if it is there. As [`put`](Self::put).
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"key", b"value")?;
    /// session.delete(b"key")?;
    /// assert!(!session.exists(b"key")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&mut self, key: &[u8]) -> Result<(), HostError> {
        self.session.delete(&native(key)?)
    }

    /// Stores a pair if its key is not there; whether it was stored. Among the sessions of this device handle nothing comes
    /// between the two.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// let (mut one, mut other) = (saker.session()?, saker.session()?);
    /// assert!(one.put_if_absent(b"leader", b"one")?);
    /// assert!(!other.put_if_absent(b"leader", b"other")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool, HostError> {
        self.session.put_if_absent(&storable(key)?, value)
    }

    /// Stores those of the pairs whose keys are not there; which were, in their order.
    ///
    /// # Errors
    /// [`HostError`]; pairs before the one that failed may have been stored.
    ///
    /// ```
    /// # let saker = saker::Saker::open("mem:?size=4MiB&profile=tiny", saker::SakerOptions::default())?;
    /// # let mut session = saker.session()?;
    /// session.put(b"block 1", b"old")?;
    /// let stored = session.multi_put_if_absent(&[(b"block 1", b"new"), (b"block 2", b"new")])?;
    /// assert_eq!(stored, [false, true]);
    /// assert_eq!(session.get(b"block 1")?, Some(b"old".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_put_if_absent(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Vec<bool>, HostError> {
        let pairs = pairs.iter().map(|(key, value)| Ok((storable(key)?, *value)));
        self.session.multi_put_if_absent(&pairs.collect::<Result<Vec<_>, HostError>>()?)
    }
}

impl Drop for Session {
    /// What is buffered is sent, and the lane is free for another session: who opens it waits for these writes, too.
    fn drop(&mut self) {
        self.inner.hub.push_out(self.lane);
        self.inner.free().push(self.lane);
    }
}

fn native(key: &[u8]) -> Result<Key, HostError> {
    Key::new(key).map_err(HostError::from)
}

/// A key that something may be stored under.
fn storable(key: &[u8]) -> Result<Key, HostError> {
    check_storable(key)?;
    native(key)
}

fn natives(keys: &[&[u8]]) -> Result<Vec<Key>, HostError> {
    keys.iter().map(|key| native(key)).collect()
}
