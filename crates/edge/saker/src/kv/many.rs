//! Many pairs: queued puts, batches, and many keys at once.

use super::Kv;
use saker_host::{HostError, WriteBatch};

impl Kv {
    /// Stores a pair without waiting; [`Kv::drain`] waits for all of them and tells the first failure.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn put_queued(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        // How it ends is not known before it is drained; reads settle that first.
        self.cache.wrote(key, None, false);
        self.store.put_queued(key, value)
    }

    /// Waits for every queued put.
    ///
    /// # Errors
    /// [`HostError`]: the first failure, with its key.
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.store.drain()
    }

    /// Writes a batch, in groups where the device has them: see [`WriteBatch`]. Deletes of keys that are not there succeed.
    ///
    /// # Errors
    /// [`HostError`]: the first write that failed, with its key; the others were carried out.
    pub fn write(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        let outcome = self.store.write(batch);
        batch.iter().for_each(|(key, write)| self.cache.wrote(key, write, outcome.is_ok()));
        outcome
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn multi_get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, HostError> {
        if !self.cache.is_on() {
            return self.store.multi_get(keys);
        }
        let mut found: Vec<_> = keys.iter().map(|key| self.cache.get(key, <[u8]>::to_vec)).collect();
        let missing: Vec<usize> = (0..keys.len()).filter(|n| found[*n].is_none()).collect();
        let asked: Vec<&[u8]> = missing.iter().map(|n| keys[*n]).collect();
        for (n, value) in missing.into_iter().zip(self.store.multi_get(&asked)?) {
            self.cache.read(keys[n], value.as_deref());
            found[n] = value;
        }
        Ok(found)
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        self.store.multi_exist(keys)
    }
}
