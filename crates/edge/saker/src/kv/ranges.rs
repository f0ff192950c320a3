// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys in the device's order, and pairs of a range.

use super::Kv;
use saker_host::{
    DeviceIterator, HostError, KeyRange, PairBatch, ScanCursor, ScanOptions, ScanOrder, StoreKeys, Xxh3Digest,
};
use saker_nvme::Key;
use saker_runtime::AnyDriver;

impl Kv {
    /// The keys from `from` on, in the device's order.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
    /// for key in [b"b", b"a", b"c"] {
    ///     kv.put(key, b"value")?;
    /// }
    /// let keys: Vec<_> = kv.list(Some(b"b")).collect::<Result<_, _>>()?;
    /// assert_eq!(keys, [b"b", b"c"]); // in the order of bytes with `lsm` and `tree`, of hashes with others
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn list(&mut self, from: Option<&[u8]>) -> Keys<'_> {
        Keys(self.store.list(from))
    }

    /// Shows each pair of a range of keys once, while `visit` says so. Engines that keep keys in order read it in the device,
    /// as of one moment and in order; on others all keys are listed and what is wanted is read.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// use saker::{KeyRange, ScanOptions, ScanOrder};
    /// for key in ["user:1", "user:2", "user:3", "visit:1"] {
    ///     kv.put(key.as_bytes(), b"value")?;
    /// }
    /// let range = KeyRange { from: b"user:2", prefix: b"user:", ..KeyRange::default() };
    /// let mut keys = Vec::new();
    /// let order = kv.scan(&ScanOptions { range, ..ScanOptions::default() }, &mut |key, _value| {
    ///     keys.push(key.to_vec());
    ///     true // go on
    /// })?;
    /// assert_eq!((keys, order), (vec![b"user:2".to_vec(), b"user:3".to_vec()], ScanOrder::Bytes));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan(
        &mut self,
        options: &ScanOptions<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        self.store.scan(options, visit)
    }

    /// The same while `goes_on`, which is asked before each batch, whether it has pairs of the range or not, says so as well.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// # kv.put(b"key", b"value")?;
    /// use saker::ScanOptions;
    /// use std::time::{Duration, Instant};
    /// let deadline = Instant::now() + Duration::from_secs(5);
    /// let (mut pairs, mut in_time) = (0, || Instant::now() < deadline);
    /// kv.scan_while(&ScanOptions::default(), &mut in_time, &mut |_, _| { pairs += 1; true })?;
    /// assert_eq!(pairs, 1);
    /// kv.scan_while(&ScanOptions::default(), &mut || false, &mut |_, _| unreachable!("nothing is read"))?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_while(
        &mut self,
        options: &ScanOptions<'_>,
        goes_on: &mut dyn FnMut() -> bool,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        self.store.scan_while(options, goes_on, visit)
    }

    /// Begins a scan that goes on when [`Kv::scan_next`] is called, with any other calls in between.
    ///
    /// # Errors
    /// [`HostError`]; [`KvError::ManyIterators`](crate::KvError::ManyIterators) with 16 iterators open already.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// use saker::{ScanCursor, ScanOptions};
    /// for key in ["a", "b", "a key of more than 16 bytes"] {
    ///     kv.put(key.as_bytes(), b"value")?;
    /// }
    /// let mut scan: ScanCursor = kv.open_scan(&ScanOptions::default())?;
    /// kv.put(b"c", b"the scan does not see this")?;
    /// let mut keys = 0;
    /// while kv.scan_next(&mut scan, &mut |_key, _value| { keys += 1; true })? {}
    /// assert_eq!((keys, scan.order()), (3, saker::ScanOrder::Bytes));
    /// kv.close_scan(scan)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_scan(&mut self, options: &ScanOptions<'_>) -> Result<ScanCursor, HostError> {
        self.store.open_scan(options)
    }

    /// Shows the next pairs of a scan: a batch of about 64 KiB, or one pair that is longer. Whether to go on; `visit` may say no, which
    /// ends what is shown of this batch.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// # kv.put(b"key", b"value")?;
    /// let mut scan = kv.open_scan(&saker::ScanOptions::default())?;
    /// kv.scan_next(&mut scan, &mut |key, value| { assert_eq!((key, value), (&b"key"[..], &b"value"[..])); true })?;
    /// assert!(scan.is_ended());
    /// kv.close_scan(scan)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scan_next(
        &mut self,
        scan: &mut ScanCursor,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool, HostError> {
        self.store.scan_on(scan, visit)
    }

    /// Ends a scan: until then the device keeps what it sees. One that is dropped ends when this `Kv` opens the next, asks for pairs,
    /// or drains.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
    /// for _ in 0..100 { // a device has 16 at a time
    ///     let scan = kv.open_scan(&saker::ScanOptions::default())?;
    ///     kv.close_scan(scan)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close_scan(&mut self, scan: ScanCursor) -> Result<(), HostError> {
        self.store.close_scan(scan)
    }

    /// Opens an iterator of the device over keys of up to 16 bytes, as of now: [`Kv::next_pairs`] goes forwards, backwards, or
    /// to a key. `None`: this engine has none.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
    /// use saker::{DeviceIterator, KeyRange};
    /// kv.put(b"key", b"value")?;
    /// let iterator: Option<DeviceIterator> = kv.open_iterator(&KeyRange::default())?;
    /// let mut iterator = iterator.expect("`tree` and `lsm` have iterators");
    /// kv.put(b"later", b"value")?; // it does not see this
    /// assert_eq!(kv.next_pairs(&mut iterator, 0, false, None)?.pairs().len(), 1);
    /// kv.close_iterator(iterator)?;
    ///
    /// let mut hashed = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// assert!(hashed.open_iterator(&KeyRange::default())?.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_iterator(&mut self, range: &KeyRange<'_>) -> Result<Option<DeviceIterator>, HostError> {
        self.store.native().open_iterator(range, false, None)
    }

    /// The next pairs of an iterator, at most `pairs_max` (0: as many as a batch holds), in rising order or, `backwards`, in
    /// falling order; from `seek` on, or from where it stands.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// # for key in [b"a", b"b", b"c"] { kv.put(key, b"value")?; }
    /// let mut iterator = kv.open_iterator(&saker::KeyRange::default())?.expect("`lsm` has iterators");
    /// let batch: saker::PairBatch = kv.next_pairs(&mut iterator, 2, true, Some(b"b"))?;
    /// let keys: Vec<_> = batch.pairs().map(|(key, _value)| key).collect();
    /// assert_eq!((keys, batch.is_last()), (vec![&b"b"[..], b"a"], true));
    /// kv.close_iterator(iterator)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_pairs(
        &mut self,
        iterator: &mut DeviceIterator,
        pairs_max: u32,
        backwards: bool,
        seek: Option<&[u8]>,
    ) -> Result<PairBatch, HostError> {
        let seek = seek.map(Key::new).transpose()?;
        self.store.native().next_pairs(iterator, pairs_max, backwards, seek)
    }

    /// Ends an iterator: until then the device keeps what it sees.
    ///
    /// # Errors
    /// [`HostError`].
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// for _ in 0..100 { // a device has 16 at a time
    ///     let iterator = kv.open_iterator(&saker::KeyRange::default())?.expect("`lsm` has iterators");
    ///     kv.close_iterator(iterator)?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close_iterator(&mut self, iterator: DeviceIterator) -> Result<(), HostError> {
        self.store.native().close_iterator(iterator)
    }
}

/// Keys of a device, in its order.
///
/// ```
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
/// kv.put(b"key", b"value")?;
/// let mut keys: saker::kv::Keys<'_> = kv.list(None);
/// assert_eq!(keys.next(), Some(Ok(b"key".to_vec())));
/// assert_eq!(keys.next(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Keys<'k>(StoreKeys<'k, AnyDriver, Xxh3Digest>);

impl Keys<'_> {
    /// The device key that was looked at last: after an error, that of the envelope which could not be read, whose keys are passed
    /// over when the list goes on.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny")?;
    /// kv.put(b"a key of more than 16 bytes", b"value")?;
    /// let mut keys = kv.list(None);
    /// assert!(matches!(keys.next(), Some(Ok(_))));
    /// let place = keys.place().expect("something was looked at");
    /// assert_eq!(place.len(), 16, "the device has the key's digest");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn place(&self) -> Option<Key> {
        self.0.place()
    }
}

impl Iterator for Keys<'_> {
    type Item = Result<Vec<u8>, HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next()
    }
}
