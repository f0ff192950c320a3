// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a manifest says of a tree: its root, what it needs of each segment, and where its nodes lie, so that recovery reads none.
//!
//! Chunks (little-endian): kind `u8`; 1, first: height `u32`, then `u64`s: page and birth of the root, moment, entries, pages; 2:
//! references, each segment `u32`, stamp `u64`, bytes `u64`; 3: nodes by segment, each segment and nodes `u32`; 4: bytes of the longest
//! record `u32`.

use super::node::Child;
use super::{Tree, TreeStore};
use crate::ordered::refs::Ref;
use saker_segment_store::{PageAddr, SegmentId};
use std::collections::VecDeque;

pub(super) const KIND_ROOT: u8 = 1;
pub(super) const KIND_REFS: u8 = 2;
pub(super) const KIND_NODES: u8 = 3;
pub(super) const KIND_LONGEST: u8 = 4;
pub(super) const ROOT_BYTES: usize = 5 + 5 * 8;
pub(super) const REF_BYTES: usize = 20;
pub(super) const NODES_BYTES: usize = 8;

/// The moments of the roots that manifests name.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Roots {
    /// In the running one.
    pub running: Option<u64>,
    /// In the last complete one.
    pub complete: Option<u64>,
}

impl Roots {
    /// Both.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.complete.into_iter().chain(self.running)
    }
}

impl TreeStore {
    /// Bytes of a manifest: it says something of each segment at most.
    pub(super) fn manifest_bytes(&self) -> u64 {
        ROOT_BYTES as u64 + u64::from(self.log.geometry().segments) * (REF_BYTES + NODES_BYTES) as u64 + 16
    }

    /// Whether nodes that only the last manifest needs could go.
    pub(super) fn manifest_helps(&self) -> bool {
        let complete = self.own.roots.complete;
        !self.manifest.is_running() && complete.is_some_and(|root| root != self.own.tree.seq)
    }

    /// The root as it is now.
    pub(super) fn describe(&mut self, most: u64) -> VecDeque<Vec<u8>> {
        let refs = self.own.refs.iter().filter(|(id, r)| self.births.is_alive(&self.log, *id, r.stamp));
        let refs = refs.map(|(id, r)| encode_ref(id, r));
        let nodes = self.own.nodes.iter().enumerate().filter(|(_, n)| **n > 0);
        let nodes = nodes.map(|(id, n)| [(id as u32).to_le_bytes(), n.to_le_bytes()].concat());
        let mut chunks = VecDeque::from([encode_root(&self.own.tree), encode_longest(self.longest.at_cut())]);
        fill(&mut chunks, KIND_REFS, refs, most as usize);
        fill(&mut chunks, KIND_NODES, nodes, most as usize);
        self.own.roots.running = Some(self.own.tree.seq);
        chunks
    }
}

fn encode_root(tree: &Tree) -> Vec<u8> {
    let root = tree.root.unwrap_or(Child { page: PageAddr(0), birth: 0 });
    let mut out = vec![KIND_ROOT];
    out.extend(tree.height.to_le_bytes());
    for n in [root.page.0, root.birth, tree.seq, tree.entries, tree.pages] {
        out.extend(n.to_le_bytes());
    }
    out
}

fn encode_ref(id: SegmentId, r: Ref) -> Vec<u8> {
    [&id.0.to_le_bytes()[..], &r.stamp.to_le_bytes(), &r.bytes.to_le_bytes()].concat()
}

fn encode_longest(bytes: u32) -> Vec<u8> {
    [&[KIND_LONGEST][..], &bytes.to_le_bytes()].concat()
}

/// Divides items among chunks.
fn fill(chunks: &mut VecDeque<Vec<u8>>, kind: u8, items: impl Iterator<Item = Vec<u8>>, most: usize) {
    let mut open = vec![kind];
    for item in items {
        if open.len() + item.len() > most {
            chunks.push_back(std::mem::replace(&mut open, vec![kind]));
        }
        open.extend(item);
    }
    if open.len() > 1 {
        chunks.push_back(open);
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse::{Chunk, decode_chunk};
    use super::*;

    #[test]
    fn golden_chunks() {
        let root = Some(Child { page: PageAddr(0x0201), birth: 3 });
        let tree = Tree { root, height: 2, seq: 4, entries: 5, pages: 6 };
        let bytes = encode_root(&tree);
        assert_eq!(bytes[..13], [1, 2, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0]);
        assert_eq!((bytes[13], bytes[21], bytes[29], bytes[37], bytes.len()), (3, 4, 5, 6, 45));
        assert_eq!(decode_chunk(&bytes, 1), Some(Chunk::Root(tree)));
        let r = (SegmentId(7), Ref { stamp: 8, bytes: 9 });
        let chunk = [&[2][..], &encode_ref(r.0, r.1)].concat();
        assert_eq!((chunk[1], chunk[5], chunk[13], chunk.len()), (7, 8, 9, 21));
        assert_eq!(decode_chunk(&chunk, 8), Some(Chunk::Refs(vec![r])));
        assert_eq!(
            decode_chunk(&[3, 6, 0, 0, 0, 5, 0, 0, 0], 8),
            Some(Chunk::Nodes(vec![(SegmentId(6), 5)]))
        );
        assert_eq!(encode_longest(0x0201), [4, 1, 2, 0, 0]);
        assert_eq!(decode_chunk(&[4, 1, 2, 0, 0], 8), Some(Chunk::Longest(0x0201)));
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        let chunk = [&[2][..], &encode_ref(SegmentId(7), Ref { stamp: 8, bytes: 9 })].concat();
        assert_eq!(decode_chunk(&chunk, 7), None, "a segment that there is not");
        assert_eq!(decode_chunk(&chunk[..20], 8), None);
        assert_eq!(
            (decode_chunk(&[], 8), decode_chunk(&[4], 8), decode_chunk(&[1; 44], 8)),
            (None, None, None)
        );
    }
}
