// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many pairs of a store at once.

use super::prefix::ROOM;
use super::{Store, StoreError};
use saker_host::{HostError, Values, WriteBatch};

/// Puts a pair.
type Put<'p> = dyn FnMut(&[u8], &[u8]) -> Result<(), HostError> + 'p;

/// Puts the next pair, if there is one; whether there was.
type Next<'n> = dyn FnMut(&mut Put<'_>) -> Result<bool, HostError> + 'n;

impl Store {
    /// Writes a batch: see [`Kv::write`](crate::Kv::write). One over several spaces has their [keys at the device](Store::device_key), and is
    /// written by [`Spaces::device`](super::Spaces::device).
    ///
    /// # Errors
    /// [`StoreError`]: the first write that failed, with its key; the others were carried out, unless the batch is atomic.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// let mut batch = saker::WriteBatch::new();
    /// batch.put(b"one", b"1").put(b"two", b"2").delete(b"three").set_atomic(true);
    /// store.write(&batch)?; // all of it or nothing
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&self, batch: &WriteBatch) -> Result<(), StoreError> {
        if !self.prefix.is_space() {
            return self.with(|kv| kv.write(batch));
        }
        let batch = self.translated(batch)?;
        self.with(|kv| kv.write(&batch))
    }

    /// The batch with the keys of the device.
    fn translated(&self, batch: &WriteBatch) -> Result<WriteBatch, HostError> {
        let mut translated = WriteBatch::new();
        translated.set_atomic(batch.is_atomic());
        for (key, value) in batch.iter() {
            let mut room = ROOM;
            let key = self.prefix.key(key, &mut room)?;
            match value {
                Some(value) => translated.put(key, value),
                None => translated.delete(key),
            };
        }
        Ok(translated)
    }

    /// The values of many keys, which leave together, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("one", "1")?;
    /// assert_eq!(store.multi_get(&["two", "one"])?, [None, Some(b"1".to_vec())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_get<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.values(&keys.iter().map(AsRef::as_ref).collect::<Vec<_>>())
    }

    /// The values of many keys, in their order, in one piece of memory: see [`Kv::multi_get_into`](crate::Kv::multi_get_into).
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("one", "1")?;
    /// let mut values = saker::Values::default();
    /// store.multi_get_into(&["two", "one"], &mut values)?;
    /// assert!(values.iter().eq([None, Some(&b"1"[..])]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_get_into<K: AsRef<[u8]>>(&self, keys: &[K], values: &mut Values) -> Result<(), StoreError> {
        let keys: Vec<_> = keys.iter().map(AsRef::as_ref).collect();
        if !self.prefix.is_space() {
            return self.with(|kv| kv.multi_get_into(&keys, values));
        }
        let keys = self.device_keys(&keys)?;
        let keys: Vec<_> = keys.iter().map(AsRef::as_ref).collect();
        self.with(|kv| kv.multi_get_into(&keys, values))
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("one", "1")?;
    /// assert_eq!(store.multi_exist(&["one", "two"])?, [true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_exist<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>, StoreError> {
        let keys: Vec<_> = keys.iter().map(AsRef::as_ref).collect();
        let keys = self.device_keys(&keys)?;
        self.with(|kv| kv.multi_exist(&keys.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
    }

    fn values(&self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        if !self.prefix.is_space() {
            return self.with(|kv| kv.multi_get(keys));
        }
        let keys = self.device_keys(keys)?;
        self.with(|kv| kv.multi_get(&keys.iter().map(AsRef::as_ref).collect::<Vec<_>>()))
    }

    fn device_keys(&self, keys: &[&[u8]]) -> Result<Vec<Vec<u8>>, HostError> {
        let key = |key: &&[u8]| {
            let mut room = ROOM;
            self.prefix.key(key, &mut room).map(<[u8]>::to_vec)
        };
        keys.iter().map(key).collect()
    }

    /// Stores pairs that need not be kept together, many commands at a time. When it returns all of them are stored.
    ///
    /// # Errors
    /// [`StoreError`] of the first that failed, with its key: others may be stored.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put_many((0..1000_u32).map(|n| (n.to_be_bytes(), "value")))?;
    /// assert_eq!(store.iter()?.count(), 1000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        pairs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<(), StoreError> {
        let mut pairs = pairs.into_iter();
        self.put_all(&mut |put| match pairs.next() {
            Some((key, value)) => put(key.as_ref(), value.as_ref()).map(|()| true),
            None => Ok(false),
        })
    }

    /// `next` puts a pair with what it is given; whether there was one.
    fn put_all(&self, next: &mut Next<'_>) -> Result<(), StoreError> {
        self.with(|kv| {
            let mut put = |key: &[u8], value: &[u8]| {
                let mut room = ROOM;
                kv.put_queued(self.prefix.key(key, &mut room)?, value)
            };
            let queued = loop {
                match next(&mut put) {
                    Ok(true) => {}
                    Ok(false) => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            let drained = kv.drain();
            queued.and(drained)
        })
    }
}
