// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the keys of a space begin with at the device.

use super::StoreError;
use saker_host::HostError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the longest key at the device.
const KEY_BYTES_MAX: usize = 255;

/// Bytes of the longest beginning.
const PREFIX_BYTES_MAX: usize = 2;

/// The greatest number of a space: two bytes, the first of which is neither that of a short one nor of the catalogue.
pub(super) const ID_MAX: u16 = 0x3fff;

/// What the keys of a store begin with; nothing, unless it is a space.
#[derive(Clone, Debug, Default)]
pub(super) struct Prefix {
    bytes: [u8; PREFIX_BYTES_MAX],
    length: usize,
    /// Whether the space was removed. It changes only while the device is locked.
    gone: Arc<AtomicBool>,
}

impl Prefix {
    /// That of a space: one byte up to number 127, then two. No one is the beginning of another.
    pub fn of(id: u16, gone: Arc<AtomicBool>) -> Self {
        let [high, low] = id.to_be_bytes();
        let (bytes, length) = if id < 0x80 { ([low, 0], 1) } else { ([high | 0x80, low], 2) };
        Self { bytes, length, gone }
    }

    /// Whether it is of a space.
    pub fn is_space(&self) -> bool {
        self.length > 0
    }

    /// Its bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Whether the space is still there. The device is locked.
    pub fn check(&self) -> Result<(), StoreError> {
        if self.gone.load(Ordering::Relaxed) { Err(StoreError::Gone) } else { Ok(()) }
    }

    /// Says that the space is gone. The device is locked.
    pub fn go(&self) {
        self.gone.store(true, Ordering::Relaxed);
    }

    /// The key at the device.
    pub fn key<'k>(&self, key: &'k [u8], room: &'k mut KeyRoom) -> Result<&'k [u8], HostError> {
        if !self.is_space() {
            return Ok(key);
        }
        let length = self.length + key.len();
        if key.is_empty() || length > KEY_BYTES_MAX {
            return Err(HostError::KeyLength(if key.is_empty() { 0 } else { length }));
        }
        room[..self.length].copy_from_slice(self.as_slice());
        room[self.length..length].copy_from_slice(key);
        Ok(&room[..length])
    }

    /// The same, owned.
    pub fn key_of(&self, key: &[u8]) -> Vec<u8> {
        [self.as_slice(), key].concat()
    }

    /// A failure as users of the space know its key.
    pub fn told(&self, mut error: HostError) -> StoreError {
        match &mut error {
            HostError::Batch { key, .. }
            | HostError::Conflict { key }
            | HostError::Unmet { key }
            | HostError::SeveralShards { key }
            | HostError::ReservedKey { key }
                if self.is_space() && key.starts_with(self.as_slice()) =>
            {
                key.drain(..self.length);
            }
            _ => {}
        }
        error.into()
    }
}

/// Where a key is put together.
pub(super) type KeyRoom = [u8; KEY_BYTES_MAX];

/// An empty one.
pub(super) const ROOM: KeyRoom = [0; KEY_BYTES_MAX];
