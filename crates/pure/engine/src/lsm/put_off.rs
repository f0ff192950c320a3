// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Merges that are put off while writes come, for drivers that have no core for them. A merge of level 0 writes level 1 anew: with three times
//! as many files at once it does so a third as often.

use super::job::Job;
use super::{LsmStore, policy};
use saker_segment_store::SegmentStore;

impl LsmStore {
    /// Whether compactions that are due may wait: none has begun, level 0 is less than half way to where writes are slowed down, little is
    /// owed, and there is room to merge all of level 0 at once.
    pub(super) fn puts_off_merges<M: SegmentStore>(&mut self, m: &M) -> bool {
        // Entries without values are so short that merges of them cost little.
        self.own.puts_off = self.settings.has_inside();
        self.own.puts_off
            && self.own.compactions.is_empty()
            && self.own.sizes.level0 < self.level0_at_most()
            && self.own.sizes.pending_bytes < self.config.soft_pending_compaction_bytes_limit / 2
            && self.has_room_for_level0(m)
    }

    /// Files of level 0 with which merges are not put off any more.
    fn level0_at_most(&self) -> u64 {
        let config = &self.config;
        let trigger = config.level0_file_num_compaction_trigger;
        let slow = config.level0_slowdown_writes_trigger.min(config.level0_stop_writes_trigger);
        u64::from(trigger + slow.saturating_sub(trigger) / 2)
    }

    /// Whether level 0 can be merged at once, with what comes before it is, and with level 1.
    fn has_room_for_level0<M: SegmentStore>(&self, m: &M) -> bool {
        let comes = self.settings.full_memtable_bytes / self.page_bytes();
        self.own.sizes.upper_pages + comes <= self.usual_pages().saturating_add(self.room_beyond(m))
    }

    /// Pages of a compaction for which room is kept.
    fn usual_pages(&self) -> u64 {
        let bytes = policy::merged_bytes_max(&self.config, (self.page_bytes(), self.longest.bytes()));
        bytes.map_or(u64::MAX, |bytes| bytes / self.page_bytes())
    }

    /// Pages that a merge of level 0 may have beyond those. It takes half of the segments that stores leave, so that they go on beside it.
    pub(super) fn room_beyond<M: SegmentStore>(&self, m: &M) -> u64 {
        if !self.own.puts_off {
            return 0;
        }
        let free = m.free_segments().saturating_sub(self.for_pairs(m));
        u64::from(free / 2) * u64::from(self.log.geometry().segment_pages)
    }

    /// Whether a compaction on its way has more to write than room is always kept for; for tests.
    pub fn merges_beyond_usual(&self) -> bool {
        self.beyond_usual_bytes() > 0
    }

    /// Bytes that compactions on their way will still write beyond what room is always kept for: stores leave that, too.
    pub(super) fn beyond_usual_bytes(&self) -> u64 {
        if !self.own.puts_off || self.own.compactions.is_empty() {
            return 0;
        }
        let left = |job: &Job| job.pages_left().saturating_sub(self.usual_pages());
        self.own.compactions.iter().map(left).sum::<u64>() * self.page_bytes()
    }
}
