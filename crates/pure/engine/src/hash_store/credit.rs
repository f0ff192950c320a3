// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Capacity known to be free, so that a store need not work it out every time.

use super::reserve::MARGIN_SEGMENTS;
use super::{HashStore, checkpoint};
use saker_segment_store::SegmentStore;

/// Bytes that may be stored before the capacity has to be looked at again. Part of what was free at the last look: what
/// a record adds to checkpoints is in its price, a lost segment ends the credit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credit {
    bytes: u64,
    /// The longest record that it pays for: the look took it for one that lives.
    longest: u32,
}

impl Credit {
    /// Pays for a pair's record; false if the capacity has to be looked at.
    #[inline]
    pub fn pay_record(&mut self, bytes: u32) -> bool {
        bytes <= self.longest && self.pay(bytes)
    }

    /// Pays for a tombstone; false if the capacity has to be looked at.
    #[inline]
    pub fn pay(&mut self, bytes: u32) -> bool {
        let price = u64::from(bytes) + 4 * checkpoint::ENTRY_BYTES_MAX;
        let paid = self.bytes >= price;
        if paid {
            self.bytes -= price;
        }
        paid
    }

    /// Whether it pays for a group of `bytes` bytes of payload, whatever is in it: no pair takes less than 12 of them, and
    /// none counts for more than three times as many.
    #[inline]
    pub fn covers_group(&self, bytes: u32) -> bool {
        bytes <= self.longest && self.bytes >= u64::from(bytes) * (3 + 4 * checkpoint::ENTRY_BYTES_MAX / 12)
    }

    /// Pays for `pairs` of a group that count for `bytes` bytes.
    #[inline]
    pub fn pay_group(&mut self, pairs: u64, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes + pairs * 4 * checkpoint::ENTRY_BYTES_MAX);
    }

    /// Nothing is known any more.
    pub fn end(&mut self) {
        self.bytes = 0;
    }
}

impl HashStore {
    /// Takes credit for what is free now if records of up to `longest` bytes come.
    pub(super) fn take_credit<M: SegmentStore>(&mut self, longest: u32, m: &M) {
        let capacity = self.capacity_for(self.pairs_at_most(), longest, m);
        let free = capacity.saturating_sub(self.log.live_bytes() + self.pending.bytes());
        let margin = MARGIN_SEGMENTS * self.log.geometry().segment_bytes();
        self.credit = Credit { bytes: free.saturating_sub(margin) / 2, longest };
    }
}
