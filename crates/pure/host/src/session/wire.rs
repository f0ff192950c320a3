// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What sessions need of a queue pair.

use saker_nvme::group::Form;
use saker_nvme::vendor_specific::IteratorRange;
use saker_nvme::{Key, Status};

use crate::error::HostError;
use crate::kv_queue::{KvQueue, SubmitError};

/// A command.
#[derive(Clone, Copy, Debug)]
pub enum Command<'a> {
    /// Many operations.
    Group {
        /// Form of the payload.
        form: Form,
        /// Under what the results are kept.
        id: Key,
        /// The operations.
        payload: &'a [u8],
    },
    /// Results of a group.
    Results {
        /// Under what they are kept.
        id: Key,
        /// Bytes to fetch at most.
        bytes: u32,
    },
    /// Store.
    Store(&'a Key, &'a [u8]),
    /// Delete.
    Delete(&'a Key),
    /// Retrieve of up to so many bytes.
    Retrieve(&'a Key, u32),
    /// Exist.
    Exist(&'a Key),
    /// List from a key on, or from the beginning, into so many bytes.
    List(Option<&'a Key>, u32),
    /// Iterator Open over a range, as of now.
    IteratorOpen(&'a IteratorRange),
    /// Iterator Next: pairs in rising order, into so many bytes.
    IteratorNext {
        /// Its number.
        iterator: u32,
        /// Bytes of the buffer.
        bytes: u32,
    },
    /// Iterator Next: a piece of the next pair.
    IteratorPiece {
        /// Its number.
        iterator: u32,
        /// Bytes of the buffer.
        bytes: u32,
        /// Where the piece begins.
        offset: u32,
    },
    /// Iterator Close.
    IteratorClose(u32),
    /// Flush.
    Flush,
}

/// A completion.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The slot that the command was submitted in.
    pub slot: u16,
    /// How it ended.
    pub status: Status,
    /// DW0.
    pub dw0: u32,
    /// DW1.
    pub dw1: u32,
    /// What the device wrote.
    pub data: &'a [u8],
}

/// A queue pair of one namespace. Commands in flight are executed in no order.
pub trait Wire {
    /// Commands that can be in flight.
    fn slots(&self) -> usize;
    /// Longest payload of a group in bytes; 0 without groups.
    fn group_bytes_max(&self) -> usize;
    /// Whether the device knows iterators.
    fn has_iterators(&self) -> bool;
    /// A number that no other queue pair of the device has at this time.
    fn name(&self) -> u16;
    /// Submits a command; its slot is below [`slots`](Self::slots) and no other command's until its completion is taken.
    ///
    /// # Errors
    /// [`SubmitError`].
    fn submit(&mut self, command: Command<'_>) -> Result<u16, SubmitError>;
    /// Announces what was submitted.
    fn ring(&mut self);
    /// Shows the next completion to `visit`; false if there is none.
    ///
    /// # Errors
    /// The device is broken, or gone.
    fn poll(&mut self, visit: &mut dyn FnMut(Answer<'_>)) -> Result<bool, HostError>;
}

impl Wire for KvQueue {
    fn slots(&self) -> usize {
        Self::slots(self)
    }

    fn group_bytes_max(&self) -> usize {
        let available = self.available();
        if available.methods.groups() { available.group_bytes_max as usize } else { 0 }
    }

    fn has_iterators(&self) -> bool {
        self.available().methods.iterators()
    }

    fn name(&self) -> u16 {
        self.pair().queue()
    }

    #[inline]
    fn submit(&mut self, command: Command<'_>) -> Result<u16, SubmitError> {
        let ticket = match command {
            Command::Group { form, id, payload } => self.group(form, Some(id), payload),
            Command::Results { id, bytes } => self.group_results(id, bytes),
            Command::Store(key, value) => self.store(key, value, saker_nvme::kv::StoreOptions::NONE),
            Command::Delete(key) => self.delete(key),
            Command::Retrieve(key, bytes) => self.retrieve(key, bytes),
            Command::Exist(key) => self.exist(key),
            Command::List(from, bytes) => self.list(from, bytes),
            Command::IteratorOpen(range) => self.iterator_open(range, false, None),
            Command::IteratorNext { iterator, bytes } => {
                self.iterator_next(iterator, (bytes, 0), false, None)
            }
            Command::IteratorPiece { iterator, bytes, offset } => {
                self.iterator_piece(iterator, (bytes, offset), false, None)
            }
            Command::IteratorClose(iterator) => self.iterator_close(iterator),
            Command::Flush => self.flush(),
        };
        ticket.map(|ticket| ticket.slot())
    }

    fn ring(&mut self) {
        Self::ring(self);
    }

    #[inline]
    fn poll(&mut self, visit: &mut dyn FnMut(Answer<'_>)) -> Result<bool, HostError> {
        let polled = Self::poll(self, |done| {
            visit(Answer {
                slot: done.ticket.slot(),
                status: done.status,
                dw0: done.result,
                dw1: done.result_high,
                data: done.data(),
            });
        });
        if self.is_amid_value() && self.continue_value() > 0 {
            Self::ring(self);
        }
        match polled {
            None => Ok(false),
            Some(answer) => answer.map(|()| true).map_err(HostError::from),
        }
    }
}
