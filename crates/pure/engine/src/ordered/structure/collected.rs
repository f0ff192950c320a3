// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What collections of the value log ask.

use super::Configured;
use crate::ordered::Store;
use crate::ordered::key::Entry;
use saker_segment_store::{SegmentId, SegmentStore};

/// Collections beside the structure.
pub trait Collected: Configured {
    /// Segments whose collection was given up, because a snapshot wants something in them.
    fn held(&self) -> &[SegmentId];

    /// Only a snapshot wants what is in a segment: its collection is given up.
    fn hold(&mut self, id: SegmentId);

    /// Bytes that a collection must gain beyond the `lost` ones that it may leave unused.
    fn least_gain(store: &Store<Self>, lost: u64) -> u64 {
        let _ = (store, lost);
        0
    }

    /// Whether the structure gains more by emptying segments of its own than a collection of that one would.
    fn goes_before<M: SegmentStore>(store: &Store<Self>, records: SegmentId, m: &M) -> bool {
        let _ = (store, records, m);
        false
    }

    /// The most that [`least_gain`](Self::least_gain) ever says.
    fn owed_at_most(segment_bytes: u64, lost: u64) -> u64 {
        let _ = (segment_bytes, lost);
        0
    }

    /// Free segments that copies leave, unless they repair.
    fn kept_from_copies<M: SegmentStore>(store: &Store<Self>, m: &M) -> u32;

    /// A collection moved the newest record of a key.
    fn moved(store: &mut Store<Self>, old: &Entry, new: &Entry) {
        let _ = (store, old, new);
    }
}
