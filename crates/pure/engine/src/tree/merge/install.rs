// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The new root takes the old one's place.

use super::{All, Job};
use crate::ordered::refs::count;
use crate::tree::node::Child;
use crate::tree::{Tree, TreeStore};

impl Job {
    /// The tree that it made.
    fn tree(&self) -> Tree {
        if self.made.is_empty() {
            // Nothing changed. Had this a moment of its own, it could be the next root's too: nothing was written since.
            return self.base;
        }
        let entries = self.base.entries + self.entries_gained - self.entries_lost;
        let pages = self.base.pages + self.written.len() as u64 - self.dead.len() as u64;
        let kept = Tree { seq: self.seq, entries, pages, ..self.base };
        let root = self.made.iter().flat_map(|change| &change.new).next().map(Child::of);
        let height = match root {
            None => 0,
            Some(_) if self.is_sunk => self.level,
            Some(_) => self.level + 1,
        };
        Tree { root, height, ..kept }
    }
}

impl TreeStore {
    /// Puts the new root in place, and goes on with the next one if a snapshot saw only a part of the buffer.
    pub(super) fn install(&mut self, mut job: Job) {
        debug_assert!(
            job.out.is_empty() && job.flying.is_empty() && job.failed.is_empty() && job.open.is_none()
        );
        let tree = job.tree();
        let is_last = job.upto == u64::MAX;
        self.own.tree = tree;
        for page in &job.written {
            let segment = self.page_segment(*page);
            self.own.nodes[segment.0 as usize] += 1;
        }
        self.bury(std::mem::take(&mut job.dead), job.seq);
        self.show_to_snapshots(&job);
        count(&mut self.log, &self.births, &job.gained, true);
        for (segment, r) in job.gained.iter() {
            if self.births.is_alive(&self.log, segment, r.stamp) {
                self.own.refs.add(segment, r.stamp, r.bytes, &self.births);
            }
        }
        for old in &job.lost {
            self.forget_record(old);
            self.lose(old, job.seq);
        }
        self.own.stats.roots += 1;
        if job.updates.is_none() {
            let touched = job.touched.iter().map(|keys| keys.len() as u64).sum();
            self.own.stats.nodes_moved += if job.all == All::No { touched } else { job.base.pages };
        } else if is_last {
            self.end_merge();
        } else {
            let range = self.next_round(job.upto);
            let next = Job::new(tree, self.log.next_sequence(), job.updates, range);
            self.own.job = Some(next.resting());
        }
        self.sweep();
        job.duty.done();
    }

    fn end_merge(&mut self) {
        let imm = self.own.imm.take().expect("a merge has a buffer");
        count(&mut self.log, &self.births, &imm.updates.refs, false);
        self.own.stats.merges += 1;
        self.used = Some(imm.updates);
    }

    /// Snapshots that see all of what was merged have the new root.
    fn show_to_snapshots(&mut self, job: &Job) {
        let last = self.own.imm.as_ref().map_or(u64::MAX, |imm| imm.last);
        let whole = job.upto == u64::MAX && job.updates.is_some();
        for held in &mut self.own.pins.snapshots {
            let is_under_it = job.updates.is_none() && held.tree.seq == job.base.seq;
            if held.version == job.upto || whole && held.version >= last || is_under_it {
                held.tree = self.own.tree;
            }
        }
    }
}
