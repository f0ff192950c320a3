// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Room that is there without a question: what the capacity is takes a dozen divisions, which is a tenth of a short put.
//!
//! While a store is far from full the capacity is computed for more than is in it, and what was found holds until that much is there. The more is
//! in a store the less it has room for, so what would fit beside all of that fits beside less. Of what else the capacity goes by nothing may have
//! changed: the structure's pages, the quota and the settings. What is known to live may have: it makes the content less and the capacity more.

use super::Store;
use super::inside::Inside;
use super::structure::Structure;
use saker_segment_store::SegmentStore;

/// The part of the capacity that is looked ahead.
const AHEAD_PART: u64 = 256;
/// The part of the capacity that stays free of what is looked ahead. The average length of values is in the capacity, too, and no
/// value makes it less by so much.
const FREE_PART: u64 = 16;
/// Bytes of the shortest record of a pair: so many entries come with so many bytes at most.
const RECORD_BYTES_MIN: u64 = 32;

/// With how much in it a store has room for a record. Nothing: nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ample {
    /// Entries, and bytes of records, the new one included.
    entries: u64,
    bytes: u64,
    /// Bytes of the longest record.
    longest: u32,
    /// Segments of the store.
    quota: u32,
    /// Bytes of the structure's pages.
    structure: u64,
}

impl<S: Structure> Store<S> {
    /// Whether so many entries more, with so many bytes of records of which none is longer, fit without a look at what they replace.
    /// `false`: they may.
    pub(super) fn has_ample<M: SegmentStore>(
        &self,
        entries: u64,
        (bytes, longest): (u64, u32),
        m: &M,
    ) -> bool {
        let ample = &self.ample;
        ample.bytes > 0
            && self.content_bytes() + bytes <= ample.bytes
            && self.entries_at_most() + entries <= ample.entries
            && self.longest.bytes().max(longest) <= ample.longest
            && self.ample_with(m) == *ample
    }

    /// What must not change, with what was found.
    fn ample_with<M: SegmentStore>(&self, m: &M) -> Ample {
        Ample {
            quota: m.quota_segments(),
            structure: self.own.structure_bytes(self.page_bytes()),
            ..self.ample
        }
    }

    /// A record fits with which there are `all` bytes of records: looks ahead if that is far from the capacity. Only where the settings say which
    /// values are beside their keys, and not while it is known what lives: that changes with each write.
    pub(super) fn find_ample<M: SegmentStore>(&mut self, (all, capacity): (u64, u64), m: &M) {
        let is_simple = self.settings.has_inside() && !self.settings.is_auto();
        if !is_simple || all > capacity / 4 * 3 || self.reveal.living().is_some() {
            return;
        }
        let ahead = capacity / AHEAD_PART;
        let entries = ahead / RECORD_BYTES_MIN;
        // Each of them may be beside its key or in the value log: they count for both.
        let content = self.content_with(entries, Inside::of(entries, 2 * ahead), 0);
        let capacity = S::capacity_for(self, &content, m);
        if all + 3 * ahead + capacity / FREE_PART > capacity {
            return;
        }
        let found = Ample {
            entries: self.entries_at_most() + entries,
            bytes: all + ahead,
            longest: content.longest,
            ..Ample::default()
        };
        self.ample = found;
        self.ample = self.ample_with(m);
    }
}
