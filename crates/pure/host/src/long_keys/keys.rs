// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Listing keys of any length.

use saker_long_keys::{KeyDigest, is_marked};
use saker_nvme::Key;

use super::page::Look;
use super::route::{Route, route};
use super::store::KvStoreClient;
use crate::client::KeyCursor;
use crate::driver::Driver;
use crate::error::HostError;

/// The keys of a namespace: in the device's order of device keys, the keys of one envelope in ascending order. So the
/// order is one of all possible keys, and any key can be listed from.
#[derive(Debug)]
pub struct StoreKeys<'c, T, D> {
    store: &'c mut KvStoreClient<T, D>,
    cursor: KeyCursor,
    /// Keys of an envelope that have not been returned, the next one last.
    expanded: Vec<Vec<u8>>,
    /// Where to begin within the first envelope.
    from: Option<(Key, Vec<u8>)>,
    failed: Option<HostError>,
    /// The device key that was looked at last.
    place: Option<Key>,
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// The keys from `from` on, included if it exists, or all.
    pub fn list(&mut self, from: Option<&[u8]>) -> StoreKeys<'_, T, D> {
        let start = from.map(|key| (route(key, &self.digest), key)).map(|(route, key)| match route? {
            Route::Native(start) => Ok((start, None)),
            Route::Envelope(start) => Ok((start, Some((start, key.to_vec())))),
        });
        let (start, from, failed) = match start.transpose() {
            Ok(None) => (None, None, None),
            Ok(Some((start, from))) => (Some(start), from, None),
            Err(error) => (None, None, Some(error)),
        };
        StoreKeys {
            store: self,
            cursor: KeyCursor::new(start),
            expanded: Vec::new(),
            from,
            failed,
            place: None,
        }
    }

    /// The keys of the envelope under `at`, in descending order. None if it has just been deleted.
    fn expand(&mut self, at: &Key, into: &mut Vec<Vec<u8>>) -> Result<(), HostError> {
        let Self { client, digest, page, .. } = self;
        let keys = page.look(client, at, digest, |_, entries| {
            Look::Seen(entries.iter().rev().map(|entry| entry.key.to_vec()).collect())
        })?;
        *into = keys.unwrap_or_default();
        Ok(())
    }
}

impl<T: Driver, D: KeyDigest> StoreKeys<'_, T, D> {
    /// The device key that was looked at last: after an error, that of the envelope which could not be read, whose keys are
    /// passed over when the list goes on.
    pub fn place(&self) -> Option<Key> {
        self.place
    }

    fn advance(&mut self) -> Result<Option<Vec<u8>>, HostError> {
        if let Some(error) = self.failed.take() {
            self.cursor.end();
            return Err(error);
        }
        loop {
            if let Some(key) = self.expanded.pop() {
                return Ok(Some(key));
            }
            let Some(key) = self.cursor.next(&mut self.store.client)? else {
                return Ok(None);
            };
            self.place = Some(key);
            if self.store.hides(key.as_bytes()) {
                continue;
            }
            if !is_marked(key.as_bytes()) {
                return Ok(Some(key.as_bytes().to_vec()));
            }
            self.store.expand(&key, &mut self.expanded)?;
            if let Some((_, from)) = self.from.take_if(|(at, _)| *at == key) {
                self.expanded.retain(|key| *key >= from);
            }
        }
    }
}

impl<T: Driver, D: KeyDigest> Iterator for StoreKeys<'_, T, D> {
    type Item = Result<Vec<u8>, HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.advance().transpose()
    }
}
