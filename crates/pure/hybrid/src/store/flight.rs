// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is on its way.

use crate::store::read::Reading;
use crate::store::scan::{Asked, Scanning};
use crate::store::write::Writing;
use saker_engine::KvError;
use saker_nvme::Key;

/// What a number of a flight stands for.
#[derive(Debug)]
pub(crate) enum Flight {
    /// A put, a delete, a batch.
    Write(Writing),
    /// A get, or the question whether there is such a pair.
    Read(Reading),
    /// A Flush of both trees.
    Flush(Flushing),
    /// A view that waits for the end of the writes that are on their way to the device: a user's, or that of a scan.
    View(Option<(Asked, bool)>),
    /// A snapshot whose iterator in the device is being opened.
    Snapshot {
        /// That of the main tree.
        main: u32,
    },
    /// A scan over both trees.
    Scan(Box<Scanning>),
    /// A command of a rollback, or the main tree's Flush.
    Rollback,
    /// A copy on its way back.
    Move(Key),
    /// A tombstone of the main tree that nobody needs is being deleted there.
    Purge(Key),
    /// A delete of a sweep, of the copy of that number, or a Flush of either tree for it.
    Sweep(Option<(Key, u64)>),
    /// Nobody waits for it.
    Nobody,
}

/// A Flush of both trees.
#[derive(Debug, Default)]
pub(crate) struct Flushing {
    /// Trees that have not answered.
    pub left: u8,
    pub failed: Option<KvError>,
}
