// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memtables on their way into the structure, and whether writes may go on.

use super::Configured;
use crate::ordered::memtable::Memtable;
use saker_engine_api::WriteCondition;
use std::sync::Arc;

/// A write that asks whether it may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Of a pair.
    Store,
    /// Of a tombstone: it makes room.
    Delete,
}

/// Whether a write may go on, as far as memtables and the structure are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It may.
    Now,
    /// At the rate that the engine tells.
    AtRate,
    /// When background work has caught up.
    Later,
}

/// Frozen memtables.
pub trait Buffers: Configured {
    /// An empty memtable, in the memory of one that nobody needs any more.
    fn memtable(config: &Self::Config, used: Option<Memtable>) -> Memtable;

    /// Those that are frozen, the oldest first.
    fn frozen(&self) -> impl DoubleEndedIterator<Item = &Arc<Memtable>>;

    /// Whether one more may wait to be taken in.
    fn may_freeze(&self, config: &Self::Config) -> bool;

    /// The memtable was frozen, if it had any entries; the next write has version `next`.
    fn freeze(&mut self, full: Option<Arc<Memtable>>, next: u64);

    /// Whether a write may go on; `is_full`: the memtable is.
    fn admit(&mut self, write: Write, is_full: bool, config: &Self::Config) -> Turn;

    /// A memtable was frozen, or is full and may not be; `is_full`: the one that is written is.
    fn switched(&mut self, is_full: bool, config: &Self::Config) {
        let _ = (is_full, config);
    }

    /// What the engine says of writes.
    fn condition(&self) -> WriteCondition {
        WriteCondition::Normal
    }

    /// So many delayed writes pass ([`Engine::let_pass`](saker_engine_api::Engine::let_pass)).
    fn let_pass(&mut self, writes: u32) {
        let _ = writes;
    }

    /// A write was done.
    fn wrote(&mut self) {}
}
