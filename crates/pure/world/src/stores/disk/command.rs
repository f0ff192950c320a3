// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is on its way, and how it ended.

use super::scan::no_iterator;
use saker_host::Done;
use saker_nvme::Status;
use saker_store::{Failure, Outcome, SnapshotId};

/// What a slot's command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Plain,
    Get,
    Group,
    /// A batch with so many deletes, of which those of keys that are not there fail in the device.
    Batch(u32),
    Snapshot,
    Release,
    /// Of the series of that number, which goes on when it has completed.
    Series(u16),
}

/// What came of a completion.
pub(super) enum Polled<R, V> {
    /// An operation ended, and was shown.
    Ended(R),
    /// A command of a series; nothing was shown yet.
    Series(u16, V),
}

/// A slot's command, and how many operations of the lane are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub command: Command,
    pub operations: u32,
}

impl Command {
    /// How it ended. Of a group DW0 is the number of operations that failed.
    #[inline]
    pub fn outcome<'a>(self, done: &'a Done<'_>) -> Outcome<'a> {
        if !done.status.is_success() {
            return self.failure(done.status);
        }
        match self {
            Self::Plain | Self::Release | Self::Series(_) => Outcome::DONE,
            Self::Get => Outcome::value(done.data()),
            Self::Group => Outcome::Group { failed: done.result, data: done.data() },
            Self::Batch(deletes) if done.result > deletes => {
                Outcome::Failed(Failure::Other("the device has carried out a part of the batch"))
            }
            Self::Batch(_) => Outcome::DONE,
            Self::Snapshot => Outcome::Snapshot(SnapshotId(done.result)),
        }
    }

    fn failure<'a>(self, status: Status) -> Outcome<'a> {
        match self {
            Self::Release => Outcome::Failed(no_iterator(status)),
            _ if status.is(Status::KEY_DOES_NOT_EXIST) => Outcome::Absent,
            _ => Outcome::Failed(Failure::Status(status)),
        }
    }
}
