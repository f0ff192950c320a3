// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What became of the operations of a group: the list of results of HotStorage'19, section 5.
//!
//! ```text
//! count u32
//! per operation, in the order of the group:
//!   result u32: status without phase tag in bits 15:0, reserved 30:16, bit 31: the value did not fit
//!   bytes u32: length of the value
//!   the value, and zeros up to a multiple of four, unless bit 31 is set
//! ```
//!
//! Values come back in bulk, as the paper assumes, but without their keys: the order tells them.

use super::layout::{COUNT_BYTES, LENGTH_BYTES, padded};
use crate::Status;

/// Bytes of a result before its value.
pub const RESULT_BYTES: usize = 2 * LENGTH_BYTES;
/// The value did not fit.
const LEFT_OUT: u32 = 1 << 31;

/// One operation's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpResult<'a> {
    /// How it ended.
    pub status: Status,
    /// Length of the value it found, in bytes.
    pub bytes: u32,
    /// The value; `None` if it did not fit, empty for operations that return none.
    pub value: Option<&'a [u8]>,
}

/// Bytes of results with values of these lengths in bytes.
#[must_use]
pub fn results_bytes(values: impl IntoIterator<Item = usize>) -> usize {
    values.into_iter().fold(COUNT_BYTES, |sum, bytes| sum + RESULT_BYTES + padded(bytes))
}

/// Builds results of at most a given size.
#[derive(Clone, Debug, Default)]
pub struct ResultsWriter {
    bytes: Vec<u8>,
    bytes_max: usize,
    /// Bytes that results without values still need.
    owed: usize,
    failed: u32,
    /// Bytes of the value being written that are still to come.
    open: usize,
}

impl ResultsWriter {
    /// For `count` operations within `bytes_max` bytes. Results without values always fit.
    #[must_use]
    pub fn new(count: u32, bytes_max: usize) -> Self {
        let mut bytes = Vec::with_capacity(COUNT_BYTES + count as usize * RESULT_BYTES);
        bytes.extend_from_slice(&count.to_le_bytes());
        Self { bytes, bytes_max, owed: count as usize * RESULT_BYTES, failed: 0, open: 0 }
    }

    /// The next operation's result without a value.
    pub fn push(&mut self, status: Status) {
        self.failed += u32::from(!status.is_success());
        self.head(u32::from(status.shifted()), 0);
    }

    /// The next `count` operations succeeded, without a value.
    pub fn push_successes(&mut self, count: u32) {
        const { assert!(Status::SUCCESS.shifted() == 0, "such a result is nothing but zeros") }
        let bytes = count as usize * RESULT_BYTES;
        self.owed = self.owed.saturating_sub(bytes);
        self.bytes.resize(self.bytes.len() + bytes, 0);
    }

    /// The next operation found a value of `bytes` bytes. True if it is to be given with [`ResultsWriter::value`].
    pub fn begin_value(&mut self, bytes: u32) -> bool {
        let fits = self.bytes.len() + self.owed + padded(bytes as usize) <= self.bytes_max;
        let word = u32::from(Status::SUCCESS.shifted()) | if fits { 0 } else { LEFT_OUT };
        self.head(word, bytes);
        self.open = if fits { bytes as usize } else { 0 };
        if self.bytes.capacity() - self.bytes.len() < self.open {
            self.make_room(bytes as usize);
        }
        if bytes == 0 { false } else { fits }
    }

    /// Makes room for a value and for the results to come as well, if they are like this one.
    #[cold]
    fn make_room(&mut self, value_bytes: usize) {
        let alike = self.owed / RESULT_BYTES * (RESULT_BYTES + padded(value_bytes)) + padded(value_bytes);
        self.bytes.reserve(alike.min(self.bytes_max.saturating_sub(self.bytes.len())));
    }

    /// The next operation found a value of `bytes` bytes that is not to be had here.
    pub fn leave_out(&mut self, bytes: u32) {
        self.head(u32::from(Status::SUCCESS.shifted()) | LEFT_OUT, bytes);
    }

    /// The next bytes of the value.
    pub fn value(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= self.open);
        self.bytes.extend_from_slice(bytes);
        self.open = self.open.saturating_sub(bytes.len());
        if self.open == 0 {
            self.bytes.resize(padded(self.bytes.len()), 0);
        }
    }

    fn head(&mut self, word: u32, bytes: u32) {
        self.owed = self.owed.saturating_sub(RESULT_BYTES);
        self.bytes.extend_from_slice(&word.to_le_bytes());
        self.bytes.extend_from_slice(&bytes.to_le_bytes());
    }

    /// Operations that failed so far.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.failed
    }

    /// The results.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Reads results.
#[derive(Clone, Debug)]
pub struct ResultsReader<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> ResultsReader<'a> {
    /// Over the bytes a device returned, which may be followed by others; `None` if there are too few.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (count, rest) = number(bytes)?;
        Some(Self { rest, left: count })
    }

    /// Results left.
    #[must_use]
    pub fn left(&self) -> u32 {
        self.left
    }

    /// The next result; `None` at the end, or where the bytes are not results.
    fn read(&mut self) -> Option<OpResult<'a>> {
        let (word, rest) = number(self.rest)?;
        let (bytes, rest) = number(rest)?;
        let status = Status::from_shifted(word as u16);
        if word & LEFT_OUT != 0 {
            self.rest = rest;
            return Some(OpResult { status, bytes, value: None });
        }
        let value = rest.get(..bytes as usize)?;
        self.rest = rest.get(padded(bytes as usize)..)?;
        Some(OpResult { status, bytes, value: Some(value) })
    }
}

impl<'a> Iterator for ResultsReader<'a> {
    type Item = OpResult<'a>;

    fn next(&mut self) -> Option<OpResult<'a>> {
        self.left = self.left.checked_sub(1)?;
        self.read()
    }
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk()?;
    Some((u32::from_le_bytes(*head), rest))
}
