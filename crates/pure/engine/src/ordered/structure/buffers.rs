//! Memtables on their way into the structure, and whether writes may go on.

use super::Configured;
use crate::ordered::memtable::Memtable;
use std::sync::Arc;

/// A write that asks whether it may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Of a pair.
    Store,
    /// Of a tombstone: it makes room.
    Delete,
}

/// Frozen memtables.
pub trait Buffers: Configured {
    /// An empty memtable.
    fn memtable(config: &Self::Config) -> Memtable;

    /// Those that are frozen, the oldest first.
    fn frozen(&self) -> impl DoubleEndedIterator<Item = &Arc<Memtable>>;

    /// Whether one more may wait to be taken in.
    fn may_freeze(&self, config: &Self::Config) -> bool;

    /// The memtable was frozen, if it had any entries; the next write has version `next`.
    fn freeze(&mut self, full: Option<Arc<Memtable>>, next: u64);

    /// Whether a write may go on; `is_full`: the memtable is.
    fn admit(&mut self, write: Write, is_full: bool, config: &Self::Config) -> bool;

    /// A write was done.
    fn wrote(&mut self) {}
}
