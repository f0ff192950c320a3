// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a write fits without a look at what it replaces, and for how long that is known.
//!
//! To compute the capacity takes a dozen divisions, a tenth of a short put. So it is computed for more than is in a store, and what was found
//! holds until that much is there: the more there is, the more room tables and merges need. The capacity goes by other things, too. Pages of tables
//! and the quota are compared with what they were, and new settings forget what was found. What is known to live changes with each write, so
//! nothing is looked ahead while it is known.

use super::Store;
use super::inside::Inside;
use super::structure::{Content, Structure};
use saker_segment_store::SegmentStore;
use saker_value_log::record::record_bytes;

/// The part of the capacity that is looked ahead.
const AHEAD_PART: u64 = 256;

/// With how much in it a store has room. Nothing: nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ample {
    /// Entries.
    entries: u64,
    /// Bytes of records.
    bytes: u64,
    /// Of these, bytes with values beside their keys, at least and at most. They count with the tables, which keep their pages when such values go
    /// and as many bytes come to the value log.
    inside: (u64, u64),
    /// Bytes of the longest record.
    longest: u32,
    /// Segments of the store.
    quota: u32,
    /// Bytes of the structure's pages.
    structure: u64,
}

/// What a write comes with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    /// Entries.
    pub entries: u64,
    /// Those of them whose values are to be beside them.
    pub inside: Inside,
    /// Bytes of all records.
    pub bytes: u64,
    /// Bytes of the longest one.
    pub longest: u32,
}

/// There is no room, or what a write replaces must be looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowded {
    /// What is in the store with the write.
    pub content: Content,
    /// Bytes of records with the write.
    pub all: u64,
    /// Bytes that may be there.
    pub capacity: u64,
}

impl<S: Structure> Store<S> {
    /// Whether a write fits without a look at what it replaces.
    ///
    /// # Errors
    /// How much there would be, and how much may be.
    pub(super) fn fits_unseen<M: SegmentStore>(&mut self, coming: &Coming, m: &M) -> Result<(), Crowded> {
        let is_known = self.has_ample(coming, m);
        if is_known && !cfg!(debug_assertions) {
            return Ok(());
        }
        let content = self.content_with(coming.entries, coming.inside, coming.longest);
        let (all, capacity) = (self.content_bytes() + coming.bytes, S::capacity_for(self, &content, m));
        let fits = all <= capacity && !self.tells(all, capacity);
        debug_assert!(fits || !is_known, "what fits beside more fits beside less: {all} of {capacity} bytes");
        if !fits {
            return Err(Crowded { content, all, capacity });
        }
        if !is_known {
            self.look_ahead(coming, capacity, m);
        }
        Ok(())
    }

    fn has_ample<M: SegmentStore>(&self, coming: &Coming, m: &M) -> bool {
        let ample = &self.ample;
        self.content_bytes() + coming.bytes <= ample.bytes
            && self.entries_at_most() + coming.entries <= ample.entries
            && self.inside().bytes >= ample.inside.0
            && self.inside().bytes + coming.inside.bytes <= ample.inside.1
            && self.longest.bytes().max(coming.longest) <= ample.longest
            && self.ample_with(m) == *ample
            && self.reveal.living().is_none()
    }

    /// What was found, with that which must not have changed as it is now.
    fn ample_with<M: SegmentStore>(&self, m: &M) -> Ample {
        let structure = self.own.structure_bytes(self.page_bytes());
        Ample { quota: m.quota_segments(), structure, ..self.ample }
    }

    /// Looks ahead of a write that fits, in stores with values beside their keys. Where a store decides by itself which values are, what is
    /// there is counted otherwise.
    fn look_ahead<M: SegmentStore>(&mut self, coming: &Coming, capacity: u64, m: &M) {
        let is_simple = self.settings.has_inside() && !self.settings.is_auto();
        let more = coming.bytes + capacity / AHEAD_PART;
        // All of it may be beside keys, and all of it in the value log: it counts for both.
        let most = self.content_bytes() + 2 * more;
        if !is_simple || most > capacity || self.reveal.living().is_some() {
            return;
        }
        let longest = self.longest.bytes().max(coming.longest);
        // Long ones make the mean value as long as it can become; short ones are the most entries.
        let (long, short) = (more / u64::from(longest), more / u64::from(record_bytes(1, 0)));
        let content = self.content_with(coming.entries + short + long, Inside::of(long, more), longest);
        if most > S::capacity_for(self, &content, m) {
            return;
        }
        self.ample.bytes = self.content_bytes() + more;
        (self.ample.entries, self.ample.inside) =
            (content.entries, (self.inside().bytes, content.inside.bytes));
        self.ample.longest = content.longest;
        self.ample = self.ample_with(m);
    }
}
