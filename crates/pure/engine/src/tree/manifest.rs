//! The manifest: which root there is. It is a checkpoint of the log, so it replaces the one before by its end record, and its
//! cut says from where on the value log must be scanned for what the tree does not have.
//!
//! A manifest begins when a buffer is frozen: everything before the cut is then in the tree or in that buffer. It goes on when
//! that is merged, and names the root of that moment.
//!
//! Chunks (little-endian): kind `u8`; 1, first: height `u32`, then `u64`s: page and birth of the root, moment, entries, pages; 2:
//! references, each segment `u32`, stamp `u64`, bytes `u64`; 3: nodes by segment, each segment and nodes `u32`; 4: bytes of the longest
//! record `u32`.

use super::node::Child;
use super::{Tree, TreeStore};
use crate::kv::Background;
use crate::ordered::refs::Ref;
use saker_log::checkpoint::release_others;
use saker_log::{CheckpointWriter, Log};
use saker_medium::{Medium, PageAddr, SegmentId, Stream, Tag};
use saker_sim::{Meter, Unit};
use std::collections::VecDeque;

const KIND_ROOT: u8 = 1;
const KIND_REFS: u8 = 2;
const KIND_NODES: u8 = 3;
const KIND_LONGEST: u8 = 4;
const ROOT_BYTES: usize = 5 + 5 * 8;
const REF_BYTES: usize = 20;
const NODES_BYTES: usize = 8;

/// Where manifests stand.
#[derive(Clone, Debug, Default)]
pub struct State {
    running: Option<CheckpointWriter>,
    /// Chunks that are to be written; `None`: the buffer must be merged first.
    chunks: Option<VecDeque<Vec<u8>>>,
    /// The root that the running one names.
    names: Option<u64>,
    /// The root that the last complete one names.
    pub(super) root: Option<u64>,
    /// Segments of the last complete one.
    pub(super) segments: Vec<SegmentId>,
    /// Version at its cut.
    pub(super) version: u64,
    pub(super) generation: u64,
    bytes_at_cut: u64,
    postponed_at: Option<u64>,
    /// One is needed now.
    pub(super) wanted: bool,
}

impl State {
    /// Whether one is being written.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// The moments of the roots that manifests name.
    pub fn roots(&self) -> impl Iterator<Item = u64> + '_ {
        self.root.into_iter().chain(self.names)
    }
}

fn appended(log: &Log) -> u64 {
    let stats = log.stats();
    stats.bytes_appended[Stream::User as usize] + stats.bytes_appended[Stream::Gc as usize]
}

impl TreeStore {
    /// Bytes of a manifest: it says something of each segment at most.
    fn manifest_bytes(&self) -> u64 {
        ROOT_BYTES as u64 + u64::from(self.log.geometry().segments) * (REF_BYTES + NODES_BYTES) as u64 + 16
    }

    /// Free segments that everybody leaves to manifests.
    pub(super) fn manifest_segments<M: Medium>(&self, _: &M) -> u32 {
        let needed = saker_log::checkpoint::segments_for(&self.log, self.manifest_bytes());
        1 + self.manifest.running.as_ref().map_or(needed, CheckpointWriter::segments_left)
    }

    fn is_manifest_due<M: Medium>(&self, m: &M) -> bool {
        let grown = appended(&self.log) - self.manifest.bytes_at_cut;
        let segment = self.log.geometry().segment_bytes();
        let replaced = self.pins.nodes() * self.page_bytes();
        // What snapshots hold is not freed by a manifest.
        let due = grown > self.config.checkpoint_bytes_min
            || self.pins.snapshots.is_empty()
                && replaced > (segment * 2).max(segment * u64::from(m.quota_segments()) / 32);
        let pressed = self.is_pressed(m)
            && (replaced > 0 && self.manifest_helps() || self.log.until_checkpoint_bytes() > segment / 4);
        let retry = self
            .manifest
            .postponed_at
            .is_none_or(|at| appended(&self.log) > at || m.free_segments() > self.manifest_segments(m));
        self.manifest.wanted || (due || pressed) && retry
    }

    /// Whether nodes that only the last manifest needs could go.
    pub(super) fn manifest_helps(&self) -> bool {
        let is_named = self.manifest.root.is_some_and(|root| root == self.tree.seq);
        !self.manifest.is_running() && !is_named && self.manifest.root.is_some()
    }

    /// Whether there is work for a manifest.
    pub(super) fn manifest_has_work<M: Medium>(&self, m: &M) -> bool {
        self.manifest.is_running() || self.is_manifest_due(m)
    }

