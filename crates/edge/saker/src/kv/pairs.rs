// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs, one at a time.

use super::Kv;
use saker_host::{Condition, HostError, KvError};

impl Kv {
    /// Stores a pair. Keys have 1 to 255 bytes. With the engines `hash_store`, `lsm` and `tree` nothing is allocated for a pair whose room is
    /// there, in a device in this process; buffers that fill, what is flushed and merged, and sections of hash FTLs take memory.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// use saker::HostError;
    /// kv.put(b"key", b"old")?;
    /// kv.put(b"key", b"new")?; // replaces it
    /// assert_eq!(kv.get(b"key")?, Some(b"new".to_vec()));
    /// assert_eq!(kv.put(b"", b"value"), Err(HostError::KeyLength(0)));
    /// assert!(matches!(kv.put(b"key", &vec![0; 3 << 20]), Err(HostError::ValueLength { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        let outcome = self.store.put(key, value);
        self.cache.wrote(key, Some(value), outcome.is_ok());
        outcome
    }

    /// Stores a pair if its key is not there, in one command; whether it was stored.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(kv.put_if_absent(b"lock", b"mine")?);
    /// assert!(!kv.put_if_absent(b"lock", b"yours")?, "somebody has it");
    /// assert_eq!(kv.get(b"lock")?, Some(b"mine".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// assert_eq!(kv.get(b"key")?, None);
    /// kv.put(b"key", b"")?;
    /// assert_eq!(kv.get(b"key")?, Some(Vec::new()), "an empty value is a value");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, HostError> {
        if let Some(value) = self.cache.get(key, <[u8]>::to_vec) {
            return Ok(Some(value));
        }
        let value = self.store.get(key)?;
        self.cache.read(key, value.as_deref());
        Ok(value)
    }

    /// Reads a value into `buffer`; returns its full length, which may be more than the buffer's. Nothing is allocated on the way to a device in
    /// this process, but for a section of an index that a hash FTL (`hash_original`, `hash_plus`, `hash_doubling`) reads from flash, and
    /// for what the read cache takes in.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"greeting", b"good morning")?;
    /// let mut buffer = [0; 4];
    /// let bytes = kv.get_into(b"greeting", &mut buffer)?;
    /// assert_eq!((bytes, &buffer), (Some(12), b"good"), "12 bytes are there, 4 of them were read");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"key", b"value")?;
    /// assert!(kv.delete(b"key")?);
    /// assert!(!kv.delete(b"key")?, "it was gone already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn delete(&mut self, key: &[u8]) -> Result<bool, HostError> {
        self.cache.wrote(key, None, false);
        self.store.delete(key)
    }

    /// Whether there is such a pair.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"user:7", &[0; 4096])?;
    /// assert!(kv.exists(b"user:7")? && !kv.exists(b"user:8")?); // no value is moved
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exists(&mut self, key: &[u8]) -> Result<bool, HostError> {
        if self.cache.contains(key) { Ok(true) } else { self.store.exists(key) }
    }
}
