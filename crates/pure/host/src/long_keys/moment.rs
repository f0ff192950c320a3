// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads of one moment, of devices whose iterators have one: point reads and ranges see what was there when it was opened.

use saker_long_keys::KeyDigest;
use saker_long_keys::envelope::{Directory, EnvelopeError, check_digests, position};

use super::route::{Route, route};
use super::scan::{ScanOptions, ScanOrder};
use super::store::KvStoreClient;
use crate::client::{DeviceIterator, KeyRange};
use crate::driver::Driver;
use crate::error::{HostError, KvError};

/// All pairs as of one moment. It ends when it is [closed](KvStoreClient::close_moment); one that is dropped ends when its client is asked for
/// iterators, pairs or a drain the next time. The device gives it up with the connection, and when an eighth of the namespace's capacity was
/// written meanwhile.
#[derive(Debug)]
pub struct Moment {
    iterator: DeviceIterator,
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Now. Queued writes are waited for. `None`: the device has no iterators for this namespace.
    ///
    /// # Errors
    /// [`HostError`]; [`ManyIterators`](KvError::ManyIterators) with 16 open already.
    pub fn open_moment(&mut self) -> Result<Option<Moment>, HostError> {
        let opened = self.client.open_iterator(&KeyRange::default(), false, None)?;
        Ok(opened.map(|iterator| Moment { iterator }))
    }

    /// The value of a key then.
    ///
    /// # Errors
    /// [`HostError`]; [`IteratorLost`](KvError::IteratorLost) if the device has given the moment up.
    pub fn get_then(&mut self, moment: &mut Moment, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        let routed = route(key, &self.digest)?;
        let (Route::Native(at) | Route::Envelope(at)) = routed;
        let batch = self.client.next_pairs(&mut moment.iterator, 1, false, Some(at)).map_err(gone)?;
        let found = batch.pairs().next().filter(|(found, _)| *found == at.as_bytes());
        let Some((_, bytes)) = found else { return Ok(None) };
        if matches!(routed, Route::Native(_)) {
            return Ok(Some(bytes.to_vec()));
        }
        let broken = |error| HostError::Envelope { key: at, error };
        let Directory::Complete(entries) = Directory::parse(bytes, bytes.len()).map_err(broken)? else {
            return Err(broken(EnvelopeError::Length));
        };
        check_digests(&entries, at.as_bytes(), &self.digest).map_err(broken)?;
        let Ok(place) = position(&entries, key) else { return Ok(None) };
        let value = bytes.get(entries[place].value.clone()).ok_or_else(|| broken(EnvelopeError::Length))?;
        Ok(Some(value.to_vec()))
    }

    /// The pairs of a range then: keys of up to 16 bytes in the order of their bytes, longer ones behind them.
    ///
    /// # Errors
    /// As [`get_then`](Self::get_then).
    #[expect(clippy::type_complexity, reason = "pairs of keys and values say more than a name")]
    pub fn scan_then(
        &mut self,
        moment: &Moment,
        options: &ScanOptions<'_>,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, HostError> {
        let mut pairs = Vec::new();
        let mut cursor = self.open_scan_beside(options, &moment.iterator)?;
        let mut scanned = Ok(true);
        while matches!(scanned, Ok(true)) && cursor.order() == ScanOrder::Bytes {
            scanned = self.scan_on(&mut cursor, &mut |key, value| {
                pairs.push((key.to_vec(), value.to_vec()));
                true
            });
        }
        let order = cursor.order();
        let closed = self.close_scan(cursor);
        scanned.and(closed)?;
        if order == ScanOrder::Bytes { Ok(pairs) } else { Err(KvError::IteratorLost.into()) }
    }

    /// Ends it: until then the device keeps what was there. One that the device has given up has ended.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn close_moment(&mut self, moment: Moment) -> Result<(), HostError> {
        match self.client.close_iterator(moment.iterator) {
            Err(HostError::Kv(KvError::IteratorLost | KvError::Unreachable | KvError::NotFound)) => Ok(()),
            closed => closed,
        }
    }
}

/// A device that does not know an iterator has given it up.
fn gone(error: HostError) -> HostError {
    match error {
        HostError::Kv(KvError::NotFound | KvError::Unreachable) => KvError::IteratorLost.into(),
        error => error,
    }
}
