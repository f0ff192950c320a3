// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which pairs of a store.

use super::{Pairs, Store, StoreError};
use saker_host::{KeyRange, ScanOptions, WriteBatch};
use std::ops::{Bound, RangeBounds};

/// Pairs that are deleted together.
const DELETED_TOGETHER: usize = 256;

impl Store {
    /// All pairs.
    ///
    /// # Errors
    /// [`StoreError`]; [`ManyScans`](StoreError::ManyScans) with 16 scans under way already.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("key", "value")?;
    /// let pairs = store.iter()?.collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(pairs, [(b"key".to_vec(), b"value".to_vec())]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> Result<Pairs, StoreError> {
        self.scan(&ScanOptions::default(), 0)
    }

    /// The pairs whose keys are in a range. Engines that keep keys in order read it; others list all keys.
    ///
    /// # Errors
    /// As [`Store::iter`].
    ///
    /// ```
    /// let store = saker::Store::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// store.put_many(["a", "b", "c", "d"].map(|key| (key, "")))?;
    /// let keys = |pairs: saker::store::Pairs| pairs.map(|pair| Ok(pair?.0)).collect::<Result<Vec<_>, saker::StoreError>>();
    /// assert_eq!(keys(store.range("b".."d")?)?, [b"b", b"c"]);
    /// assert_eq!(keys(store.range("b"..="d")?)?, [b"b", b"c", b"d"]);
    /// assert_eq!(keys(store.range("c"..)?)?, [b"c", b"d"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range<K: AsRef<[u8]>>(&self, range: impl RangeBounds<K>) -> Result<Pairs, StoreError> {
        let bytes = |bound: Bound<&K>| bound.map(|key| key.as_ref().to_vec());
        self.between(bytes(range.start_bound()), bytes(range.end_bound()))
    }

    fn between(&self, start: Bound<Vec<u8>>, end: Bound<Vec<u8>>) -> Result<Pairs, StoreError> {
        let from = match start {
            Bound::Included(key) => key,
            Bound::Excluded(key) => next(key),
            Bound::Unbounded => Vec::new(),
        };
        let to = match end {
            Bound::Included(key) => next(key),
            // No key comes before that of no bytes.
            Bound::Excluded(key) if key.is_empty() => return Ok(Pairs::none(self)),
            Bound::Excluded(key) => key,
            Bound::Unbounded => Vec::new(),
        };
        let range = KeyRange { from: &from, to: &to, prefix: &[] };
        self.scan(&ScanOptions { range, ..ScanOptions::default() }, 0)
    }

    /// The pairs whose keys begin with some bytes.
    ///
    /// # Errors
    /// As [`Store::iter`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put_many(["user:1", "user:2", "visit:1"].map(|key| (key, "")))?;
    /// assert_eq!(store.prefix("user:")?.count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Pairs, StoreError> {
        let range = KeyRange { prefix: prefix.as_ref(), ..KeyRange::default() };
        self.scan(&ScanOptions { range, ..ScanOptions::default() }, 0)
    }

    /// The pairs that the options name, at most `limit` of them; 0: all.
    ///
    /// # Errors
    /// As [`Store::iter`]; [`HostError::NoOrder`](crate::HostError::NoOrder).
    ///
    /// ```
    /// use saker::{KeyRange, ScanOptions, Store};
    /// let store = Store::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
    /// store.put_many(["user:1", "user:2", "visit:1"].map(|key| (key, "")))?;
    /// let range = KeyRange { prefix: b"user:", ..KeyRange::default() };
    /// let options = ScanOptions { range, keys_only: true, backwards: true, ..ScanOptions::default() };
    /// let newest = store.scan(&options, 1)?.next().expect("there is one")?;
    /// assert_eq!(newest.0, b"user:2");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(&self, options: &ScanOptions<'_>, limit: u64) -> Result<Pairs, StoreError> {
        if !self.prefix.is_space() {
            return Pairs::open(self, options, limit);
        }
        let key = |key: &[u8]| if key.is_empty() { Vec::new() } else { self.prefix.key_of(key) };
        let KeyRange { from, to, prefix } = options.range;
        let (from, to, prefix) = (key(from), key(to), self.prefix.key_of(prefix));
        let range = KeyRange { from: &from, to: &to, prefix: &prefix };
        Pairs::open(self, &ScanOptions { range, ..*options }, limit)
    }

    /// Deletes all pairs, some at a time, until there is none.
    pub(super) fn empty(&self) -> Result<(), StoreError> {
        let options = ScanOptions { keys_only: true, ..ScanOptions::default() };
        loop {
            let mut batch = WriteBatch::new();
            for pair in self.scan(&options, DELETED_TOGETHER as u64)? {
                batch.delete(&pair?.0);
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.write(&batch)?;
        }
    }
}

/// The first key behind one.
fn next(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}
