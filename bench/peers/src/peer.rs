// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is compared: one store of pairs, on one thread.

/// Why a run ended.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;
/// What a call of a store ends with.
pub type Outcome<T = ()> = Result<T, Fault>;

/// Bytes of a key.
pub const KEY_BYTES: usize = 16;
/// A key.
pub type Key = [u8; KEY_BYTES];

/// A store of pairs. What it does not have is not measured.
pub trait Peer {
    /// Stores a pair.
    fn put(&mut self, key: &Key, value: &[u8]) -> Outcome;

    /// Stores many pairs, all with that value.
    fn batch(&mut self, keys: &[Key], value: &[u8]) -> Outcome {
        keys.iter().try_for_each(|key| self.put(key, value))
    }

    /// Copies the value of a key into the buffer, or as much as it takes. Whether there is one.
    fn get(&mut self, key: &Key, buffer: &mut [u8]) -> Outcome<bool>;

    /// Looks up many keys, and copies their values somewhere. How many were found; `None`: it has no call for that.
    fn multi_get(&mut self, keys: &[Key]) -> Outcome<Option<usize>> {
        let _ = keys;
        Ok(None)
    }

    /// Goes through the pairs from a key on, at most so many, and says how many it saw; `None`: it has no order.
    fn scan(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        let _ = (from, pairs);
        Ok(None)
    }

    /// The same, but the store is not told beforehand how many pairs are wanted, where it could be.
    fn stop_at(&mut self, from: &Key, pairs: usize) -> Outcome<Option<usize>> {
        self.scan(from, pairs)
    }

    /// Bytes that its files take; `None`: it has none.
    fn file_bytes(&mut self) -> Outcome<Option<u64>> {
        Ok(None)
    }
}

/// Copies what fits.
pub fn copy(value: &[u8], buffer: &mut [u8]) {
    let bytes = value.len().min(buffer.len());
    buffer[..bytes].copy_from_slice(&value[..bytes]);
}
