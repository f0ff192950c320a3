// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Names of commands in flight, and what comes back for them.

use std::ops::Range;

use saker_nvme::Status;

/// One submitted command. Slots are used again and again; the generation tells their commands apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(super) slot: u16,
    pub(super) generation: u32,
}

impl Ticket {
    #[cfg(test)]
    pub(crate) const fn of(slot: u16, generation: u32) -> Self {
        Self { slot, generation }
    }

    /// The slot's index, which is the command identifier: below the queue's number of slots, and of no other command in
    /// flight. For tables beside the queue.
    #[inline]
    #[must_use]
    pub const fn slot(self) -> u16 {
        self.slot
    }
}

/// A completed command. Its slot is released after the visit, so data is read or copied there.
#[derive(Debug)]
pub struct Done<'a> {
    /// Which command.
    pub ticket: Ticket,
    /// How it ended.
    pub status: Status,
    /// DW0 of the completion: for Retrieve the size of the whole value in bytes.
    pub result: u32,
    /// DW1 of the completion: for groups the length of their results in bytes.
    pub result_high: u32,
    pub(super) bytes: Bytes<'a>,
}

/// Where the data is.
#[derive(Debug)]
pub(super) enum Bytes<'a> {
    Staged(&'a [u8]),
    Owned(&'a mut Vec<u8>, Range<usize>),
}

impl Done<'_> {
    /// What the device wrote, in place: of a Retrieve as much of the value as the buffer took, of a List or a raw
    /// command the whole buffer. Empty after a failure, and for commands without data to the host.
    #[inline]
    #[must_use]
    pub fn data(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Staged(data) => data,
            Bytes::Owned(buffer, range) => buffer.get(range.clone()).unwrap_or_default(),
        }
    }

    /// The data as a vector: an owned buffer itself where it is aligned, else a copy.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        match self.bytes {
            Bytes::Staged(data) => data.to_vec(),
            Bytes::Owned(buffer, range) if range.start == 0 => {
                let mut data = std::mem::take(buffer);
                data.truncate(range.end);
                data
            }
            Bytes::Owned(buffer, range) => buffer.get(range).unwrap_or_default().to_vec(),
        }
    }

    /// The whole of an owned buffer, and where in it the data is.
    ///
    /// # Errors
    /// The command again, if its data is elsewhere.
    pub fn into_buffer(self) -> Result<(Vec<u8>, Range<usize>), Self> {
        match self.bytes {
            Bytes::Owned(buffer, range) => Ok((std::mem::take(buffer), range)),
            Bytes::Staged(_) => Err(self),
        }
    }
}
