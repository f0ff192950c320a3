// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many pairs: queued puts, batches, and many keys at once.

use super::Kv;
use saker_host::{HostError, Values, WriteBatch};

impl Kv {
    /// Stores a pair without waiting; [`Kv::drain`] waits for all of them and tells the first failure.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// for n in 0..1000_u32 {
    ///     kv.put_queued(&n.to_be_bytes(), b"value")?;
    /// }
    /// kv.drain()?; // only now it is known that all were stored
    /// assert_eq!(kv.get(&999_u32.to_be_bytes())?, Some(b"value".to_vec()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn put_queued(&mut self, key: &[u8], value: &[u8]) -> Result<(), HostError> {
        // How it ends is not known before it is drained; reads settle that first.
        self.cache.wrote(key, None, false);
        self.store.put_queued(key, value)
    }

    /// Waits for every queued put.
    ///
    /// # Errors
    /// [`HostError`]: the first failure, with its key.
    ///
    /// ```
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("disk.img");
    /// # saker::create_image(&path, 4 << 20, "tiny", 1)?;
    /// # saker::Kv::open(&format!("file:{}", path.display()))?.close()?;
    /// use saker::{HostError, KvError};
    /// let mut kv = saker::Kv::open(&format!("file:{}?readonly", path.display()))?;
    /// kv.put_queued(b"key", b"value")?;
    /// let Err(HostError::Queued { key, error }) = kv.drain() else { panic!("nothing can be stored here") };
    /// assert_eq!(key.as_bytes(), b"key");
    /// assert_eq!(*error, KvError::WriteProtected.into());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn drain(&mut self) -> Result<(), HostError> {
        self.store.drain()
    }

    /// Writes a batch, in groups where the device has them: see [`WriteBatch`]. Deletes of keys that are not there succeed. An atomic
    /// batch is a transaction: all of it is done or nothing, and what does not fit one command is refused. A batch that is used again
    /// ([`WriteBatch::clear`]) takes no memory for a pair, nor does writing it with `hash_store`, `lsm` and `tree`, as of [`Kv::put`].
    ///
    /// # Errors
    /// [`HostError`]: the first write that failed, with its key; the others were carried out, unless the batch is atomic.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"three", b"3")?;
    /// let mut batch = saker::WriteBatch::new();
    /// batch.put(b"one", b"1").put(b"two", b"2").delete(b"three").delete(b"never there");
    /// kv.write(&batch)?;
    /// assert_eq!(kv.multi_exist(&[b"one", b"two", b"three"])?, [true, true, false]);
    /// batch.clear();
    /// batch.set_atomic(true).put(b"four", b"4").put(b"five", &vec![5; 3 << 20]);
    /// assert!(matches!(kv.write(&batch), Err(saker::HostError::TransactionLength { .. })));
    /// assert!(!kv.exists(b"four")?, "nothing was done");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write(&mut self, batch: &WriteBatch) -> Result<(), HostError> {
        let outcome = self.store.write(batch);
        if self.cache.is_on() {
            batch.iter().for_each(|(key, write)| self.cache.wrote(key, write, outcome.is_ok()));
        }
        outcome
    }

    /// The values of many keys, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"one", b"1")?;
    /// assert_eq!(kv.multi_get(&[b"two", b"one"])?, [None, Some(b"1".to_vec())]);
    /// assert_eq!(kv.group_stats().groups, 1, "both were asked for in one command");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// The values of many keys, in their order, in one piece of memory, which is taken again the next time: a call allocates about ten pieces
    /// of memory, however many values it brings. With a read cache (`cache=`) each value is one more. What `values` held before is gone.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"one", b"1")?;
    /// let mut values = saker::Values::default();
    /// kv.multi_get_into(&[b"two", b"one"], &mut values)?;
    /// assert_eq!((values.get(0), values.get(1)), (None, Some(&b"1"[..])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_get_into(&mut self, keys: &[&[u8]], values: &mut Values) -> Result<(), HostError> {
        if !self.cache.is_on() {
            return self.store.multi_get_into(keys, values);
        }
        values.fill(self.multi_get(keys)?.iter().map(Option::as_deref));
        Ok(())
    }

    /// Whether the keys exist, in their order.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"block 2", b"...")?;
    /// let blocks: [&[u8]; 3] = [b"block 1", b"block 2", b"block 3"];
    /// assert_eq!(kv.multi_exist(&blocks)?, [false, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multi_exist(&mut self, keys: &[&[u8]]) -> Result<Vec<bool>, HostError> {
        self.store.multi_exist(keys)
    }
}
