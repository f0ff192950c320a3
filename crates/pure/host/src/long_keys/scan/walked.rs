// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Batches of devices that have iterators.

use saker_long_keys::envelope::{Directory, EnvelopeError, check_digests};
use saker_long_keys::{DEVICE_KEY_BYTES, KeyDigest, is_marked};
use saker_nvme::Key;

use super::Visit;
use super::cursor::{ScanCursor, Shown};
use crate::client::{Course, Walk};
use crate::driver::Driver;
use crate::error::HostError;
use crate::long_keys::KvStoreClient;

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Pairs with keys that are the device's own.
    pub(super) fn scan_short(
        &mut self,
        walk: &mut Walk,
        cursor: &ScanCursor,
        visit: Visit<'_>,
    ) -> Result<Shown, HostError> {
        let course = cursor.course();
        let batch = self.client.walk_on(walk, course, cursor.pairs_max)?;
        for (key, value) in batch.pairs() {
            if !is_marked(key) && !self.hides(key) && course.range.contains(key) && !visit(key, value) {
                return Ok(Shown::Stopped);
            }
        }
        Ok(if batch.is_last() { Shown::Last } else { Shown::More })
    }

    /// Pairs in envelopes.
    pub(super) fn scan_long(
        &mut self,
        walk: &mut Walk,
        cursor: &ScanCursor,
        visit: Visit<'_>,
    ) -> Result<Shown, HostError> {
        let batch = self.client.walk_on(walk, cursor.envelopes(), cursor.pairs_max)?;
        for (at, envelope) in batch.pairs().filter(|(at, _)| at.len() == DEVICE_KEY_BYTES) {
            if !open_envelope(at, envelope, &self.digest, cursor.course(), visit)? {
                return Ok(Shown::Stopped);
            }
        }
        Ok(if batch.is_last() { Shown::Last } else { Shown::More })
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
