// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What HostKV is asked for, and what comes of it.

use crate::client::WriteBatch;
use saker_engine::KvError;
use saker_nvme::Key;
use saker_nvme::group::{Form, Refused};

/// Names an operation on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Store a pair.
    Put(Vec<u8>, Vec<u8>),
    /// Retrieve a value.
    Get(Vec<u8>),
    /// Delete a pair.
    Delete(Vec<u8>),
    /// Whether there is such a pair.
    Exists(Vec<u8>),
    /// Writes that become visible together, and that a cut leaves all of or none of. For engines that keep a group as one
    /// record ([`HostKv::takes_batches`](super::HostKv::takes_batches)).
    Batch(Batch),
    /// The pairs from a key on, in the order of keys. For engines with scans
    /// ([`HostKv::takes_scans`](super::HostKv::takes_scans)), as the next two.
    Scan {
        /// The least key; empty: from the first one on. Backwards it is the greatest, and from the last one on.
        from: Vec<u8>,
        /// In falling order.
        backwards: bool,
        /// Pairs at most.
        entries: u32,
        /// As that snapshot has them; otherwise as they are.
        snapshot: Option<u32>,
    },
    /// A view of all pairs as they are, for scans.
    Snapshot,
    /// A snapshot is not needed any more.
    Release(u32),
    /// Everything before it is on the device, and flushed there.
    Flush,
}

impl Op {
    /// Whether it changes nothing, and makes nothing last.
    pub(super) fn only_reads(&self) -> bool {
        matches!(self, Self::Get(_) | Self::Exists(_) | Self::Scan { .. } | Self::Snapshot | Self::Release(_))
    }
}

/// What came of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It was carried out, or the pair is there.
    Done,
    /// What a get found.
    Value(Vec<u8>),
    /// What a scan found: a payload of form store ([`saker_nvme::group`]).
    Pairs(Vec<u8>),
    /// The number of a new snapshot.
    Snapshot(u32),
    /// The snapshot is not there (any more).
    NoSnapshot,
    /// Nothing: writes are stopped, and it was not to wait for the end of that
    /// ([`HostKv::submit_unless_stopped`](super::HostKv::submit_unless_stopped)).
    Stopped,
}

/// How an operation ended.
pub type Outcome = Result<Answer, KvError>;

/// What became of an operation that was submitted.
#[derive(Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is complete.
    Ended(Outcome),
    /// It is on its way.
    Parked(Ticket),
    /// Writes are stopped, and it was not to wait for the end of that: here it is again.
    Stopped(Op),
}

/// Writes as one payload, each key once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub(super) form: Form,
    pub(super) payload: Vec<u8>,
    /// Its writes, for what follows them: the value, or `None` of a delete.
    pub(super) writes: WriteBatch,
}

impl Batch {
    /// Of at least one write.
    ///
    /// # Errors
    /// [`Refused`] for no writes, and for a key that is none of the engine's: it would fail alone.
    pub fn new(writes: WriteBatch) -> Result<Self, Refused> {
        if writes.is_empty() || writes.iter().any(|(key, _)| Key::new(key).is_err()) {
            return Err(Refused::KeySize);
        }
        let (form, payload) = writes.pack()?;
        Ok(Self { form, payload, writes })
    }

    /// Its writes.
    pub fn writes(&self) -> &WriteBatch {
        &self.writes
    }

    /// Bytes of the payload.
    pub fn bytes(&self) -> u32 {
        u32::try_from(self.payload.len()).unwrap_or(u32::MAX)
    }
}
