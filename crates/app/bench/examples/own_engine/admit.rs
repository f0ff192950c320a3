// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What may be stored: what lives must leave collections something to gain, and deletes make room.

use crate::reserve::SPARE_SEGMENTS;
use crate::store::PlainLog;
use saker_engine::KvError;
use saker_log::{Segment, SegmentState};
use saker_segment_store::{SegmentId, SegmentStore, Stall, Step};

impl PlainLog {
    /// Bytes of a segment that a collection can leave unused: its end, where the next record did not fit, and where the ring can
    /// be lost the rest of the pages that are sealed before a segment is released.
    pub fn lost_in_segment(&self, longest: u32) -> u64 {
        let geometry = self.log.geometry();
        let sealed = if self.config.ring_lasts { 0 } else { 2 * u64::from(geometry.page_bytes) };
        (u64::from(longest) + sealed).min(geometry.segment_bytes() / 2)
    }

    /// The same of a certain one.
    pub fn lost_by(&self, segment: &Segment) -> u64 {
        let longest = segment.longest.max(self.lengths.floor());
        self.lost_in_segment(longest.min(self.lengths.longest()))
    }

    /// Bytes that may live if no record is longer.
    pub fn capacity_for<M: SegmentStore>(&self, longest: u32, m: &M) -> u64 {
        let usable = u64::from(m.quota_segments().saturating_sub(SPARE_SEGMENTS));
        let segment = self.log.geometry().segment_bytes() - self.lost_in_segment(longest);
        usable * segment * (100 - self.config.spare_percent) / 100
    }

    /// Whether a pair may be stored. A pair may always be replaced by one that is not longer.
    pub fn admit<M: SegmentStore>(&mut self, key: &[u8], bytes: u32, m: &M) -> Step<Result<(), KvError>> {
        let old = self.index.get(key).map_or(0, |entry| entry.addr.record_bytes());
        let is_pair = self.index.get(key).is_some_and(|entry| !entry.is_tombstone);
        let capacity = self.capacity_for(self.lengths.longest().max(bytes), m);
        let needed = self.log.live_bytes() - u64::from(old) + u64::from(bytes);
        if needed <= capacity || is_pair && bytes <= old {
            return Step::Done(Ok(()));
        }
        let is_full = needed - self.tombstone_bytes.min(needed) > capacity || !self.can_purge();
        if is_full {
            return Step::Done(Err(KvError::CapacityExceeded));
        }
        self.purges = true;
        Step::Blocked(Stall::NoSegment)
    }

    /// Whether tombstones can go: segments with what they are needed for can be collected, or are being erased.
    fn can_purge(&self) -> bool {
        self.log.releasing() > 0 || self.purgeable().next().is_some()
    }

    /// Closed segments with older records of deleted keys.
    pub fn purgeable(&self) -> impl Iterator<Item = SegmentId> + '_ {
        let of_deleted = |key: &Vec<u8>| self.index.get(key).is_some_and(|entry| entry.is_tombstone);
        let is_closed = |id: SegmentId| self.log.segment(id).state == SegmentState::Closed;
        let found =
            self.stale.iter().filter(move |(id, keys)| is_closed(**id) && keys.iter().any(of_deleted));
        found.map(|(id, _)| *id)
    }
}
