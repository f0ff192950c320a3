// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is replaced and still needed. A root needs the nodes that were born no later and died later; snapshots have roots, the
//! last complete manifest has one, and one that is being written. Records that a merge replaced are needed by the snapshots
//! between their version and that merge.

use super::descend::View;
use super::node::Child;
use super::{Tree, TreeStore};
use crate::ordered::check::Counts;
use crate::ordered::key::Entry;
use crate::ordered::refs::{Refs, count, referred};
use saker_engine_api::Snapshot;
use saker_log::{LiveBytes, ensure};
use std::collections::BTreeMap;

/// A snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// It sees writes up to this version.
    pub(super) version: u64,
    holders: u32,
    /// The root under it: what this does not have and the snapshot sees is in a buffer.
    pub(super) tree: Tree,
}

impl Held {
    /// What it sees.
    pub(super) fn view(&self) -> View {
        View { version: self.version, tree: self.tree }
    }
}

/// A node that was replaced.
#[derive(Clone, Copy, Debug)]
struct Dead {
    child: Child,
    /// The first root without it.
    death: u64,
}

#[derive(Clone, Copy, Debug)]
struct Moved {
    to: Entry,
    /// The first and the last version of the snapshots that see it.
    seen: (u64, u64),
}

/// What is needed although the tree does not have it.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// By version.
    pub(super) snapshots: Vec<Held>,
    dead: Vec<Dead>,
    /// Records by the first and the last version of the snapshots that see them.
    records: BTreeMap<(u64, u64), Refs>,
    /// Where collections put records that snapshots see: under their roots they are where they were, by place and stamp.
    moved: BTreeMap<(u64, u64), Moved>,
    /// Segments of records in which something is only held by snapshots.
    pub(super) held: Vec<saker_segment_store::SegmentId>,
    /// Segments of nodes may have become free.
    pub(super) is_swept: bool,
}

impl Pins {
    /// Nodes that were replaced and are still needed.
    pub fn nodes(&self) -> u64 {
        self.dead.len() as u64
    }

    /// Holders of snapshots.
    pub fn holders(&self) -> u64 {
        self.snapshots.iter().map(|held| u64::from(held.holders)).sum()
    }

    /// Whether a snapshot sees an entry that a newer one of that version replaced.
    pub fn sees(&self, old: u64, new: u64) -> bool {
        self.snapshots.iter().any(|s| old <= s.version && s.version < new)
    }
}

impl Pins {
    /// One more holder of a snapshot.
    pub(super) fn share(&mut self, snapshot: Snapshot) {
        let held = self.snapshots.iter_mut().find(|held| held.version == snapshot.version());
        held.into_iter().for_each(|held| held.holders += 1);
    }

    /// A view of the store after the write of that version, with the tree that there is.
    pub(super) fn hold(&mut self, version: u64, tree: Tree) -> Snapshot {
        match self.snapshots.last_mut() {
            Some(held) if held.version == version => held.holders += 1,
            _ => self.snapshots.push(Held { version, holders: 1, tree }),
        }
        Snapshot::at(version)
    }

    /// Where the record of an entry is now.
    pub(super) fn follow(&self, mut e: Entry) -> Entry {
        while !e.is_tombstone()
            && let Some(moved) = self.moved.get(&(e.addr.position(), e.stamp))
        {
            e = moved.to;
        }
        e
    }

    /// Says what contradicts itself, and adds what it needs to `live`; `roots`: those beside the snapshots'.
    pub(super) fn check(
        &self,
        roots: &[u64],
        live: &mut LiveBytes<'_>,
        counts: &Counts<'_>,
    ) -> Result<(), String> {
        let sorted = self.snapshots.is_sorted_by(|a, b| a.version < b.version);
        let are_held = self.snapshots.iter().all(|held| held.holders > 0);
        ensure(sorted && are_held, || {
            format!("snapshots are not in order, or nobody's: {:?}", self.snapshots)
        })?;
        let seen = || self.snapshots.iter().map(|held| held.tree.seq).chain(roots.iter().copied());
        for dead in &self.dead {
            let needed = seen().any(|root| dead.child.birth <= root && root < dead.death);
            ensure(needed, || format!("no root of {:?} needs {dead:?}", seen().collect::<Vec<_>>()))?;
            counts.page(dead.child.page, live)?;
        }
        for (key, refs) in &self.records {
            ensure(self.is_held(*key), || format!("nobody sees the records of {key:?}"))?;
            counts.refs(refs, live);
        }
        let stray = self.moved.values().find(|moved| !self.is_held(moved.seen));
        ensure(stray.is_none(), || format!("nobody sees {stray:?}"))
    }

