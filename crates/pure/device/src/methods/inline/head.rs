// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An inline store whose value is being fetched.

use super::super::{GATHER_BYTES_MAX, Taken};
use crate::transfer::Pieces;
use saker_link::{DeviceSq, DoorbellError};
use saker_nvme::vendor_specific::{InlineStore, inline_slots};
use saker_nvme::{KvCommand, Sqe, Status};

/// An inline store whose value is being fetched.
#[derive(Debug)]
pub struct InlineHead {
    sqe: Sqe,
    bytes: Vec<u8>,
    /// Entries that have come.
    slots: u32,
    /// Entries that are still to come.
    missing: u32,
    /// Set when the value will not be stored: its entries are still passed over.
    refused: Option<Status>,
    /// The command has been completed already.
    aborted: bool,
}

impl InlineHead {
    /// Begins with its entry. A value that is longer than the queue cannot be passed over: all that is announced is thrown
    /// away, because any of it may be payload.
    #[inline]
    pub fn begin(&mut self, sqe: &Sqe, sq: &mut DeviceSq) -> Result<(), DoorbellError> {
        let value_bytes = sqe.cdw10.get();
        self.sqe = *sqe;
        self.bytes.clear();
        (self.slots, self.missing) = (0, inline_slots(value_bytes));
        (self.refused, self.aborted) = (None, false);
        if self.missing + 2 > sq.entries() {
            sq.discard_announced()?;
            self.missing = 0;
            self.refused = Some(Status::INVALID_FIELD);
        } else if value_bytes > GATHER_BYTES_MAX {
            self.refused = Some(Status::INVALID_FIELD);
        }
        Ok(())
    }

    /// Fetches what is announced. True when nothing is missing any more.
    #[inline]
    pub fn feed(&mut self, sq: &mut DeviceSq) -> Result<bool, DoorbellError> {
        if self.missing > 0 {
            let slots = sq.fetch_payload(self.missing, &mut self.bytes)?;
            self.missing -= slots;
            self.slots += slots;
            if self.refused.is_some() {
                self.bytes.clear();
            }
        }
        Ok(self.missing == 0)
    }

    /// The store's entry.
    pub const fn sqe(&self) -> &Sqe {
        &self.sqe
    }

    /// Entries of payload that were fetched.
    pub const fn slots(&self) -> u32 {
        self.slots
    }

    /// What was fetched.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether its command was aborted: it must not be completed again.
    pub const fn is_aborted(&self) -> bool {
        self.aborted
    }

    /// Aborts it; the rest of its entries is passed over.
    pub fn abort(&mut self) {
        self.aborted = true;
        self.refused = Some(Status::ABORT_REQUESTED);
        self.bytes.clear();
    }

    /// The store and its whole value, which [`bytes`](Self::bytes) has.
    ///
    /// # Errors
    /// Those of Store; 85h for more than the namespace takes, 02h for more than can be gathered or queued.
    #[inline]
    pub fn finish(&mut self, value_bytes_max: u32) -> Result<InlineStore, Status> {
        if let Some(status) = self.refused {
            return Err(status);
        }
        let store = InlineStore::decode(&self.sqe)?;
        if store.value_bytes > value_bytes_max {
            return Err(Status::INVALID_VALUE_SIZE);
        }
        self.bytes.truncate(store.value_bytes as usize);
        Ok(store)
    }

    /// The value as a request has it.
    pub fn into_taken(mut self, value_bytes_max: u32) -> Result<Taken, Status> {
        let InlineStore { key, value_bytes, options } = self.finish(value_bytes_max)?;
        let command = KvCommand::Store { key, value_bytes, options };
        Ok(Taken::Whole(command, Pieces::Gathered(self.bytes)))
    }
}

impl Default for InlineHead {
    fn default() -> Self {
        let sqe = Sqe::new(0, 0);
        Self { sqe, bytes: Vec::new(), slots: 0, missing: 0, refused: None, aborted: false }
    }
}
