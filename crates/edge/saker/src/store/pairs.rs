// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pairs of a store, one after the other, with any other calls in between.

use super::{Store, StoreError};
use crate::kv::Kv;
use saker_host::{HostError, KvError, ScanCursor, ScanOptions, ScanOrder};
use std::collections::VecDeque;

/// A key and its value.
///
/// ```
/// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
/// let pairs: Vec<saker::store::Pair> = store.iter()?.collect::<Result<_, _>>()?;
/// assert!(pairs.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Pair = (Vec<u8>, Vec<u8>);

/// An iterator of pairs, which owns what it needs: it borrows no store, and may go to another thread. On `lsm` and `tree` it sees the pairs
/// as of one moment, in the order of their keys. It reads about 64 KiB at a time. A device has 16 scans at a
/// time, and says [`StoreError::ManyScans`] to another one; dropping this ends it.
///
/// ```
/// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
/// store.put_many([("a", "1"), ("b", "2")])?;
/// let mut pairs: saker::store::Pairs = store.iter()?;
/// store.put("c", "it does not see this")?;
/// for pair in &mut pairs {
///     let (key, value) = pair?;
///     println!("{} = {}", key.escape_ascii(), value.escape_ascii());
/// }
/// assert_eq!(pairs.order(), saker::ScanOrder::Bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Pairs {
    store: Store,
    /// `None` when it has ended.
    cursor: Option<ScanCursor>,
    order: ScanOrder,
    /// Pairs that are still wanted.
    left: u64,
    ahead: VecDeque<Pair>,
}

impl Pairs {
    pub(super) fn open(store: &Store, options: &ScanOptions<'_>, limit: u64) -> Result<Self, StoreError> {
        let left = if limit == 0 { u64::MAX } else { limit };
        let pairs_max = u32::try_from(limit).unwrap_or(0);
        let cursor = store.with(|kv| kv.open_scan(&ScanOptions { pairs_max, ..*options })).map_err(told)?;
        let order = cursor.order();
        Ok(Self { store: store.clone(), cursor: Some(cursor), order, left, ahead: VecDeque::new() })
    }

    /// One of no pairs.
    pub(super) fn none(store: &Store) -> Self {
        let order = ScanOrder::Device;
        Self { store: store.clone(), cursor: None, order, left: 0, ahead: VecDeque::new() }
    }

    /// How it is carried out, or was.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// assert_eq!(store.iter()?.order(), saker::ScanOrder::Device); // in an order of its own
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn order(&self) -> ScanOrder {
        self.order
    }

    /// The pairs that are at hand, or the next ones of the device: about 64 KiB. None at the end.
    ///
    /// # Errors
    /// [`StoreError`], which ends it.
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny")?;
    /// store.put("key", "value")?;
    /// let mut pairs = store.iter()?;
    /// assert_eq!(pairs.next_batch()?, [(b"key".to_vec(), b"value".to_vec())]);
    /// assert!(pairs.next_batch()?.is_empty(), "it has ended");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn next_batch(&mut self) -> Result<Vec<Pair>, StoreError> {
        self.fill()?;
        Ok(std::mem::take(&mut self.ahead).into())
    }

    /// Ends it, and tells the device. Dropping it leaves that to the next call of the device.
    ///
    /// # Errors
    /// [`StoreError`].
    ///
    /// ```
    /// # let store = saker::Store::open("mem:?size=4MiB&profile=tiny&engine=lsm")?;
    /// store.iter()?.close()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn close(mut self) -> Result<(), StoreError> {
        self.end()
    }

    /// Ends it. Ending it again does nothing.
    fn end(&mut self) -> Result<(), StoreError> {
        match self.cursor.take() {
            // A closed device has ended its scans.
            Some(cursor) if !self.store.is_closed() => self.store.with(|kv| kv.close_scan(cursor)),
            _ => Ok(()),
        }
    }

    /// Reads until a pair is at hand, or there is none any more.
    fn fill(&mut self) -> Result<(), StoreError> {
        while self.ahead.is_empty() && self.cursor.is_some() {
            match self.read() {
                Ok(true) => {}
                Ok(false) => self.end()?,
                Err(error) => {
                    self.cursor = None;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The next batch; whether there may be another.
    fn read(&mut self) -> Result<bool, StoreError> {
        let Self { store, cursor: Some(cursor), order, left, ahead } = self else { return Ok(false) };
        let prefix_bytes = store.prefix.as_slice().len();
        let mut more = |kv: &mut Kv| -> Result<bool, HostError> {
            kv.scan_next(cursor, &mut |key, value| {
                ahead.push_back((key[prefix_bytes..].to_vec(), value.to_vec()));
                *left -= 1;
                *left > 0
            })
        };
        let more = store.with(&mut more).map_err(told)?;
        *order = cursor.order();
        Ok(more && *left > 0)
    }
}

fn told(error: StoreError) -> StoreError {
    match error {
        StoreError::Host(HostError::Kv(KvError::ManyIterators)) => StoreError::ManyScans,
        other => other,
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Err(error) = self.fill() {
            return Some(Err(error));
        }
        self.ahead.pop_front().map(Ok)
    }
}

impl std::iter::FusedIterator for Pairs {}
