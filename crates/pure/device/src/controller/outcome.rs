// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the controller decides about an admin command.

use saker_nvme::Status;
use zerocopy::IntoBytes;

/// The decision on one admin command.
///
/// With an [`Action`] the device acts first; if it fails, it completes with its own error and calls
/// [`Controller::undo`](super::Controller::undo).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// Status to complete with.
    pub status: Status,
    /// DW0 of the completion.
    pub dw0: u32,
    /// Bytes for the host's buffer, of exactly the length that the command asks for.
    pub data: Option<Vec<u8>>,
    /// What the device has to do before it completes the command.
    pub action: Option<Action>,
}

/// What only the device can do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// Make a completion queue.
    CreateCq {
        /// QID.
        qid: u16,
        /// Entries, 2 to the maximum.
        entries: u32,
        /// Base address, page aligned.
        iova: u64,
        /// The interrupt vector to tell the host of completions by, unless it looks by itself.
        vector: Option<u16>,
    },
    /// Make a submission queue.
    CreateSq {
        /// QID.
        qid: u16,
        /// The completion queue it posts to, which exists.
        cqid: u16,
        /// Entries, 2 to the maximum.
        entries: u32,
        /// Base address, page aligned.
        iova: u64,
    },
    /// Abort what the queue holds and remove it.
    DeleteSq {
        /// QID.
        qid: u16,
        /// The completion queue it posted to.
        cqid: u16,
    },
    /// Remove a completion queue that no submission queue posts to.
    DeleteCq {
        /// QID.
        qid: u16,
    },
    /// Try to abort a command. DW0 is 1, "not aborted": the device clears it if it did. Then
    /// [`Controller::abort_done`](super::Controller::abort_done).
    Abort {
        /// The command's submission queue, which exists (0 is the admin queue).
        sqid: u16,
        /// The command's identifier.
        cid: u16,
    },
    /// Keep the command without completing it, until [`Controller::next_event`](super::Controller::next_event).
    HoldAsyncEvent,
    /// Empty these namespaces: each exists and can be used.
    Format {
        /// The namespaces, at least one, in ascending order.
        nsids: Vec<u32>,
        /// Whether old data must be unrecoverable (SES 1).
        erase_user_data: bool,
    },
    /// Keep EDNEK of a Key Value namespace, over power cycles too.
    SetEdnek {
        /// NSID.
        nsid: u32,
        /// The new value.
        value: bool,
    },
    /// Give a live setting of a Key Value namespace another value, which it takes.
    SetSetting {
        /// NSID.
        nsid: u32,
        /// Its name.
        name: &'static str,
        /// The value.
        number: u64,
    },
    /// Fetch the host identifier, 16 bytes or 8, and call
    /// [`Controller::note_host_identifier`](super::Controller::note_host_identifier).
    SetHostIdentifier {
        /// Whether it has 128 bits.
        extended: bool,
    },
    /// Switch the volatile write cache; switching off writes it back first.
    SetWriteCache(bool),
}

/// A decision, or the status of a refusal.
pub(super) type Decision = Result<Outcome, Status>;

impl Outcome {
    /// Successful Completion and nothing else.
    #[must_use]
    pub const fn done() -> Self {
        Self::dw0(0)
    }

    /// Successful Completion with a result.
    #[must_use]
    pub const fn dw0(dw0: u32) -> Self {
        Self { status: Status::SUCCESS, dw0, data: None, action: None }
    }

    /// A refusal.
    #[must_use]
    pub const fn refused(status: Status) -> Self {
        Self { status, dw0: 0, data: None, action: None }
    }

    /// Successful Completion with bytes for the host.
    #[must_use]
    pub fn data(bytes: Vec<u8>) -> Self {
        Self { data: Some(bytes), ..Self::done() }
    }

    /// Successful Completion once the device has done `action`.
    #[must_use]
    pub fn act(action: Action) -> Self {
        Self { action: Some(action), ..Self::done() }
    }

    /// Successful Completion with a data structure of the wire.
    pub(super) fn structure(structure: &(impl IntoBytes + zerocopy::Immutable)) -> Self {
        Self::data(structure.as_bytes().to_vec())
    }
}
