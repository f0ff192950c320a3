// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading manifests (see [`super::manifest`] for their layout).
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

use super::Tree;
use super::manifest::{KIND_LONGEST, KIND_NODES, KIND_REFS, KIND_ROOT, NODES_BYTES, REF_BYTES, ROOT_BYTES};
use super::node::Child;
use crate::ordered::refs::Ref;
use saker_segment_store::{PageAddr, SegmentId};
use zerocopy::FromBytes;
use zerocopy::little_endian::{U32, U64};
use zerocopy::{Immutable, KnownLayout, Unaligned};

/// Moments end here: who counts on from one does not come to the end of numbers.
const NUMBER_MAX: u64 = 1 << 55;
/// No tree is higher: a node has two children at least, or it is the only one.
const HEIGHT_MAX: u32 = 64;
/// No tree has more entries or pages: sizes that are worked out from them stay numbers.
const ENTRIES_MAX: u64 = 1 << 40;
/// No segment has more bytes that are referred to: sums of them stay numbers.
const BYTES_MAX: u64 = 1 << 48;

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct WireRoot {
    height: U32,
    page: U64,
    birth: U64,
    seq: U64,
    entries: U64,
    pages: U64,
}

const _: () = assert!(size_of::<WireRoot>() + 1 == ROOT_BYTES);

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct WireRef {
    segment: U32,
    stamp: U64,
    bytes: U64,
}

const _: () = assert!(size_of::<WireRef>() == REF_BYTES);

#[derive(FromBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct WireNodes {
    segment: U32,
    nodes: U32,
}

const _: () = assert!(size_of::<WireNodes>() == NODES_BYTES);

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
    let id = |n: U32| Some(SegmentId(n.get())).filter(|id| id.0 < segments);
    match *kind {
        KIND_ROOT => root(&WireRoot::read_from_bytes(body).ok()?).map(Chunk::Root),
        KIND_REFS => {
            let read = |r: &WireRef| {
                let counted = Ref { stamp: r.stamp.get(), bytes: r.bytes.get() };
                Some((id(r.segment)?, counted)).filter(|_| counted.bytes <= BYTES_MAX)
            };
            <[WireRef]>::ref_from_bytes(body).ok()?.iter().map(read).collect::<Option<_>>().map(Chunk::Refs)
        }
        KIND_NODES => {
            let read = |n: &WireNodes| Some((id(n.segment)?, n.nodes.get()));
            <[WireNodes]>::ref_from_bytes(body)
                .ok()?
                .iter()
                .map(read)
                .collect::<Option<_>>()
                .map(Chunk::Nodes)
        }
        KIND_LONGEST => U32::read_from_bytes(body).ok().map(|bytes| Chunk::Longest(bytes.get())),
        _ => None,
    }
}

fn root(wire: &WireRoot) -> Option<Tree> {
    let (height, seq) = (wire.height.get(), wire.seq.get());
    let (entries, pages) = (wire.entries.get(), wire.pages.get());
    let child = Child { page: PageAddr(wire.page.get()), birth: wire.birth.get() };
    let counts = seq <= NUMBER_MAX && child.birth <= seq && entries <= ENTRIES_MAX && pages <= ENTRIES_MAX;
    let tree = Tree { root: (height > 0).then_some(child), height, seq, entries, pages };
    (counts && height <= HEIGHT_MAX).then_some(tree)
}
