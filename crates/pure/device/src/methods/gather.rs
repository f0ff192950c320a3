// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Values that arrive in parts: gathered for each submission queue, in bounded memory, before anything is routed.
//!
//! One value may be open in a queue; its parts are the entries that follow, in their order. Whatever else comes closes it:
//! what was gathered is forgotten, and parts that come later are refused with 0Ch, Command Sequence Error. So a part
//! never joins another value, and the engine only ever sees whole values.

use super::Open;
use crate::transfer::Pieces;
use saker_nvme::KvCommand;
use saker_nvme::kv::StoreOptions;
use saker_nvme::vendor_specific::InlineRetrieve;
use saker_nvme::{Key, Sqe, Status};

/// Most value bytes that are gathered for one value.
pub const GATHER_BYTES_MAX: u32 = 16 << 10;
/// Gathered bytes of a queue that may wait for their execution; beyond it the queue is not looked at. What is held is whole, and
/// executes without another entry of the queue, so any limit lets it go on: the first value beyond it is taken. Four of the
/// longest values are slack, so that a core finds the next one gathered.
pub const HELD_BYTES_MAX: u32 = 4 * GATHER_BYTES_MAX;

/// What a part led to.
#[derive(Debug)]
pub enum Taken {
    /// The value is whole.
    Whole(KvCommand, Pieces),
    /// More is to come; DW0 of the completion.
    More(u32),
    /// It was no part: a retrieve into the completion queue.
    Small(InlineRetrieve),
}

/// The open value of a queue.
#[derive(Debug)]
pub struct Gather {
    pub(super) open: Open,
    pub(super) bytes: Vec<u8>,
}

impl Default for Gather {
    fn default() -> Self {
        Self { open: Open::Nothing, bytes: Vec::new() }
    }
}

impl Gather {
    /// Whether a value is open.
    #[inline]
    pub fn is_open(&self) -> bool {
        !matches!(self.open, Open::Nothing)
    }

    /// Bytes that are held.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets the open value, if any.
    #[inline]
    pub fn close(&mut self) {
        self.open = Open::Nothing;
        self.bytes.clear();
    }

    /// Gives a buffer back for the next value.
    #[inline]
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        if !self.is_open() && bytes.capacity() <= 2 * GATHER_BYTES_MAX as usize {
            bytes.clear();
            self.bytes = bytes;
        }
    }

    /// Closes the value and refuses the part.
    pub(super) fn refuse(&mut self, status: Status) -> Status {
        self.close();
        status
    }

    /// The value is whole: its store.
    pub(super) fn store(&mut self, key: Key, value_bytes: u32, options: StoreOptions) -> Taken {
        self.open = Open::Nothing;
        let command = KvCommand::Store { key, value_bytes, options };
        Taken::Whole(command, Pieces::Gathered(std::mem::take(&mut self.bytes)))
    }
}

/// Whether a part is the one that is due.
pub(super) fn is_due(sqe: &Sqe, sequence: u8, nsid: u32, next: u32) -> bool {
    sqe.nsid.get() == nsid && u32::from(sequence) == next % 16
}
