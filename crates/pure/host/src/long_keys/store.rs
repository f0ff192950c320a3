// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A client for keys of 1 to 255 bytes.

use saker_link::PAGE_BYTES;
use saker_long_keys::envelope::{self, position, rewrite};
use saker_long_keys::{KeyDigest, Xxh3Digest};
use saker_nvme::Key;
use saker_nvme::group::is_outcome_key;

use super::KEY_BYTES_MAX;
use super::page::{EnvelopePage, Look};
use super::route::{Route, route};
use super::scan::Usual;
use crate::client::{Condition, KvClient, PairBatch, QueuedGet};
use crate::driver::Driver;
use crate::error::{HostError, KvError};
use crate::reserved::{may_be_reserved, refuse_reserved};

/// A [`KvClient`] that also takes long keys. `D` is the digest of long keys.
#[derive(Debug)]
pub struct KvStoreClient<T, D = Xxh3Digest> {
    pub(super) client: KvClient<T>,
    pub(super) digest: D,
    pub(super) page: EnvelopePage,
    scratch: Vec<u8>,
    /// Memory for the pairs of the next scan.
    pub(super) spare: PairBatch,
    /// What scans whose pairs are taken one by one have taken.
    pub(super) usual: Usual,
    /// Whether long keys go to the device as they are.
    by_pointer: bool,
    /// Whether pairs of outcomes are shown, and stored.
    shows_outcomes: bool,
}

/// How an envelope has to change.
enum Change {
    /// Not at all: the condition does not hold, or there is nothing to delete.
    None,
    /// `scratch` replaces it.
    Replace,
    /// Its last pair goes.
    Remove,
}

impl<T: Driver> KvStoreClient<T> {
    /// Long keys over `client`, in the stored format: by pointer where the device takes them, else through envelopes.
    pub fn new(client: KvClient<T>) -> Self {
        let by_pointer = client.has_indirect_keys();
        Self { by_pointer, ..Self::with_digest(client, Xxh3Digest) }
    }
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Whether lists and scans show the pairs, too, in which the device keeps what became of transactions with an ID: for who copies
    /// everything that is there. It stores such pairs, too; others are refused. A copy without them would carry out a transaction
    /// again that the original has carried out.
    pub fn show_outcomes(&mut self, shows: bool) {
        self.shows_outcomes = shows;
    }

    /// Whether a key is not to be shown: it is the device's.
    pub(super) fn hides(&self, key: &[u8]) -> bool {
        !self.shows_outcomes && is_outcome_key(key)
    }

    /// Refuses a store under a key that is the device's, but to who copies everything.
    #[inline]
    pub fn check_storable(&self, key: &[u8]) -> Result<(), HostError> {
        if may_be_reserved(key) && !self.shows_outcomes { refuse_reserved(key) } else { Ok(()) }
    }

    /// Through envelopes in any case, with another digest, for tests: what it writes cannot be read with the usual one.
    pub fn with_digest(client: KvClient<T>, digest: D) -> Self {
        let (page, scratch) = (EnvelopePage::default(), Vec::with_capacity(PAGE_BYTES));
        let (spare, usual) = (PairBatch::default(), Usual::default());
        Self { client, digest, page, scratch, spare, usual, by_pointer: false, shows_outcomes: false }
    }

    /// Whether this key goes to the device by pointer.
    #[inline]
    pub(super) fn is_by_pointer(&self, key: &[u8]) -> bool {
        self.by_pointer && key.len() > Key::MAX_LEN
    }

    /// Whether long keys go to the device by pointer, one command each, and not through envelopes.
    pub fn has_long_keys_by_pointer(&self) -> bool {
        self.by_pointer
    }

    /// The client below, taken out.
    pub fn into_client(self) -> KvClient<T> {
        self.client
    }

    /// The client of the device's own keys. Writing keys of 16 bytes that begin with `FFh 4Bh` through it breaks the
    /// envelopes of long keys.
    pub fn native(&mut self) -> &mut KvClient<T> {
        &mut self.client
    }

