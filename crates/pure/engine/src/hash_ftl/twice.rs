// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keys of which recovery found two pairs.
//!
//! A pair that is stored again can get another hash index than it had before it was deleted. Where the page buffer can be lost, a cut may take what
//! deleted it and leave both records, and each is the newest of its hash index. Recovery keeps the newer one
//! ([`recover`](super::recover)). The older one stays on flash, and would count again once the newer one were deleted and its tombstone
//! forgotten. So pairs are deleted only when the sections of the older ones are on flash without them. Other writes need not wait: they leave a
//! newer record of the key.

use super::HashFtl;
use saker_engine_api::Background;
use saker_segment_store::{SegmentStore, Step, Tag};
use saker_sim::Meter;
use std::collections::BTreeSet;

/// Sections with an older pair of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Twice {
    /// Flash still has them with it; all are in memory.
    sections: BTreeSet<u32>,
    /// The last write of one, if it may be on its way.
    written: Option<Tag>,
}

impl Twice {
    /// One was found.
    pub fn found(&mut self, section: u32) {
        self.sections.insert(section);
    }

    /// Whether pairs that are deleted now could come back.
    pub fn holds_up_deletes(&self) -> bool {
        !self.sections.is_empty() || self.written.is_some()
    }

    /// Those that are to be written.
    pub fn unwritten(&self) -> impl Iterator<Item = u32> {
        self.sections.iter().copied()
    }

    /// A section is on its way to flash, or both its halves are.
    pub fn section_written(&mut self, section: u32, tag: Tag) {
        if self.sections.remove(&section) {
            self.written = Some(tag);
        }
    }

    /// What was written may be safe.
    pub fn finished(&mut self, is_safe: impl FnOnce(Tag) -> bool) {
        self.written = self.written.filter(|tag| !is_safe(*tag));
    }
}

impl HashFtl {
    /// Writes such a section.
    pub(super) fn write_twice<M: SegmentStore, W: Meter>(
        &mut self,
        m: &mut M,
        w: &mut W,
    ) -> Step<Background> {
        let Some(id) = self.twice.unwritten().next() else { return Step::Done(Background::Idle) };
        let at =
            self.table.places[id as usize].cached.checked_sub(1).expect("it is kept until it is written");
        self.evict_from(at, m, w)
    }
}
