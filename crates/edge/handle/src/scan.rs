// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans that borrow nothing: other calls and other threads come in between.

use crate::{Fault, Store};
pub use saker::store::Pair;
use saker::store::Pairs;
use saker::{KeyRange, ScanOptions, ScanOrder};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Which pairs, and how.
#[derive(Clone, Debug, Default)]
pub struct ScanWish {
    /// The least key; empty: from the first one on.
    pub start: Vec<u8>,
    /// The first key behind the range; empty: to the last one.
    pub stop: Vec<u8>,
    /// What every key begins with.
    pub prefix: Vec<u8>,
    /// Values are left out.
    pub keys_only: bool,
    /// In falling order.
    pub backwards: bool,
    /// Pairs at most; 0: all.
    pub limit: u64,
}

impl ScanWish {
    fn options(&self) -> ScanOptions<'_> {
        let range = KeyRange { from: &self.start, to: &self.stop, prefix: &self.prefix };
        ScanOptions { range, keys_only: self.keys_only, backwards: self.backwards, pairs_max: 0 }
    }
}

/// A scan that is under way. Dropping it ends it; the device learns of that with the next scan.
///
/// ```
/// use saker_handle::{ScanWish, Store};
/// let store = Store::open("mem:?size=4MiB&profile=tiny&engine=tree")?;
/// (0..3u8).try_for_each(|n| store.put(&[n], b"value"))?;
/// let scan = store.scan(&ScanWish { limit: 2, ..ScanWish::default() })?;
/// store.put(&[3], b"it does not see this")?;
/// assert_eq!(scan.next_batch()?, [(vec![0], b"value".to_vec()), (vec![1], b"value".to_vec())]);
/// assert!(scan.next_batch()?.is_empty(), "it has ended");
/// # Ok::<(), saker_handle::Fault>(())
/// ```
#[derive(Debug)]
pub struct Scan {
    store: saker::Store,
    under: Mutex<Under>,
}

#[derive(Debug)]
struct Under {
    /// `None` when it was closed.
    pairs: Option<Pairs>,
    order: ScanOrder,
}

impl Store {
    /// Begins a scan.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn scan(&self, wish: &ScanWish) -> Result<Scan, Fault> {
        let pairs = self.store.scan(&wish.options(), wish.limit)?;
        let under = Under { order: pairs.order(), pairs: Some(pairs) };
        Ok(Scan { store: self.store.clone(), under: Mutex::new(under) })
    }
}

impl Scan {
    fn under(&self) -> Result<MutexGuard<'_, Under>, Fault> {
        self.store.check()?;
        Ok(self.under.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next pairs, about 64 KiB of them; none at the end, or when it was closed.
    ///
    /// # Errors
    /// [`Fault`], which ends it.
    pub fn next_batch(&self) -> Result<Vec<Pair>, Fault> {
        let mut under = self.under()?;
        let Some(pairs) = &mut under.pairs else { return Ok(Vec::new()) };
        let batch = pairs.next_batch();
        let order = pairs.order();
        under.order = order;
        Ok(batch?)
    }

    /// How it is carried out, or was.
    #[must_use]
    pub fn order(&self) -> ScanOrder {
        self.under().map_or(ScanOrder::Device, |under| under.order)
    }

    /// Ends it. Ending it again does nothing.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn close(&self) -> Result<(), Fault> {
        let pairs = self.under()?.pairs.take();
        Ok(pairs.map_or(Ok(()), Pairs::close)?)
    }
}