    /// Stores `value` under `key`, replacing what is there.
    ///
    /// # Errors
    /// [`HostError`]; [`ValueLength`](HostError::ValueLength) if a long key's envelope would be too long for the device.
    #[inline]
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        self.put_if(key, value, Condition::Always)
    }

    /// Stores `value` under `key` if `condition` holds. For native keys the device decides that.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn put_if(&mut self, key: &[u8], value: &[u8], condition: Condition) -> Result<(), HostError> {
        self.check_storable(key)?;
        match route(key, &self.digest)? {
            Route::Native(key) => self.client.put_if(&key, value, condition),
            Route::Envelope(_) if self.is_by_pointer(key) => {
                self.check_value(key, value)?;
                self.client.put_indirect(key, value, condition)
            }
            Route::Envelope(at) => self.put_long(&at, key, value, condition),
        }
    }

    /// Stores `value` under `key` without waiting for it, where `key` is native; a long key's pair is stored before the
    /// call returns. See [`KvClient::put_queued`].
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn put_queued(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        self.check_storable(key)?;
        match route(key, &self.digest)? {
            Route::Native(key) => self.client.put_queued(&key, value),
            Route::Envelope(_) => self.put(key, value),
        }
    }

    /// Waits for all queued writes.
    ///
    /// # Errors
    /// See [`KvClient::drain`].
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.client.drain()
    }

    /// The value of `key`, or `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        match route(key, &self.digest)? {
            Route::Native(key) => self.client.get(&key),
            Route::Envelope(_) if self.is_by_pointer(key) => self.client.get_indirect(key),
            Route::Envelope(at) => self.get_long(&at, key, <[u8]>::to_vec),
        }
    }

    /// Asks for the value of `key` and returns, see [`KvClient::get_queued`]. A key in an envelope is read before the call returns.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_queued(&mut self, key: &[u8]) -> Result<QueuedGet, HostError> {
        match route(key, &self.digest)? {
            Route::Envelope(at) if !self.is_by_pointer(key) => {
                let value = self.get_long(&at, key, <[u8]>::to_vec)?;
                self.client.get_known(key, value.as_deref())
            }
            _ => self.client.get_queued(key),
        }
    }

    /// Reads the value of `key` into the beginning of `buffer` and returns its size in bytes; as much as fits if it is
    /// longer. `None` if there is no such key.
    ///
    /// # Errors
    /// [`HostError`].
    #[inline]
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        match route(key, &self.digest)? {
            Route::Native(key) => self.client.get_into(&key, buffer),
            Route::Envelope(_) if self.is_by_pointer(key) => {
                self.client.get_indirect_prefix(key, buffer.len(), |value, bytes| {
                    buffer[..value.len()].copy_from_slice(value);
                    bytes
                })
            }
            Route::Envelope(at) => self.get_long(&at, key, |value| {
                let fits = value.len().min(buffer.len());
                buffer[..fits].copy_from_slice(&value[..fits]);
                value.len()
            }),
        }
    }

    /// Deletes `key` and tells whether it existed.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        match route(key, &self.digest)? {
            Route::Native(key) => self.client.delete(&key),
            Route::Envelope(_) if self.is_by_pointer(key) => self.client.delete_indirect(key),
            Route::Envelope(at) => self.delete_long(&at, key),
        }
    }

    /// Whether `key` exists.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        match route(key, &self.digest)? {
            Route::Native(key) => self.client.exists(&key),
            Route::Envelope(_) if self.is_by_pointer(key) => self.client.exists_indirect(key),
            Route::Envelope(at) => {
                let Self { client, digest, page, .. } = self;
                let found =
                    page.look(client, &at, digest, |_, entries| Look::Seen(position(entries, key).is_ok()))?;
                Ok(found.unwrap_or(false))
            }
        }
    }

    /// Makes everything that was stored non-volatile; see [`KvClient::flush`].
    ///
    /// # Errors
    /// [`HostError`].
    pub fn flush(&mut self) -> Result<(), HostError> {
        self.client.flush()
    }

    /// The longest value of a long key of `key_bytes` bytes that has an envelope of its own.
    pub fn long_value_bytes_max(&self, key_bytes: usize) -> usize {
        debug_assert!(key_bytes <= KEY_BYTES_MAX);
        (self.client.value_bytes_max() as usize).saturating_sub(envelope::overhead_bytes(1) + key_bytes)
    }

    fn get_long<R>(
        &mut self,
        at: &Key,
        key: &[u8],
        mut read: impl FnMut(&[u8]) -> R,
    ) -> Result<Option<R>, HostError> {
        let Self { client, digest, page, .. } = self;
        let found = page.look(client, at, digest, |bytes, entries| {
            let Ok(place) = position(entries, key) else {
                return Look::Seen(None);
            };
            bytes.get(entries[place].value.clone()).map_or(Look::More, |value| Look::Seen(Some(read(value))))
        })?;
        Ok(found.flatten())
    }

    fn put_long(
        &mut self,
        at: &Key,
        key: &[u8],
        value: &[u8],
        condition: Condition,
    ) -> Result<(), HostError> {
        self.check_value(key, value)?;
        let Self { client, digest, page, scratch, .. } = self;
        let existed = page.look(client, at, digest, |bytes, entries| {
            let place = position(entries, key);
            if refusal(condition, place.is_ok()).is_some() {
                return Look::Seen(Ok(place.is_ok()));
            }
            rewrite(bytes, entries, place, Some((key, value)), scratch)
                .map_or(Look::More, |written| Look::Seen(written.map(|()| place.is_ok())))
        })?;
        let (present, existed) = match existed {
            Some(existed) => (true, existed.map_err(|error| HostError::Envelope { key: *at, error })?),
            None => (false, false),
        };
        if let Some(error) = refusal(condition, existed) {
            return Err(error.into());
        }
        if !present {
            envelope::write(&[(key, value)], scratch)
                .map_err(|error| HostError::Envelope { key: *at, error })?;
        }
        self.store_scratch(at)
    }

    fn delete_long(&mut self, at: &Key, key: &[u8]) -> Result<bool, HostError> {
        let Self { client, digest, page, scratch, .. } = self;
        let change = page.look(client, at, digest, |bytes, entries| match position(entries, key) {
            Err(_) => Look::Seen(Ok(Change::None)),
            Ok(_) if entries.len() == 1 => Look::Seen(Ok(Change::Remove)),
            place @ Ok(_) => rewrite(bytes, entries, place, None, scratch)
                .map_or(Look::More, |written| Look::Seen(written.map(|()| Change::Replace))),
        })?;
        let change =
            change.unwrap_or(Ok(Change::None)).map_err(|error| HostError::Envelope { key: *at, error })?;
        match change {
            Change::None => Ok(false),
            Change::Remove => self.client.delete(at),
            Change::Replace => self.store_scratch(at).map(|()| true),
        }
    }

    fn check_value(&self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        let bytes_max = self.long_value_bytes_max(key.len());
        if value.len() <= bytes_max {
            Ok(())
        } else {
            Err(HostError::ValueLength { bytes: value.len(), bytes_max })
        }
    }

    /// Stores the new envelope. Pairs of other keys may have made it too long.
    fn store_scratch(&mut self, at: &Key) -> Result<(), HostError> {
        let (bytes, bytes_max) = (self.scratch.len(), self.client.value_bytes_max() as usize);
        if bytes > bytes_max {
            return Err(HostError::ValueLength { bytes, bytes_max });
        }
        self.client.put(at, &self.scratch)
    }
}

/// Why `condition` does not hold, if it does not.
fn refusal(condition: Condition, exists: bool) -> Option<KvError> {
    match (condition, exists) {
        (Condition::MustExist, false) => Some(KvError::NotFound),
        (Condition::MustNotExist, true) => Some(KvError::Exists),
        _ => None,
    }
}
