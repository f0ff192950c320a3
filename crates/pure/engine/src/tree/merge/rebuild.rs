// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Making nodes: what was in one, with what changes in it, alone or joined with its neighbours.

use super::{Change, Job, Open, Out};
use crate::ordered::key::Entry;
use crate::ordered::refs::referred;
use crate::tree::TreeStore;
use crate::tree::descend::{Located, Stop};
use crate::tree::node::{self, Child};
use saker_segment_store::PageAddr;
use saker_sim::{Meter, Unit};

/// A node that would be filled to less than this part is joined with the one behind it.
const FILL_PART_MIN: usize = 3;

impl TreeStore {
    /// Makes a node of a level anew.
    pub(super) fn rebuild<W: Meter>(
        &self,
        job: &mut Job,
        place: &Located,
        mut items: Vec<Entry>,
        w: &mut W,
    ) -> Result<(), Stop> {
        w.work(Unit::Move, items.len() as u64);
        if job.level == 0 {
            self.apply_updates(job, &mut items, place, w);
        } else {
            job.apply_changes(&mut items, place.hi)?;
        }
        job.skip_touches(place.hi);
        job.forced = None;
        job.dead.push(place.child);
        if job.open.as_ref().is_some_and(|open| open.next.is_none() || open.next != place.lo) {
            self.close(job);
        }
        let open =
            job.open.get_or_insert_with(|| Open { lo: place.lo, olds: 0, items: Vec::new(), next: None });
        (open.olds, open.next) = (open.olds + 1, place.next);
        open.items.append(&mut items);
        let is_small = node::bytes(&open.items) < node::room(self.log.geometry().page_bytes) / FILL_PART_MIN;
        if is_small && place.next.is_some() {
            job.forced = place.next;
        } else {
            self.close(job);
        }
        Ok(())
    }

    fn apply_updates<W: Meter>(&self, job: &mut Job, items: &mut Vec<Entry>, place: &Located, w: &mut W) {
        let old = std::mem::take(items);
        let mut old = old.into_iter().peekable();
        while let Some(e) = job.take_update(place.hi) {
            w.work(Unit::Compare, 2);
            while let Some(before) = old.next_if(|o| o.key < e.key) {
                items.push(before);
            }
            let known = old.next_if(|o| o.key == e.key);
            items.extend(self.replace(job, known, e));
        }
        items.extend(old);
    }

    /// An update meets what the leaf has of its key.
    fn replace(&self, job: &mut Job, known: Option<Entry>, e: Entry) -> Option<Entry> {
        if known.is_some_and(|known| known == e || known.version > e.version) {
            return known;
        }
        if let Some(known) = known {
            job.entries_lost += 1;
            job.lost.push(known);
        }
        if e.is_tombstone() {
            return None;
        }
        job.entries_gained += 1;
        if let Some((segment, bytes)) = referred(&self.log, &self.births, &e) {
            job.gained.add(segment, e.stamp, bytes, &self.births);
        }
        Some(e)
    }

    /// The first leaves of an empty tree. `false`: there are no updates left.
    pub(super) fn first_leaves(&self, job: &mut Job) -> bool {
        let mut items = Vec::new();
        while let Some(e) = job.take_update(None) {
            items.extend(self.replace(job, None, e));
        }
        if items.is_empty() {
            return false;
        }
        job.open = Some(Open { lo: None, olds: 0, items, next: None });
        self.close(job);
        true
    }

    /// Makes pages of the open entries.
    pub(super) fn close(&self, job: &mut Job) {
        let Some(open) = job.open.take() else { return };
        let mut change = Change { lo: open.lo, olds: open.olds, new: Vec::new() };
        if job.is_at_root() && job.level > 0 && open.items.len() == 1 {
            // A root over one node: that is the root.
            (job.is_sunk, change.new) = (true, open.items);
            return job.made.push(change);
        }
        let page_bytes = self.log.geometry().page_bytes;
        for part in node::split(&open.items, page_bytes) {
            let unknown = Child { page: PageAddr(0), birth: job.seq };
            let link = (job.made.len(), change.new.len());
            change.new.push(unknown.link(part[0].key));
            job.out.push_back(Out { link, bytes: node::encode(job.seq, job.level, part, page_bytes) });
        }
        job.made.push(change);
    }
}
