// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What snapshots see.

use super::Configured;
use crate::ordered::Store;
use crate::ordered::key::{Entry, Key};
use saker_engine_api::{KvError, Snapshot};
use saker_segment_store::{SegmentStore, Step};
use saker_sim::Meter;

/// Snapshots: they are versions, each until its last holder releases it.
pub trait Versions: Configured {
    /// A view of the store as it is now, after the write of that version.
    fn snapshot(&mut self, version: u64) -> Snapshot;

    /// One more holder of a snapshot.
    fn share(&mut self, snapshot: Snapshot);

    /// One holder of a snapshot less: what only it saw may be given back.
    fn release(store: &mut Store<Self>, snapshot: Snapshot);

    /// Whether there are any.
    fn has_snapshots(&self) -> bool;

    /// Whether a snapshot sees an entry of version `old` that one of version `new` replaced.
    fn sees(&self, old: u64, new: u64) -> bool;

    /// Whether a snapshot sees a record that is not the newest of its key; `newest` is that one.
    fn is_seen<M: SegmentStore, W: Meter>(
        store: &Store<Self>,
        record: (Key, &Entry),
        newest: Option<Entry>,
        m: &M,
        w: &mut W,
    ) -> Step<Result<bool, KvError>>;
}
