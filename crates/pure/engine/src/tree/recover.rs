// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Recovery of the tree that a manifest names. No node is read.
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

use super::parse::{Chunk, decode_chunk};
use super::{Tree, TreeStore};
use crate::ordered::refs::{Ref, count};
use saker_log::{Segment, SegmentState};
use saker_segment_store::{PageAddr, SegmentId, SegmentStore, Stream};

/// What a manifest names.
#[derive(Clone, Debug, Default)]
pub struct Named {
    root: Tree,
    refs: Vec<(SegmentId, Ref)>,
    nodes: Vec<(SegmentId, u32)>,
}

impl TreeStore {
    /// Takes a chunk of a manifest.
    pub(super) fn enter_chunk(&mut self, named: &mut Named, chunk: &[u8]) -> bool {
        match decode_chunk(chunk, self.log.geometry().segments) {
            Some(Chunk::Root(root)) => named.root = root,
            Some(Chunk::Refs(refs)) => named.refs.extend(refs),
            Some(Chunk::Nodes(nodes)) => named.nodes.extend(nodes),
            Some(Chunk::Longest(bytes)) => self.longest.know(bytes),
            None => return false,
        }
        true
    }

    /// Takes the root of a whole manifest.
    pub(super) fn adopt(&mut self, named: &Named) -> Result<(), &'static str> {
        let geometry = self.log.geometry();
        let holds = |id: SegmentId| {
            let is_of_nodes = |s: &Segment| s.state != SegmentState::Absent && s.stream() == Stream::Table;
            self.log.find_segment(id).is_some_and(is_of_nodes)
        };
        let is_held = |page: PageAddr| geometry.contains(page) && holds(geometry.segment_of(page));
        if !named.root.root.is_none_or(|root| is_held(root.page))
            || !named.nodes.iter().all(|(id, _)| holds(*id))
        {
            return Err("it names a page that this namespace does not hold");
        }
        (self.own.roots.complete, self.own.tree) = (Some(named.root.seq), named.root);
        Ok(())
    }

    /// Counts what the tree needs and refers to, and gives back what nothing does.
    pub(super) fn settle<M: SegmentStore>(&mut self, named: &Named, m: &mut M) {
        let page_bytes = self.page_bytes();
        for (id, r) in &named.refs {
            if self.births.is_alive(&self.log, *id, r.stamp) {
                self.own.refs.add(*id, r.stamp, r.bytes, &self.births);
            }
        }
        count(&mut self.log, &self.births, &self.own.refs, true);
        for (id, n) in &named.nodes {
            self.own.nodes.get_mut(id.0 as usize).into_iter().for_each(|nodes| *nodes = *n);
            self.log.add_live(*id, u64::from(*n) * page_bytes);
            self.structure_live += u64::from(*n) * page_bytes;
        }
        self.release_dead_nodes(m);
    }
}
