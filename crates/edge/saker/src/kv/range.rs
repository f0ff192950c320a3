// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of a range one by one.

use super::Kv;
use saker_host::{HostError, ScanOptions, ScanOrder, ScanPairs};

impl Kv {
    /// The pairs of a range, one by one, as of now: what this or any other host writes, deletes or formats meanwhile is not seen, with the
    /// engines `lsm` and `tree`. With the others what changes meanwhile may be seen or not.
    ///
    /// [`Pairs::next_pair`] lends key and value; as an [`Iterator`] it gives copies away. Pairs come in batches. The first has 16, or as
    /// many as each of the last two iterators of this `Kv` has given if that is more, and each twice as many as the one before, up to 64 KiB; with
    /// [`pairs_max`](ScanOptions::pairs_max) the first has as many as that says.
    ///
    /// # Errors
    /// [`HostError`]; [`KvError::ManyIterators`](crate::KvError::ManyIterators) with 16 iterators open already.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// use saker::{KeyRange, Pairs, ScanOptions};
    /// for key in ["user:1", "user:2", "user:3", "visit:1"] {
    ///     kv.put(key.as_bytes(), b"value")?;
    /// }
    /// let range = KeyRange { prefix: b"user:", ..KeyRange::default() };
    /// let mut pairs: Pairs<'_> = kv.range(&ScanOptions { range, ..ScanOptions::default() })?;
    /// let mut keys = Vec::new();
    /// while let Some((key, value)) = pairs.next_pair()? {
    ///     assert_eq!(value, b"value");
    ///     keys.push(key.to_vec());
    /// }
    /// assert_eq!(keys, [b"user:1", b"user:2", b"user:3"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range(&mut self, options: &ScanOptions<'_>) -> Result<Pairs<'_>, HostError> {
        let scan = self.store.open_pairs(options)?;
        Ok(Pairs { kv: self, scan: Some(scan) })
    }
}

/// The pairs of a range: see [`Kv::range`]. The device keeps what it sees until it is dropped.
///
/// ```
/// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
/// kv.put(b"key", b"value")?;
/// let pairs: saker::Pairs<'_> = kv.range(&saker::ScanOptions::default())?;
/// for pair in pairs {
///     let (key, value) = pair?;
///     assert_eq!((key, value), (b"key".to_vec(), b"value".to_vec()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pairs<'k> {
    kv: &'k mut Kv,
    /// `None` once it has ended.
    scan: Option<ScanPairs>,
}

impl Pairs<'_> {
    /// The next pair, lent until the one behind it is asked for; `None` at the end.
    ///
    /// # Errors
    /// [`HostError`]; [`KvError::IteratorLost`](crate::KvError::IteratorLost) if the device has given up what was to be seen: with the
    /// connection, after a time-out, or because the namespace was formatted. Nothing follows an error.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// kv.put(b"key", b"value")?;
    /// let mut pairs = kv.range(&saker::ScanOptions::default())?;
    /// assert_eq!(pairs.next_pair()?, Some((&b"key"[..], &b"value"[..])));
    /// assert_eq!(pairs.next_pair()?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    #[expect(clippy::type_complexity, reason = "a key and its value, which a type of its own would hide")]
    pub fn next_pair(&mut self) -> Result<Option<(&[u8], &[u8])>, HostError> {
        let Self { kv, scan: place } = self;
        let Some(scan) = place else { return Ok(None) };
        match kv.store.has_next(scan) {
            Ok(true) => Ok(place.as_mut().and_then(ScanPairs::take_pair)),
            ended => {
                let closed = place.take().map_or(Ok(()), |scan| kv.store.close_pairs(scan));
                ended.and(closed).map(|()| None)
            }
        }
    }

    /// In which order they come.
    ///
    /// ```
    /// # let mut kv = saker::Kv::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// assert_eq!(kv.range(&saker::ScanOptions::default())?.order(), Some(saker::ScanOrder::Bytes));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn order(&self) -> Option<ScanOrder> {
        self.scan.as_ref().map(ScanPairs::order)
    }
}

impl Iterator for Pairs<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>), HostError>;

    fn next(&mut self) -> Option<Self::Item> {
        let pair = self.next_pair().transpose()?;
        Some(pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }
}

impl Drop for Pairs<'_> {
    fn drop(&mut self) {
        if let Some(scan) = self.scan.take() {
            // One that cannot be ended has ended with its connection, or times out.
            let _ = self.kv.store.close_pairs(scan);
        }
    }
}
