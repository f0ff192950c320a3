// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scans over keys of any length.

mod cursor;
mod listed;
mod pairs;
mod walked;

use saker_long_keys::KeyDigest;

use super::store::KvStoreClient;
use crate::client::KeyRange;
use crate::driver::Driver;
use crate::error::HostError;
pub use cursor::ScanCursor;
pub use pairs::ScanPairs;
pub(super) use pairs::Usual;

/// Sees a pair: whether to go on.
type Visit<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> bool;

/// What to read.
///
/// ```
/// use saker_host::{KeyRange, ScanOptions};
/// let range = KeyRange { prefix: b"user:", ..KeyRange::default() };
/// let newest_ten = ScanOptions { range, backwards: true, pairs_max: 10, ..ScanOptions::default() };
/// assert!(!newest_ten.keys_only, "values are shown, too");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanOptions<'a> {
    /// Which keys.
    pub range: KeyRange<'a>,
    /// Values are left out: they are shown empty.
    pub keys_only: bool,
    /// In falling order: of devices that have iterators.
    pub backwards: bool,
    /// Pairs that are wanted at most, as far as is known: batches are not larger. 0: all.
    pub pairs_max: u32,
}

/// How a scan was carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanOrder {
    /// By the device's iterator: short keys in the order of their bytes, then long ones by their digests, all as of one moment.
    /// Backwards both in falling order.
    Bytes,
    /// So, but the iterator was lost on the way, with the connection to the device or by its time-out: what came behind is as of a
    /// later moment.
    Resumed,
    /// By List and Retrieve, in the device's order; what changes meanwhile may be seen or not.
    Device,
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Shows each pair of a range once, while `visit` says so. Where the device has iterators, all as of one moment, with
    /// keys of up to 16 bytes in the order of their bytes, longer ones behind them. It goes on behind the last key when the
    /// connection to a device on the network was lost and made again.
    ///
    /// # Errors
    /// [`HostError`]; [`Unreachable`](crate::KvError::Unreachable) if it could not be made again;
    /// [`NoOrder`](HostError::NoOrder) backwards on a device without iterators.
    pub fn scan(
        &mut self,
        options: &ScanOptions<'_>,
        visit: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        self.scan_while(options, || true, visit)
    }

    /// The same while `goes_on`, which is asked before each batch, whether it has pairs of the range or not, says so as well.
    ///
    /// # Errors
    /// As [`scan`](Self::scan).
    pub fn scan_while(
        &mut self,
        options: &ScanOptions<'_>,
        mut goes_on: impl FnMut() -> bool,
        mut pair: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<ScanOrder, HostError> {
        let mut cursor = self.open_scan(options)?;
        let mut scanned = Ok(true);
        while matches!(scanned, Ok(true)) && goes_on() {
            scanned = self.scan_on(&mut cursor, &mut pair);
        }
        let order = cursor.order();
        let closed = self.close_scan(cursor);
        scanned.and(closed).map(|()| order)
    }
}
