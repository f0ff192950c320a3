// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The order of background work: what must be made good first, then what writes wait for, then what is owed.

use super::TreeStore;
use crate::ordered::background::Piece;
use saker_engine_api::Background;
use saker_segment_store::{SegmentStore, Step, Tag};
use saker_sim::Meter;

impl TreeStore {
    /// The pieces in the order of their urgency.
    pub(super) fn piece<M: SegmentStore, W: Meter>(
        &mut self,
        n: u32,
        finished: Tag,
        m: &mut M,
        w: &mut W,
    ) -> Piece {
        let first = self.upkeep.is_for_collections() || self.is_pressed(m);
        match n {
            0 => Step::Done(Ok(self.repair_nodes(finished, m))),
            1 if self.gc.is_some_and(|gc| gc.is_repair()) => self.collect(m, w),
            2 if first && self.may_collect() => self.collect(m, w),
            3 => self.merge_step(finished, m, w),
            4 => Step::Done(Ok(self.manifest_step(finished, m, w))),
            5 if !first && self.may_collect() => self.collect(m, w),
            6 => self.clean_step(m, w),
            7 => Step::Done(Ok(self.pack_step(m))),
            _ => Step::Done(Ok(Background::Idle)),
        }
    }

    /// Whether a collection is under way, and there is room for the entries of what it moves.
    fn may_collect(&self) -> bool {
        let is_flooded = self.own.imm.is_some() && self.mem.bytes() >= 2 * self.config.write_buffer_size;
        self.gc.is_some_and(|gc| !gc.is_repair()) && !is_flooded
    }
}
