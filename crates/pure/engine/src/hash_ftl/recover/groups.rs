// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records of groups: they count if all pages of their group are there.
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "it reads bytes of images"
    )
)]

use super::Recovery;
use crate::hash_ftl::group::head::Extent;
use crate::hash_ftl::record::Kind;
use crate::hash_ftl::walk::Walked;
use saker_log::recover::{Carried, carried};
use saker_log::{Bytes, LogAddr};
use saker_segment_store::{Reads, SegmentStore, Step, ready};

/// The last group that was found.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Group {
    /// Its grains.
    from: u64,
    to: u64,
    /// Versions of its records.
    first: u64,
    last: u64,
    /// The sequence number of its last page; 0 if it has one page.
    last_sequence: u64,
    is_whole: bool,
}

impl Group {
    /// The numbers that a cut may have taken with its pages: none if it is whole.
    pub(super) fn lost_sequences(&self) -> Option<u64> {
        (!self.is_whole && self.last_sequence > 0).then_some(self.last_sequence)
    }

    /// Whether it makes a record count. Heads come before their records, in one segment.
    pub(super) fn covers(&self, r: &Walked) -> bool {
        self.is_whole
            && (self.from..self.to).contains(&r.grain)
            && (self.first..=self.last).contains(&r.head.version)
    }
}

impl Recovery {
    /// The groups that begin among the records of a page, in their order.
    pub(super) fn groups_among<M: SegmentStore>(&self, records: &[Walked], m: &M) -> Step<Vec<Group>> {
        let (mut groups, mut absent) = (Vec::new(), Reads::new());
        for r in records.iter().filter(|r| r.head.kind == Kind::Group) {
            match self.group(r, m) {
                Step::Done(group) => groups.push(group),
                Step::Need(reads) => absent.extend(reads),
                Step::Blocked(stall) => return Step::Blocked(stall),
            }
        }
        if absent.is_empty() { Step::Done(groups) } else { Step::Need(absent) }
    }

    fn group<M: SegmentStore>(&self, r: &Walked, m: &M) -> Step<Group> {
        let nothing = Group { from: r.grain, to: r.grain + 1, ..Group::default() };
        let Step::Done(Ok(key)) = self.store.key_at(r.grain, m) else { return Step::Done(nothing) };
        let Some(extent) = Extent::decode(&key) else { return Step::Done(nothing) };
        let is_whole = ready!(self.is_whole(r, extent, m));
        let geometry = self.store.log.geometry();
        let end = r.grain.saturating_add(u64::from(extent.grains)).saturating_mul(grain_bytes(self));
        let first_page = r.grain.saturating_mul(grain_bytes(self)) / u64::from(geometry.page_bytes);
        let later = (end.saturating_sub(1) / u64::from(geometry.page_bytes)).saturating_sub(first_page);
        let last_sequence = later.checked_sub(1).map_or(0, |n| extent.second_sequence.saturating_add(n));
        Step::Done(Group {
            from: r.grain,
            to: r.grain + u64::from(extent.grains),
            first: r.head.version + 1,
            last: r.head.version + u64::from(extent.records),
            last_sequence,
            is_whole,
        })
    }

    /// Whether each page of a group is the one that it was written to, as far as the group goes. One that cannot be read is
    /// there: what is on it is damaged, and named elsewhere.
    fn is_whole<M: SegmentStore>(&self, r: &Walked, extent: Extent, m: &M) -> Step<bool> {
        let (log, geometry) = (&self.store.log, self.store.log.geometry());
        let grain_bytes = grain_bytes(self);
        let Some(total) = extent.grains.checked_mul(self.store.config.grain_bytes) else {
            return Step::Done(false);
        };
        let from = r.grain * grain_bytes;
        let end = from + u64::from(total);
        if (end - 1) / geometry.segment_bytes() != from / geometry.segment_bytes() {
            return Step::Done(false);
        }
        let range = Bytes::new(LogAddr(from), total);
        let mut absent = false;
        for (n, page) in (0..).zip(range.pages(log)) {
            let page_end =
                (end - page.0 * u64::from(geometry.page_bytes)).min(u64::from(geometry.page_bytes));
            match carried(log, m, page) {
                Carried::Absent => absent = true,
                Carried::Lost => return Step::Done(false),
                Carried::Unreadable => {}
                Carried::Here { sequence, used_bytes, .. } => {
                    let is_next = n == 0 || sequence == extent.second_sequence.wrapping_add(n - 1);
                    if !is_next || u64::from(used_bytes) < page_end {
                        return Step::Done(false);
                    }
                }
            }
        }
        if absent { Step::Need(range.pages(log).collect()) } else { Step::Done(true) }
    }
}

fn grain_bytes(recovery: &Recovery) -> u64 {
    u64::from(recovery.store.config.grain_bytes)
}
