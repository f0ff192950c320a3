// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Submitting commands for iterators.

use saker_nvme::Key;
use saker_nvme::vendor_specific::{IteratorCommand, IteratorRange};
use zerocopy::IntoBytes;

use super::{DataPlace, KvQueue, Returned, Shape, SubmitError, Ticket};

impl KvQueue {
    /// Opens an iterator over a range, as of now or as of the moment of the iterator `beside`. DW0 of the completion is its
    /// number.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn iterator_open(
        &mut self,
        range: &IteratorRange,
        keys_only: bool,
        beside: Option<u32>,
    ) -> Result<Ticket, SubmitError> {
        let sqe = IteratorCommand::Open { keys_only, beside }.encode(self.nsid);
        let slot = self.take_slot()?;
        self.send_staged(slot, sqe, range.as_bytes())
    }

    /// Reads up to `buffer_bytes` bytes of pairs, at most `pairs_max` of them (0: as many as fit), from `seek` on or from
    /// where the iterator stands. DW1 of the completion is [`NextAnswer`](saker_nvme::vendor_specific::NextAnswer).
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn iterator_next(
        &mut self,
        iterator: u32,
        (buffer_bytes, pairs_max): (u32, u32),
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<Ticket, SubmitError> {
        let command = IteratorCommand::Next { iterator, buffer_bytes, pairs_max, backwards, seek };
        self.receive(command.encode(self.nsid), Shape::Value, buffer_bytes)
    }

    /// The same into an owned buffer of as many bytes as may come.
    ///
    /// # Errors
    /// [`Returned`] gives the buffer back.
    pub fn iterator_next_into(
        &mut self,
        iterator: u32,
        (buffer_bytes, pairs_max): (u32, u32),
        backwards: bool,
        seek: Option<Key>,
        buffer: Vec<u8>,
    ) -> Result<Ticket, Returned> {
        debug_assert_eq!(buffer.len(), buffer_bytes as usize, "what the device may write is lent");
        let command = IteratorCommand::Next { iterator, buffer_bytes, pairs_max, backwards, seek };
        self.lend_and_launch(command.encode(self.nsid), Shape::Value, buffer)
    }

    /// Fetches a piece of the next pair, as [`iterator_next`](Self::iterator_next) would bring it alone, of at most so many bytes from
    /// `offset` on.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn iterator_piece(
        &mut self,
        iterator: u32,
        (buffer_bytes, offset): (u32, u32),
        backwards: bool,
        seek: Option<Key>,
    ) -> Result<Ticket, SubmitError> {
        let command = IteratorCommand::Piece { iterator, buffer_bytes, offset, backwards, seek };
        self.receive(command.encode(self.nsid), Shape::Value, buffer_bytes)
    }

    /// Ends an iterator.
    ///
    /// # Errors
    /// [`SubmitError`].
    pub fn iterator_close(&mut self, iterator: u32) -> Result<Ticket, SubmitError> {
        let sqe = IteratorCommand::Close { iterator }.encode(self.nsid);
        let slot = self.take_slot()?;
        self.launch(slot, &sqe, DataPlace::Elsewhere, Shape::ToDevice, 0)
    }
}
