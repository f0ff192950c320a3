// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A scan that lends its pairs one by one.
//!
//! Who says how many pairs are wanted gets them in one command. Else the first batch has as many as each of the last two scans has taken, or
//! is small, and each one is twice as large as the one before: so a scan that stops early has asked for little in vain, and a long one for
//! large batches.

use saker_link::STAGING_BYTES;
use saker_long_keys::KeyDigest;

use super::cursor::{Shown, Stage};
use super::{ScanCursor, ScanOptions, ScanOrder};
use crate::client::{BATCH_BYTES, Limits};
use crate::driver::Driver;
use crate::error::{HostError, KvError};
use crate::long_keys::KvStoreClient;

/// Pairs of the first batch, if nobody says how many are wanted.
const FIRST_PAIRS: u32 = 16;
/// A pair is expected to take so many bytes until some have come.
const PAIR_BYTES: u32 = 256;

/// How many pairs the last two scans have taken.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::long_keys) struct Usual([u32; 2]);

impl Usual {
    /// Pairs of the first batch of the next scan: one long scan among short ones makes none of them ask for much.
    fn pairs(self) -> u32 {
        self.0[0].min(self.0[1]).max(FIRST_PAIRS)
    }

    fn took(&mut self, pairs: u32) {
        self.0 = [self.0[1], pairs];
    }
}

/// A scan whose pairs are taken one by one. It ends when it is [closed](KvStoreClient::close_pairs), or as a [`ScanCursor`] that is dropped.
#[derive(Debug)]
pub struct ScanPairs {
    cursor: ScanCursor,
    /// The next pair of the batch.
    at: usize,
    /// Pairs of the batches before.
    before: usize,
    /// Pairs of the next batch; 0: as many as its bytes take.
    pairs: u32,
    /// Bytes of a pair, as far as is known.
    pair_bytes: u32,
}

impl ScanPairs {
    /// How the scan was carried out so far.
    #[must_use]
    pub fn order(&self) -> ScanOrder {
        self.cursor.order()
    }

    /// The pair that [`has_next`](KvStoreClient::has_next) has found.
    #[inline]
    pub fn take_pair(&mut self) -> Option<(&[u8], &[u8])> {
        self.at += 1;
        self.cursor.batch.pair(self.at - 1)
    }

    /// How large the next batch may be.
    fn limits(&mut self) -> Limits {
        let pairs_max = self.pairs;
        let wanted = if pairs_max == 0 { BATCH_BYTES } else { pairs_max.saturating_mul(self.pair_bytes) };
        // What is not filled is lent in vain; a page lies ready.
        let bytes = wanted.next_multiple_of(STAGING_BYTES as u32).min(BATCH_BYTES);
        let is_largest = pairs_max == 0 || bytes == BATCH_BYTES;
        self.pairs = if is_largest { 0 } else { pairs_max.saturating_mul(2) };
        Limits { pairs_max, bytes }
    }

    /// Pairs that were taken, or passed over.
    fn taken(&self) -> u32 {
        u32::try_from(self.before + self.at).unwrap_or(u32::MAX)
    }

    /// What came tells how long pairs are.
    fn learn(&mut self) {
        let batch = &self.cursor.batch;
        if let Some(bytes) = batch.payload_bytes().checked_div(batch.pairs().len()) {
            self.pair_bytes = bytes as u32 + 1;
        }
    }
}

impl<T: Driver, D: KeyDigest> KvStoreClient<T, D> {
    /// Begins a scan whose pairs are taken one by one ([`has_next`](Self::has_next)).
    ///
    /// # Errors
    /// As [`open_scan`](Self::open_scan).
    pub fn open_pairs(&mut self, options: &ScanOptions<'_>) -> Result<ScanPairs, HostError> {
        let cursor = self.open_scan(options)?;
        let pairs = if cursor.pairs_max == 0 { self.usual.pairs() } else { cursor.pairs_max };
        Ok(ScanPairs { cursor, at: 0, before: 0, pairs, pair_bytes: PAIR_BYTES })
    }

    /// Whether there is another pair, which [`ScanPairs::take_pair`] lends then.
    ///
    /// # Errors
    /// As [`scan`](Self::scan); [`IteratorLost`](KvError::IteratorLost) if the device has given up the moment of the scan.
    #[inline]
    pub fn has_next(&mut self, scan: &mut ScanPairs) -> Result<bool, HostError> {
        loop {
            let range = scan.cursor.course().range;
            let Some((key, _)) = scan.cursor.batch.pair(scan.at) else {
                if self.next_batch(scan)? {
                    continue;
                }
                return Ok(false);
            };
            if scan.cursor.is_chosen || self.is_shown(key, &range) {
                return Ok(true);
            }
            scan.at += 1;
        }
    }

    #[cold]
    fn next_batch(&mut self, scan: &mut ScanPairs) -> Result<bool, HostError> {
        let limits = scan.limits();
        (scan.before, scan.at) = (scan.before + scan.at, 0);
        let is_there = self.bring(&mut scan.cursor, limits)?;
        scan.learn();
        if scan.order() == ScanOrder::Resumed {
            return Err(KvError::IteratorLost.into());
        }
        Ok(is_there)
    }

    /// Brings the next pairs into the cursor's batch. False: nothing is left.
    fn bring(&mut self, cursor: &mut ScanCursor, limits: Limits) -> Result<bool, HostError> {
        let mut stage = std::mem::replace(&mut cursor.stage, Stage::Ended);
        let brought = self.bring_of(cursor, &mut stage, limits);
        cursor.stage = stage;
        brought
    }

    fn bring_of(
        &mut self,
        cursor: &mut ScanCursor,
        stage: &mut Stage,
        limits: Limits,
    ) -> Result<bool, HostError> {
        let mut gathered = std::mem::take(&mut cursor.batch);
        gathered.empty();
        cursor.is_chosen = !matches!(stage, Stage::Short(_));
        let mut gather = |key: &[u8], value: &[u8]| {
            gathered.push(key, value);
            true
        };
        let is_last = match stage {
            Stage::Ended => return Ok(false),
            Stage::Short(walk) => {
                cursor.batch = gathered;
                let is_last = self.walk_short(walk, cursor, limits)?;
                if is_last {
                    self.go_behind(cursor, stage)?;
                }
                return Ok(true);
            }
            Stage::Long(walk) => self.scan_long(walk, cursor, limits, &mut gather)?,
            Stage::Listed(listed) => self.scan_listed(listed, cursor.course(), &mut gather)?,
        };
        cursor.batch = gathered;
        if is_last == Shown::Last {
            self.go_behind(cursor, stage)?;
        }
        Ok(true)
    }

    /// Ends a scan: until then the device keeps what it sees.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn close_pairs(&mut self, scan: ScanPairs) -> Result<(), HostError> {
        self.usual.took(scan.taken());
        self.close_scan(scan.cursor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_asks_for_what_the_last_two_have_taken() {
        let mut usual = Usual::default();
        let mut asks = |taken| {
            usual.took(taken);
            usual.pairs()
        };
        assert_eq!([100, 100, 1, 100, 90, 5000, 7000].map(&mut asks), [16, 100, 16, 16, 90, 90, 5000]);
    }
}
