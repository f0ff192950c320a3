// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches of devices that have iterators.

use saker_long_keys::envelope::{Directory, EnvelopeError, check_digests};
use saker_long_keys::{DEVICE_KEY_BYTES, KeyDigest, is_marked};
use saker_nvme::Key;

use super::Visit;
use super::cursor::{ScanCursor, Shown};
use crate::client::{Course, KeyRange, Limits, Walk};
use crate::driver::Driver;
use crate::error::HostError;
use crate::long_keys::KvStoreClient;

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Pairs with keys that are the device's own, in the cursor's batch.
    pub(super) fn walk_short(
        &mut self,
        walk: &mut Walk,
        cursor: &mut ScanCursor,
        limits: Limits,
    ) -> Result<bool, HostError> {
        let mut batch = std::mem::take(&mut cursor.batch);
        let walked = self.client.walk_on(walk, cursor.course(), limits, &mut batch);
        cursor.batch = batch;
        walked.map(|()| cursor.batch.is_last())
    }

    /// Whether a pair of the batch is the caller's.
    #[inline]
    pub(super) fn is_shown(&self, key: &[u8], range: &KeyRange<'_>) -> bool {
        !is_marked(key) && !self.hides(key) && range.contains(key)
    }

    /// The same, shown.
    pub(super) fn scan_short(
        &mut self,
        walk: &mut Walk,
        cursor: &mut ScanCursor,
        visit: Visit<'_>,
    ) -> Result<Shown, HostError> {
        let is_last = self.walk_short(walk, cursor, Limits::of(cursor.pairs_max))?;
        let range = cursor.course().range;
        for (key, value) in cursor.batch.pairs() {
            if self.is_shown(key, &range) && !visit(key, value) {
                return Ok(Shown::Stopped);
            }
        }
        Ok(if is_last { Shown::Last } else { Shown::More })
    }

    /// Pairs in envelopes.
    pub(super) fn scan_long(
        &mut self,
        walk: &mut Walk,
        cursor: &mut ScanCursor,
        limits: Limits,
        visit: Visit<'_>,
    ) -> Result<Shown, HostError> {
        let mut batch = std::mem::take(&mut cursor.envelopes);
        let walked = self.client.walk_on(walk, cursor.of_envelopes(), limits, &mut batch);
        let shown = walked.and_then(|()| {
            for (at, envelope) in batch.pairs().filter(|(at, _)| at.len() == DEVICE_KEY_BYTES) {
                if !open_envelope(at, envelope, &self.digest, cursor.course(), visit)? {
                    return Ok(Shown::Stopped);
                }
            }
            Ok(if batch.is_last() { Shown::Last } else { Shown::More })
        });
        cursor.envelopes = batch;
        shown
    }
}

/// Shows the pairs of an envelope that are wanted. Whether to go on.
fn open_envelope(
    at: &[u8],
    bytes: &[u8],
    digest: &impl KeyDigest,
    Course { range, keys_only, .. }: Course<'_>,
    visit: Visit<'_>,
) -> Result<bool, HostError> {
    let key = Key::new(at)?;
    let broken = |error| HostError::Envelope { key, error };
    let Directory::Complete(entries) = Directory::parse(bytes, bytes.len()).map_err(broken)? else {
        return Err(broken(EnvelopeError::Length));
    };
    check_digests(&entries, key.as_bytes(), digest).map_err(broken)?;
    for entry in entries.iter().filter(|entry| range.contains(entry.key)) {
        let value = bytes.get(entry.value.clone()).ok_or_else(|| broken(EnvelopeError::Length))?;
        if !visit(entry.key, if keys_only { &[] } else { value }) {
            return Ok(false);
        }
    }
    Ok(true)
}
