// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What fits.

use super::HashFtl;
use super::config::Layout;
use super::lookup::Found;
use super::record::Head;
use super::reserve::SPARE_SEGMENTS;
use saker_engine_api::KvError;
use saker_log::Segment;
use saker_segment_store::{SegmentStore, Stall, Step};

/// Bytes of the table that a pair of a live-only section takes at most on flash: its entry, and a section's head that is
/// there for it alone, or as much again where sections of a little more than half a page leave the rest unused.
const LIVE_PAIR_BYTES: u64 = 17;

impl HashFtl {
    pub(super) fn capacity_for<M: SegmentStore>(
        &self,
        pairs: u64,
        data_bytes: u64,
        longest: u32,
        m: &M,
    ) -> u64 {
        let usable = u64::from(m.quota_segments().saturating_sub(SPARE_SEGMENTS));
        let segment = self.log.geometry().segment_bytes() - self.lost_in_segment(longest);
        let bytes = usable * segment;
        let spare = bytes * self.config.over_provisioning_percent / 100;
        let taken = spare + self.mapping_bytes(spare, pairs, data_bytes) + self.table_bytes_max(pairs);
        bytes.saturating_sub(taken)
    }

    /// Bytes of invalid mappings on flash while `dead` bytes of records are invalid, as large as those that are needed.
    fn mapping_bytes(&self, dead: u64, pairs: u64, data_bytes: u64) -> u64 {
        let (Some(invalid), true) = (self.validity.invalid(), pairs > 0) else { return 0 };
        let record_bytes = (data_bytes / pairs).max(u64::from(self.config.grain_bytes));
        let mappings = invalid.page_mappings() as u64;
        (dead / record_bytes).div_ceil(mappings) * u64::from(self.log.geometry().page_bytes)
    }

    /// Bytes of the table on flash at most.
    fn table_bytes_max(&self, pairs: u64) -> u64 {
        let page = u64::from(self.log.geometry().page_bytes);
        let full = self.sections_max() * page;
        match self.config.layout {
            Layout::Fixed => full,
            Layout::LiveOnly { .. } => (pairs * LIVE_PAIR_BYTES + 2 * page).min(full),
        }
    }

    /// Bytes of a segment that a collection can leave unused.
    pub(super) fn lost_in_segment(&self, longest: u32) -> u64 {
        let geometry = self.log.geometry();
        let sealed = if self.config.ring_lasts { 0 } else { 2 * u64::from(geometry.page_bytes) };
        (u64::from(longest.saturating_sub(self.config.grain_bytes)) + sealed)
            .min(geometry.segment_bytes() / 2)
    }

    /// The same of a certain one: no record in it is longer than the longest that was written there.
    pub(super) fn lost_by(&self, segment: &Segment) -> u64 {
        let longest = segment.longest.max(self.lengths.floor());
        self.lost_in_segment(longest.min(self.lengths.longest()))
    }

    /// Whether a pair may be stored. One may always be replaced by one that is not longer. What only tombstones keep out
    /// waits until their sections are written.
    pub(super) fn admit<M: SegmentStore>(
        &mut self,
        found: &Found,
        head: &Head,
        m: &M,
    ) -> Step<Result<(), KvError>> {
        let new = self.grain_bytes_of(self.grains_of(head));
        let old = found.pair.map_or(0, |p| self.grain_bytes_of(self.grains_of(&p.head)));
        if new <= old {
            return Step::Done(Ok(()));
        }
        let pairs = self.stats.pairs + u64::from(found.pair.is_none());
        let needed = self.data_bytes - old + new;
        let capacity = self.capacity_for(pairs, needed, self.lengths.longest().max(new as u32), m);
        if needed <= capacity {
            return Step::Done(Ok(()));
        }
        if needed - self.tombstone_bytes <= capacity {
            self.wants_room = true;
            return Step::Blocked(Stall::NoSegment);
        }
        Step::Done(Err(KvError::CapacityExceeded))
    }
}
