// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Describing the structure.

use super::Configured;
use crate::ordered::Store;
use saker_segment_store::SegmentStore;
use std::collections::VecDeque;

/// Manifests of the structure.
pub trait Manifests: Configured {
    /// Bytes of a manifest.
    fn manifest_bytes(store: &Store<Self>) -> u64;

    /// Bytes that the next manifest frees, sooner or later.
    fn freed_by_manifest(store: &Store<Self>) -> u64;

    /// Bytes that the next manifest frees at once, beyond those that it makes others take: where room is short that counts.
    fn freed_at_once(store: &Store<Self>) -> u64;

    /// A manifest has begun, and the memtable was frozen.
    fn manifest_begun(&mut self) {}

    /// Whether room is so short that a manifest has to give back what the next memtable replaces before another is taken in. It begins when that
    /// memtable is frozen, and ends after it was taken in.
    fn must_cut<M: SegmentStore>(store: &Store<Self>, m: &M) -> bool {
        let _ = (store, m);
        false
    }

    /// Whether it has all that is before the cut of the running manifest.
    fn has_cut(&self) -> bool;

    /// It is described in chunks of at most so many bytes.
    fn describe(store: &mut Store<Self>, most: u64) -> VecDeque<Vec<u8>>;

    /// The running manifest is complete.
    fn manifest_complete<M: SegmentStore>(store: &mut Store<Self>, m: &mut M);

    /// The running manifest failed.
    fn manifest_failed(store: &mut Store<Self>) {
        let _ = store;
    }
}
