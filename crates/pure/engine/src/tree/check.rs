// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether what a tree remembers agrees with itself. Of its nodes those are looked at that are in the read cache.

use super::node::Child;
use super::{CowTree, TreeStore};
use crate::ordered::block::Block;
use crate::ordered::key::{Entry, Key};
use crate::ordered::structure::Checked;
use saker_log::{LiveBytes, ensure};
use saker_segment_store::{PageAddr, SegmentId};
use std::collections::BTreeSet;

impl Checked for CowTree {
    fn check(store: &TreeStore, live: &mut LiveBytes<'_>) -> Result<(), String> {
        let (own, counts) = (&store.own, store.counts());
        counts.refs(&own.refs, live);
        let roots: Vec<u64> = own.roots.iter().collect();
        own.pins.check(&roots, live, &counts)?;
        for page in own.job.iter().flat_map(|job| job.pages()) {
            counts.page(page, live)?;
        }
        store.check_counts(live)?;
        store.check_buffers()?;
        own.cache.check().map_err(|e| format!("the cache of nodes: {e}"))?;
        let Some(root) = own.tree.root else {
            let nothing = (own.tree.height, own.tree.pages, own.tree.entries);
            return ensure(nothing == (0, 0, 0), || format!("a tree without a root: {:?}", own.tree));
        };
        let top = Range { child: root, level: own.tree.height - 1, low: None, high: None };
        store.check_nodes(top, &mut BTreeSet::new())
    }
}

/// A node, and the keys that may be in it.
#[derive(Clone, Copy, Debug)]
struct Range {
    child: Child,
    level: u32,
    low: Option<Key>,
    high: Option<Key>,
}

impl Range {
    fn has(&self, key: &Key) -> bool {
        self.low.is_none_or(|low| low <= *key) && self.high.is_none_or(|high| *key < high)
    }
}

impl TreeStore {
    /// Nodes by segment make up the tree, and count as live.
    fn check_counts(&self, live: &mut LiveBytes<'_>) -> Result<(), String> {
        let nodes: u64 = self.own.nodes.iter().map(|n| u64::from(*n)).sum();
        let pages = self.own.tree.pages;
        ensure(nodes == pages, || format!("{nodes} nodes are in segments, the tree has {pages}"))?;
        for (n, nodes) in (0..).zip(&self.own.nodes) {
            live.refer(SegmentId(n), u64::from(*nodes) * self.page_bytes());
        }
        Ok(())
    }

    fn check_buffers(&self) -> Result<(), String> {
        let own = &self.own;
        let merged = own.job.as_ref().is_none_or(|job| !job.merges() || own.imm.is_some());
        ensure(merged, || "nothing is merged".into())?;
        let first = own.mem_first;
        let frozen = own.imm.as_ref().is_none_or(|imm| imm.last < first && imm.first <= imm.last + 1);
        ensure(frozen && first <= self.version, || {
            format!("buffers begin at {first}, frozen: {:?}", own.imm)
        })?;
        let newest = own.pins.snapshots.last().map(|held| (held.version, held.tree.seq));
        let known = newest.is_none_or(|(version, seq)| version <= self.version && seq <= own.tree.seq);
        ensure(known, || format!("a snapshot is ahead of all writes: {newest:?}"))
    }

    /// Nodes in the cache have their keys in order and between those of their neighbours, and no page has two of them.
    fn check_nodes(&self, at: Range, seen: &mut BTreeSet<PageAddr>) -> Result<(), String> {
        let Child { page, birth } = at.child;
        ensure(seen.insert(page), || format!("page {} has two nodes", page.0))?;
        ensure(birth <= self.own.tree.seq, || format!("page {} is of root {birth}", page.0))?;
        let segment = self.page_segment(page);
        let counted = self.own.nodes.get(segment.0 as usize).is_some_and(|n| *n > 0);
        ensure(counted, || format!("page {} is in segment {}, which has no nodes", page.0, segment.0))?;
        // What is not in memory, or is what the page held before, is left out.
        let here = self.own.cache.get(page).and_then(|bytes| Block::open(bytes, birth, at.level));
        let Some(block) = here else { return Ok(()) };
        let entries: Vec<Entry> = (0..block.count()).filter_map(|n| block.get(n)).collect();
        let sorted = entries.is_sorted_by(|a, b| a.order(b).is_lt());
        let inside = entries.iter().all(|e| at.has(&e.key));
        ensure(sorted && inside, || format!("keys of page {} are not in order, or not in {at:?}", page.0))?;
        if at.level == 0 {
            return Ok(());
        }
        for (n, link) in entries.iter().enumerate() {
            let high = entries.get(n + 1).map(|next| next.key).or(at.high);
            let low = if n == 0 { at.low } else { Some(link.key) };
            self.check_nodes(Range { child: Child::of(link), level: at.level - 1, low, high }, seen)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::Worn;
    use crate::tree::TreeConfig;

    type Fault = (&'static str, fn(&mut TreeStore));

    #[test]
    fn every_planted_fault_is_found() {
        let worn = Worn::new(64, |m| {
            let config = TreeConfig::new(1, &m.geometry(), m.quota_segments(), true);
            TreeStore::new(TreeConfig { write_buffer_size: 2 << 10, node_cache_bytes: 32 << 10, ..config }, m)
        });
        let faults: [Fault; 9] = [
            ("live bytes of nodes", |s| s.structure_live += 8),
            ("nodes of a segment", |s| {
                let n = s.own.nodes.iter().position(|n| *n > 0).expect("nodes");
                s.own.nodes[n] += 1;
            }),
            ("pages of the tree", |s| s.own.tree.pages += 1),
            ("references of the tree", |s| s.own.refs = Default::default()),
            ("a dead node that nobody needs", |s| {
                let root = s.own.tree.root.expect("a root");
                s.bury(vec![root], 0);
            }),
            ("a root of the future", |s| s.own.tree.root.as_mut().expect("a root").birth += 1 << 40),
            ("a tree without a root", |s| s.own.tree.root = None),
            ("versions", |s| s.version = 1),
            ("nodes in two places", |s| {
                let root = s.own.tree.root.expect("a root");
                let level = s.own.tree.height - 1;
                let bytes = s.own.cache.get(root.page).expect("the root is read often").to_vec();
                let block = Block::open(&bytes, root.birth, level).expect("as it was written");
                let links = [block.get(0), block.get(0)].map(|link| link.expect("a link"));
                let twice = super::super::node::encode(root.birth, level, &links, bytes.len() as u32);
                s.own.cache.insert(root.page, &twice);
            }),
        ];
        for (what, fault) in faults {
            worn.finds(what, fault);
        }
    }
}
