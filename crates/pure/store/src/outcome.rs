// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How operations end.

use crate::op::SnapshotId;
use saker_nvme::Status;
use saker_nvme::group::pairs_of;
use saker_sim::Instant;
use thiserror::Error;

/// How an operation ended. Data is shown in place: it is read or copied there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// It was carried out, or the pair is there.
    Done {
        /// The version that it wrote, where the store numbers versions.
        version: Option<u64>,
    },
    /// What a get found: the value, or as much of it as the store reads for one get.
    Value {
        /// Its bytes.
        data: &'a [u8],
        /// Its version, where the store numbers versions.
        version: Option<u64>,
    },
    /// There is no such pair.
    Absent,
    /// How the operations of a group ended.
    Group {
        /// Operations that failed, or found nothing.
        failed: u32,
        /// Their results, in the wire's form.
        data: &'a [u8],
    },
    /// What a scan found: as many pairs as were asked for, or all there are from its key on.
    Pairs {
        /// The pairs in the wire's form ([`Outcome::pairs`]).
        data: &'a [u8],
    },
    /// A snapshot was taken.
    Snapshot(SnapshotId),
    /// It was tried, and it failed.
    Failed(Failure),
}

impl<'a> Outcome<'a> {
    /// Carried out, by a store without versions.
    pub const DONE: Self = Self::Done { version: None };

    /// A value, of a store without versions.
    #[inline]
    pub const fn value(data: &'a [u8]) -> Self {
        Self::Value { data, version: None }
    }

    /// What was read.
    #[inline]
    pub const fn data(&self) -> &'a [u8] {
        match self {
            Self::Value { data, .. } | Self::Group { data, .. } | Self::Pairs { data } => data,
            _ => &[],
        }
    }

    /// Key and value of each pair that a scan found, in its order.
    pub fn pairs(&self) -> Vec<(&'a [u8], &'a [u8])> {
        match self {
            Self::Pairs { data } => pairs_of(data),
            _ => Vec::new(),
        }
    }

    /// How many of `operations` operations failed or found nothing.
    #[inline]
    pub const fn failures(&self, operations: u32) -> u32 {
        match self {
            Self::Done { .. } | Self::Value { .. } | Self::Pairs { .. } | Self::Snapshot(_) => 0,
            Self::Group { failed, .. } => *failed,
            Self::Absent | Self::Failed(_) => operations,
        }
    }
}

/// Why an operation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The store is full.
    #[error("capacity exceeded")]
    Capacity,
    /// The device ended the command with that status.
    #[error("the device ended the command with status {0:?}")]
    Status(Status),
    /// The snapshot was released, or has timed out, or is another lane's.
    #[error("there is no such snapshot")]
    NoSnapshot,
    /// The store says why.
    #[error("{0}")]
    Other(&'static str),
}

/// Why an operation was not taken, and will not be. Nothing has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The store has no such operation, or not with these arguments.
    #[error("the store has no {0}")]
    Unsupported(&'static str),
    /// The store takes no key of that many bytes.
    #[error("the store takes no key of {0} bytes")]
    KeyLength(usize),
    /// All lanes of the store have been opened.
    #[error("the store has no more lanes")]
    Lanes,
    /// The store cannot be used any more, or not for this.
    #[error("{0}")]
    Broken(&'static str),
}

/// Why an operation is not taken now. Nothing has happened: it may be submitted again, or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// What is missing.
    pub cause: StallCause,
    /// When to try again; `None`: after something has completed.
    pub retry_at: Option<Instant>,
}

impl Stall {
    /// Until something has completed.
    pub const fn until_completion(cause: StallCause) -> Self {
        Self { cause, retry_at: None }
    }
}

/// What an operation would have to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StallCause {
    /// As many commands are in flight as the queue takes.
    Queue,
    /// The host's buffers for writes are full.
    Buffers,
}

impl StallCause {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Buffers => "buffers",
        }
    }
}
