// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the pair of a key of any length is.

use saker_long_keys::{KeyDigest, device_key, is_enveloped};
use saker_nvme::Key;

use crate::error::HostError;

/// Where a key's pair is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// Under the key itself.
    Native(Key),
    /// In the envelope under this device key.
    Envelope(Key),
}

/// The route of `key`.
#[inline]
pub(super) fn route(key: &[u8], digest: &impl KeyDigest) -> Result<Route, HostError> {
    if is_enveloped(key) {
        let at = Key::new(&device_key(key, digest)).map_err(|error| HostError::KeyLength(error.0))?;
        return Ok(Route::Envelope(at));
    }
    Key::new(key).map(Route::Native).map_err(|error| HostError::KeyLength(error.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use saker_long_keys::Xxh3Digest;

    #[test]
    fn routes_depend_on_length_and_mark() {
        let native = |key: &[u8]| Ok(Route::Native(Key::new(key).expect("short")));
        let envelope =
            |key: &[u8]| Ok(Route::Envelope(Key::new(&device_key(key, &Xxh3Digest)).expect("16 bytes")));
        assert_eq!(route(b"k", &Xxh3Digest), native(b"k"));
        assert_eq!(route(&[0xFF; 16], &Xxh3Digest), native(&[0xFF; 16]));
        let marked = [0xFF, 0x4B, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(route(&marked[..15], &Xxh3Digest), native(&marked[..15]));
        assert_eq!(route(&marked[..16], &Xxh3Digest), envelope(&marked[..16]));
        assert_eq!(route(&marked, &Xxh3Digest), envelope(&marked));
        assert_eq!(route(&[1; 255], &Xxh3Digest), envelope(&[1; 255]));
        assert_eq!(route(&[1; 256], &Xxh3Digest), Err(HostError::KeyLength(256)));
        assert_eq!(route(&[], &Xxh3Digest), Err(HostError::KeyLength(0)));
    }
}
