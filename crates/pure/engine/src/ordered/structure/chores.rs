//! Background work.

use super::Configured;
use crate::ordered::Store;
use crate::ordered::background::Piece;
use saker_segment_store::{PageAddr, SegmentStore, Tag};
use saker_sim::Meter;

/// Background work of the structure, in pieces.
pub trait Chores: Configured {
    /// Pieces that take turns.
    const PIECES: u32;

    /// A call for background work has come.
    fn begin<M: SegmentStore>(store: &mut Store<Self>, m: &mut M);

    /// One of the pieces, in the order of their urgency.
    fn piece<M: SegmentStore, W: Meter>(
        store: &mut Store<Self>,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece;

    /// Whether it has work of its own.
    fn has_work(&self) -> bool;

    /// The program of a page of its own failed. Whether what a running manifest names must first be made good elsewhere.
    fn page_failed(&mut self, page: PageAddr) -> bool;
}