    /// One piece of manifest work.
    pub(super) fn manifest_step<M: Medium, W: Meter>(
        &mut self,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Background {
        let Some(running) = &self.manifest.running else {
            return if self.imm.is_none() && self.is_manifest_due(m) {
                self.begin_manifest(m)
            } else {
                Background::Idle
            };
        };
        if running.is_finished() {
            return self.complete_manifest(finished, m);
        }
        if self.manifest.chunks.is_none() {
            if self.imm.is_some() {
                return Background::Waiting;
            }
            self.look();
        }
        self.write_chunk(finished, m, w)
    }

    fn begin_manifest<M: Medium>(&mut self, m: &mut M) -> Background {
        let (generation, bytes) = (self.manifest.generation + 1, self.manifest_bytes());
        match CheckpointWriter::begin(&mut self.log, m, generation, self.version, bytes, 0) {
            Ok(writer) => {
                self.freeze();
                let state = &mut self.manifest;
                (state.running, state.generation, state.chunks) = (Some(writer), generation, None);
                (state.bytes_at_cut, state.postponed_at, state.wanted) = (appended(&self.log), None, false);
                Background::Worked
            }
            Err(_) => {
                self.manifest.postponed_at = Some(appended(&self.log));
                Background::Waiting
            }
        }
    }

    /// The root as it is now.
    fn look(&mut self) {
        let most = (self.log.geometry().segment_bytes() / 4).min(saker_log::checkpoint::CHUNK_BYTES_MAX - 8);
        let refs = self.refs.iter().filter(|(id, r)| self.births.is_alive(&self.log, *id, r.stamp));
        let refs = refs.map(|(id, r)| encode_ref(id, r));
        let nodes = self.nodes.iter().enumerate().filter(|(_, n)| **n > 0);
        let nodes = nodes.map(|(id, n)| [(id as u32).to_le_bytes(), n.to_le_bytes()].concat());
        let mut chunks = VecDeque::from([encode_root(&self.tree), encode_longest(self.record_bytes_max)]);
        fill(&mut chunks, KIND_REFS, refs, most as usize);
        fill(&mut chunks, KIND_NODES, nodes, most as usize);
        (self.manifest.chunks, self.manifest.names) = (Some(chunks), Some(self.tree.seq));
    }

    fn write_chunk<M: Medium, W: Meter>(&mut self, finished: Tag, m: &mut M, w: &mut W) -> Background {
        let State { running: Some(running), chunks: Some(chunks), .. } = &mut self.manifest else {
            return Background::Idle;
        };
        let Some(chunk) = chunks.front() else {
            let ended = running.finish(&mut self.log, m, finished);
            return if ended.is_ok() { Background::Worked } else { Background::Waiting };
        };
        if running.chunk(&mut self.log, m, chunk).is_err() {
            return Background::Waiting;
        }
        self.stats.kv.checkpoint_bytes += chunk.len() as u64;
        w.work(Unit::CopyByte, chunk.len() as u64);
        chunks.pop_front();
        Background::Worked
    }

    fn complete_manifest<M: Medium>(&mut self, finished: Tag, m: &mut M) -> Background {
        if !self.manifest.running.as_ref().is_some_and(|r| r.is_complete(finished)) {
            return Background::Waiting;
        }
        let running = self.manifest.running.take().expect("checked above");
        self.manifest.version = running.cut().version;
        let previous = std::mem::take(&mut self.manifest.segments);
        let mut segments = running.replace(&mut self.log, m, &previous);
        segments.retain(|id| !previous.contains(id));
        self.manifest.segments = segments;
        (self.manifest.chunks, self.manifest.root) = (None, self.manifest.names.take());
        self.stats.kv.checkpoints += 1;
        self.sweep();
        self.release_dead_nodes(m);
        Background::Worked
    }

    /// A page of the running manifest failed: another one is written.
    pub(super) fn manifest_failed<M: Medium>(&mut self, m: &mut M) {
        match self.manifest.running.take() {
            Some(running) => running.abort(&mut self.log, m, &self.manifest.segments),
            None => release_others(&mut self.log, m, &self.manifest.segments),
        }
        (self.manifest.chunks, self.manifest.names, self.manifest.wanted) = (None, None, true);
        self.sweep();
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

/// What a chunk says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chunk {
    /// The root.
    Root(Tree),
    /// What the tree refers to.
    Refs(Vec<(SegmentId, Ref)>),
    /// Nodes in segments.
    Nodes(Vec<(SegmentId, u32)>),
    /// Bytes of the longest record; earlier manifests did not tell.
    Longest(u32),
}

/// Reads a chunk about so many segments; `None` if it is not one.
pub(super) fn decode_chunk(payload: &[u8], segments: u32) -> Option<Chunk> {
    let (kind, body) = payload.split_first()?;
    let word = |at: &[u8]| at.first_chunk().map(|b| u64::from_le_bytes(*b));
    let half = |at: &[u8]| at.first_chunk().map(|b| u32::from_le_bytes(*b));
    let id = |at: &[u8]| half(at).filter(|n| *n < segments).map(SegmentId);
    match *kind {
        KIND_ROOT if body.len() + 1 == ROOT_BYTES => {
            let at = |n: usize| word(&body[4 + 8 * n..]);
            let (height, child) = (half(body)?, Child { page: PageAddr(at(0)?), birth: at(1)? });
            let root = (height > 0).then_some(child);
            Some(Chunk::Root(Tree { root, height, seq: at(2)?, entries: at(3)?, pages: at(4)? }))
        }
        KIND_REFS if body.len().is_multiple_of(REF_BYTES) => {
            let read = |b: &[u8]| Some((id(b)?, Ref { stamp: word(&b[4..])?, bytes: word(&b[12..])? }));
            body.chunks_exact(REF_BYTES).map(read).collect::<Option<_>>().map(Chunk::Refs)
        }
        KIND_NODES if body.len().is_multiple_of(NODES_BYTES) => {
            let read = |b: &[u8]| Some((id(b)?, half(&b[4..])?));
            body.chunks_exact(NODES_BYTES).map(read).collect::<Option<_>>().map(Chunk::Nodes)
        }
        KIND_LONGEST if body.len() == 4 => half(body).map(Chunk::Longest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
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