    fn is_held(&self, (first, last): (u64, u64)) -> bool {
        self.snapshots.iter().any(|s| first <= s.version && s.version <= last)
    }
}

impl TreeStore {
    /// A collection moved the newest record of a key. Snapshots that see it go on seeing it.
    pub(super) fn moved(&mut self, old: &Entry, new: &Entry) {
        let mut seen = self.own.pins.snapshots.iter().map(|s| s.version).filter(|s| *s >= old.version);
        let Some(first) = seen.next() else { return };
        let seen = (first, seen.next_back().unwrap_or(first));
        self.own.pins.moved.insert((old.addr.position(), old.stamp), Moved { to: *new, seen });
        if let Some((segment, bytes)) = referred(&self.log, &self.births, new) {
            self.log.add_live(segment, bytes);
            self.own.pins.records.entry(seen).or_default().add(segment, new.stamp, bytes, &self.births);
        }
    }

    /// One holder of a snapshot less.
    pub(super) fn let_go(&mut self, snapshot: Snapshot) {
        let pins = &mut self.own.pins;
        let Some(n) = pins.snapshots.iter().position(|held| held.version == snapshot.version()) else {
            return;
        };
        pins.snapshots[n].holders -= 1;
        if pins.snapshots[n].holders == 0 {
            pins.snapshots.remove(n);
            pins.held.clear();
            self.sweep();
        }
    }

    /// What a snapshot sees.
    pub(super) fn seen_by(&self, snapshot: Snapshot) -> View {
        let held = self.own.pins.snapshots.iter().find(|held| held.version == snapshot.version());
        View { version: snapshot.version(), tree: held.map_or(self.own.tree, |held| held.tree) }
    }

    /// A merge replaced nodes.
    pub(super) fn bury(&mut self, nodes: Vec<Child>, death: u64) {
        for child in nodes {
            let segment = self.page_segment(child.page);
            // An image can tell of fewer nodes than a tree has.
            let Some(left) = self.own.nodes[segment.0 as usize].checked_sub(1) else { continue };
            self.own.nodes[segment.0 as usize] = left;
            self.own.pins.dead.push(Dead { child, death });
        }
    }

    /// A merge that made the root `death` replaced an entry.
    pub(super) fn lose(&mut self, old: &Entry, death: u64) {
        let Some((segment, bytes)) = referred(&self.log, &self.births, old) else { return };
        // A segment that a collection was about to give back can be found again after a cut, with fewer bytes.
        let bytes = bytes.min(self.own.refs.of(segment));
        if bytes == 0 {
            return;
        }
        self.own.refs.sub(segment, bytes);
        let snapshots = &self.own.pins.snapshots;
        let first = snapshots.iter().find(|s| s.version >= old.version).map(|s| s.version);
        let last = snapshots.iter().rev().find(|s| s.tree.seq < death).map(|s| s.version);
        match (first, last) {
            (Some(first), Some(last)) if first <= last => {
                let refs = self.own.pins.records.entry((first, last)).or_default();
                refs.add(segment, old.stamp, bytes, &self.births);
            }
            _ => self.log.sub_live(segment, bytes),
        }
    }

    /// Gives back what nothing needs any more.
    pub(super) fn sweep(&mut self) {
        let snapshots = self.own.pins.snapshots.iter().map(|held| held.tree.seq);
        let roots: Vec<u64> = snapshots.chain(self.own.roots.iter()).collect();
        let is_needed = |d: &Dead| roots.iter().any(|root| d.child.birth <= *root && *root < d.death);
        let (kept, gone): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.own.pins.dead).into_iter().partition(is_needed);
        self.own.pins.dead = kept;
        for d in &gone {
            self.drop_page(d.child.page);
        }
        let pins = &self.own.pins;
        let over: Vec<_> = pins.records.keys().copied().filter(|seen| !pins.is_held(*seen)).collect();
        for key in over {
            let refs = self.own.pins.records.remove(&key).expect("its key was there");
            count(&mut self.log, &self.births, &refs, false);
        }
        let mut moved = std::mem::take(&mut self.own.pins.moved);
        moved.retain(|_, moved| self.own.pins.is_held(moved.seen));
        self.own.pins.moved = moved;
    }

    /// A page of a node is not needed.
    pub(super) fn drop_page(&mut self, page: saker_segment_store::PageAddr) {
        self.sub_page(page);
        self.own.pins.is_swept = true;
    }
}
