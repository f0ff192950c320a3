//! A session: the calls of one thread.

use super::Inner;
use super::wait::{Durable, Synced};
use saker_host::session::{self, SyncError};
use saker_host::{HostError, KeyRange, KvQueue, Patience};
use saker_nvme::Key;
use saker_runtime::pause::SharedDriver;
use std::sync::Arc;

/// A session of a [`Saker`](super::Saker). Keys have 1 to 16 bytes. Calls that wait do so by polling; those that return
/// futures are polled by the pump.
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
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        self.session.put(&native(key)?, value)
    }

    /// Deletes a key, if it is there. As [`put`](Self::put).
    ///
    /// # Errors
    /// [`HostError`]: nothing has happened.
    pub fn delete(&mut self, key: &[u8]) -> Result<(), HostError> {
        self.session.delete(&native(key)?)
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        self.session.get(&native(key)?)
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        self.session.get_into(&native(key)?, buffer)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.session.exists(&native(key)?)
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`HostError`] of the first key that could not be read.
    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        self.session.multi_get(&natives(keys)?)
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// As [`multi_get`](Self::multi_get).
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        self.session.multi_exist(&natives(keys)?)
    }

    /// Stores a pair if its key is not there; whether it was stored. Among the sessions of this device handle nothing comes
    /// between the two.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool, HostError> {
        self.session.put_if_absent(&native(key)?, value)
    }

    /// Stores those of the pairs whose keys are not there; which were, in their order.
    ///
    /// # Errors
    /// [`HostError`]; pairs before the one that failed may have been stored.
    pub fn multi_put_if_absent(&mut self, pairs: &[(&[u8], &[u8])]) -> Result<Vec<bool>, HostError> {
        let pairs = pairs.iter().map(|(key, value)| Ok((native(key)?, *value)));
        self.session.multi_put_if_absent(&pairs.collect::<Result<Vec<_>, HostError>>()?)
    }

    /// Shows every pair whose key begins with `prefix`, buffered or stored, each once, in no order.
    ///
    /// # Errors
    /// [`HostError`]; pairs may have been shown before.
    pub fn scan(&mut self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], Vec<u8>)) -> Result<(), HostError> {
        let wanted = |key: &Key| key.as_bytes().starts_with(prefix);
        self.session.scan(wanted, |key, value| visit(key.as_bytes(), value))
    }

    /// Shows the pairs of a range, buffered or stored, to `visit` in the order of the bytes of their keys, until it returns
    /// false. Engines that keep keys in order have it read from a snapshot in the device; with others all pairs of the
    /// range are in memory first.
    ///
    /// # Errors
    /// [`HostError`]; pairs may have been shown before.
    pub fn scan_range(
        &mut self,
        range: &KeyRange<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), HostError> {
        self.session.scan_range(range, |key, value| visit(key.as_bytes(), value))
    }

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

fn natives(keys: &[&[u8]]) -> Result<Vec<Key>, HostError> {
    keys.iter().map(|key| native(key)).collect()
}
