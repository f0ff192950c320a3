//! Scans that borrow nothing: other calls and other threads come in between.

use crate::{Fault, Store};
use saker::{KeyRange, ScanCursor, ScanOptions, ScanOrder};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A key and its value.
pub type Pair = (Vec<u8>, Vec<u8>);

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
        let pairs_max = u32::try_from(self.limit).unwrap_or(0);
        ScanOptions { range, keys_only: self.keys_only, backwards: self.backwards, pairs_max }
    }
}

#[derive(Debug)]
struct Under {
    /// `None` when it has ended.
    cursor: Option<ScanCursor>,
    order: ScanOrder,
    /// Pairs that are still wanted.
    left: u64,
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
    store: Store,
    under: Mutex<Under>,
}

impl Store {
    /// Begins a scan.
    ///
    /// # Errors
    /// [`Fault`].
    pub fn scan(&self, wish: &ScanWish) -> Result<Scan, Fault> {
        let cursor = self.kv.with(|kv| kv.open_scan(&wish.options()))?;
        let left = if wish.limit == 0 { u64::MAX } else { wish.limit };
        let under = Under { order: cursor.order(), cursor: Some(cursor), left };
        Ok(Scan { store: self.clone(), under: Mutex::new(under) })
    }
}

impl Scan {
    fn under(&self) -> Result<MutexGuard<'_, Under>, Fault> {
        self.store.kv.check()?;
        Ok(self.under.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The next pairs, about 64 KiB of them; none at the end, or when it was closed.
    ///
    /// # Errors
    /// [`Fault`], which ends it.
    pub fn next_batch(&self) -> Result<Vec<Pair>, Fault> {
        let mut under = self.under()?;
        let mut pairs = Vec::new();
        while pairs.is_empty() && under.cursor.is_some() {
            match under.next(&self.store, &mut pairs) {
                Ok(true) => {}
                Ok(false) => under.close(&self.store)?,
                Err(fault) => {
                    under.cursor = None;
                    return Err(fault);
                }
            }
        }
        Ok(pairs)
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
        self.under()?.close(&self.store)
    }
}

impl Under {
    /// Whether to go on.
    fn next(&mut self, store: &Store, pairs: &mut Vec<Pair>) -> Result<bool, Fault> {
        let Self { cursor: Some(cursor), order, left } = self else { return Ok(false) };
        let more = store.kv.with(|kv| {
            kv.scan_next(cursor, &mut |key, value| {
                pairs.push((key.to_vec(), value.to_vec()));
                *left -= 1;
                *left > 0
            })
        })?;
        *order = cursor.order();
        Ok(more)
    }

    fn close(&mut self, store: &Store) -> Result<(), Fault> {
        match self.cursor.take() {
            // A closed device has ended its scans.
            Some(cursor) if !store.is_closed() => store.kv.with(|kv| kv.close_scan(cursor)),
            _ => Ok(()),
        }
    }
}
