// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The envelope that a call looks at: its beginning, or all of it.

use saker_nvme::Key;

use crate::client::KvClient;
use crate::driver::Driver;
use crate::error::HostError;
use saker_long_keys::KeyDigest;
use saker_long_keys::envelope::{Directory, Entry, EnvelopeError, check_digests};

/// Bytes of one envelope as they were read, kept from call to call for its memory.
#[derive(Debug, Default)]
pub(super) struct EnvelopePage {
    bytes: Vec<u8>,
    total_bytes: usize,
}

/// What a look into an envelope needs.
pub(super) enum Look<R> {
    /// The answer.
    Seen(R),
    /// The whole envelope.
    More,
}

impl EnvelopePage {
    /// Reads the envelope under `at` and looks into it: first at its first 4 KiB, then, if `look` says so, at all of it.
    /// `None` if there is no such device key.
    pub(super) fn look<T: Driver, R>(
        &mut self,
        client: &mut KvClient<T>,
        at: &Key,
        digest: &impl KeyDigest,
        mut look: impl FnMut(&[u8], &[Entry<'_>]) -> Look<R>,
    ) -> Result<Option<R>, HostError> {
        let mut present = self.read_prefix(client, at)?;
        loop {
            if !present {
                return Ok(None);
            }
            let broken = |error| HostError::Envelope { key: *at, error };
            if let Directory::Complete(entries) = self.directory().map_err(broken)? {
                check_digests(&entries, at.as_bytes(), digest).map_err(broken)?;
                if let Look::Seen(answer) = look(&self.bytes, &entries) {
                    return Ok(Some(answer));
                }
            }
            if self.bytes.len() == self.total_bytes {
                // A complete envelope has a complete directory and every value.
                return Err(broken(EnvelopeError::Length));
            }
            present = self.read_whole(client, at)?;
        }
    }

    fn directory(&self) -> Result<Directory<'_>, EnvelopeError> {
        Directory::parse(&self.bytes, self.total_bytes)
    }

    fn read_prefix<T: Driver>(&mut self, client: &mut KvClient<T>, at: &Key) -> Result<bool, HostError> {
        let into = &mut self.bytes;
        let total = client.get_with(at, |beginning, bytes| {
            into.clear();
            into.extend_from_slice(beginning);
            bytes
        })?;
        self.total_bytes = total.unwrap_or(0);
        Ok(total.is_some())
    }

    fn read_whole<T: Driver>(&mut self, client: &mut KvClient<T>, at: &Key) -> Result<bool, HostError> {
        let Some(whole) = client.get(at)? else {
            return Ok(false);
        };
        (self.total_bytes, self.bytes) = (whole.len(), whole);
        Ok(true)
    }
}
