//! Pairs, one at a time.

use super::Kv;
use saker_host::{Condition, HostError, KvError};

impl Kv {
    /// Stores a pair. Keys have 1 to 255 bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        let outcome = self.store.put(key, value);
        self.cache.wrote(key, Some(value), outcome.is_ok());
        outcome
    }

    /// Stores a pair if its key is not there, in one command; whether it was stored.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_if_absent(&mut self, key: &[u8], value: &[u8]) -> Result<bool, HostError> {
        match self.store.put_if(key, value, Condition::MustNotExist) {
            Ok(()) => Ok(true),
            Err(HostError::Kv(KvError::Exists)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The value of a key.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        if let Some(value) = self.cache.get(key, <[u8]>::to_vec) {
            return Ok(Some(value));
        }
        let value = self.store.get(key)?;
        self.cache.read(key, value.as_deref());
        Ok(value)
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn get_into(&mut self, key: &[u8], buffer: &mut [u8]) -> Result<Option<usize>, HostError> {
        let copy = |buffer: &mut [u8], value: &[u8]| {
            let bytes = buffer.len().min(value.len());
            buffer[..bytes].copy_from_slice(&value[..bytes]);
            value.len()
        };
        if let Some(length) = self.cache.get(key, |value| copy(buffer, value)) {
            return Ok(Some(length));
        }
        let length = self.store.get_into(key, buffer)?;
        self.cache.read(key, length.and_then(|length| buffer.get(..length)));
        Ok(length)
    }

    /// Deletes a pair; whether it was there.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.cache.wrote(key, None, false);
        self.store.delete(key)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        if self.cache.contains(key) { Ok(true) } else { self.store.exists(key) }
    }
}
