// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The pairs of a batch as a payload of form store, in the memory of the device until they are sent as a whole.

use super::Range;
use saker_engine::Pairs;
use saker_nvme::group::{COUNT_BYTES, LENGTH_BYTES, Op, entry_bytes, padded};

/// Keys of engines are no longer.
const KEY_BYTES_MAX: usize = saker_nvme::Key::MAX_LEN;
/// The longest key between two lengths.
const HEAD_BYTES_MAX: usize = 2 * LENGTH_BYTES + padded(KEY_BYTES_MAX);

/// Takes pairs as long as they lie in a range and fit.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    range: &'a Range,
    backwards: bool,
    bytes_max: usize,
    pairs_max: u32,
    /// Pairs that were wanted, and what they take at most.
    wanted: (u32, usize),
    bytes: Vec<u8>,
    /// Bytes of the value that are still to come.
    value_left: usize,
    /// The range has no more pairs.
    pub(super) is_behind: bool,
    /// A payload of that length takes the first pair, if it did not fit.
    pub(super) needed: u32,
    /// The last key.
    last: [u8; KEY_BYTES_MAX],
    last_bytes: usize,
}

impl<'a> Payload<'a> {
    /// `memory` is used again, whatever is in it.
    pub(super) fn new(
        range: &'a Range,
        backwards: bool,
        (bytes_max, pairs_max): (u32, u32),
        mut memory: Vec<u8>,
    ) -> Self {
        // The count comes last.
        memory.resize(COUNT_BYTES, 0);
        Self {
            range,
            backwards,
            bytes_max: bytes_max as usize,
            pairs_max,
            wanted: (0, COUNT_BYTES),
            bytes: memory,
            value_left: 0,
            is_behind: false,
            needed: 0,
            last: [0; KEY_BYTES_MAX],
            last_bytes: 0,
        }
    }

    /// The last key; empty without any pair.
    pub(super) fn last(&self) -> &[u8] {
        &self.last[..self.last_bytes]
    }

    /// The payload; empty without any pair.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if self.wanted.0 == 0 {
            self.bytes.clear();
        } else {
            self.bytes[..COUNT_BYTES].copy_from_slice(&self.wanted.0.to_le_bytes());
        }
        self.bytes
    }

    fn lies_in_range(&self, key: &[u8]) -> bool {
        if self.backwards { self.range.begins_at(key) } else { self.range.ends_behind(key) }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn pad(&mut self) {
        self.bytes.resize(padded(self.bytes.len()), 0);
    }
}

impl Pairs for Payload<'_> {
    #[inline]
    fn wants(&mut self, key: &[u8], value_bytes_max: u32) -> bool {
        self.is_behind = !self.lies_in_range(key);
        let (pairs, bytes) = self.wanted;
        if self.is_behind || pairs >= self.pairs_max {
            return false;
        }
        let bytes = bytes + entry_bytes(Op::Store, key.len(), value_bytes_max as usize);
        if bytes > self.bytes_max {
            self.needed = if pairs == 0 { bytes as u32 } else { 0 };
            return false;
        }
        self.wanted = (pairs + 1, bytes);
        true
    }

    #[inline]
    fn pair(&mut self, key: &[u8], value_bytes: u32) {
        assert_eq!(self.value_left, 0, "a value is complete before the next pair");
        // Lengths, key and zeros in one piece.
        let mut head = [0; HEAD_BYTES_MAX];
        let behind = LENGTH_BYTES + padded(key.len());
        head[..LENGTH_BYTES].copy_from_slice(&(key.len() as u32).to_le_bytes());
        head[LENGTH_BYTES..LENGTH_BYTES + key.len()].copy_from_slice(key);
        head[behind..behind + LENGTH_BYTES].copy_from_slice(&value_bytes.to_le_bytes());
        self.push(&head[..behind + LENGTH_BYTES]);
        self.value_left = value_bytes as usize;
        (self.last, self.last_bytes) = ([0; KEY_BYTES_MAX], key.len());
        self.last[..key.len()].copy_from_slice(key);
    }

    #[inline]
    fn whole(&mut self, key: &[u8], value: &[u8]) {
        let Some(longest) = key.first_chunk::<KEY_BYTES_MAX>().filter(|_| key.len() == KEY_BYTES_MAX) else {
            self.pair(key, value.len() as u32);
            if !value.is_empty() {
                self.value(value);
            }
            return;
        };
        assert_eq!(self.value_left, 0, "a value is complete before the next pair");
        // Of a key of the longest kind all lengths are known beforehand.
        let mut head = [0; HEAD_BYTES_MAX];
        let (key_bytes, rest) = head.split_at_mut(LENGTH_BYTES);
        let (key_place, value_bytes) = rest.split_at_mut(KEY_BYTES_MAX);
        key_bytes.copy_from_slice(&(KEY_BYTES_MAX as u32).to_le_bytes());
        key_place.copy_from_slice(longest);
        value_bytes.copy_from_slice(&(value.len() as u32).to_le_bytes());
        self.bytes.reserve(HEAD_BYTES_MAX + padded(value.len()));
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(value);
        if !value.len().is_multiple_of(LENGTH_BYTES) {
            self.pad();
        }
        (self.last, self.last_bytes) = (*longest, KEY_BYTES_MAX);
    }

    #[inline]
    fn value(&mut self, bytes: &[u8]) {
        self.push(bytes);
        self.value_left -= bytes.len();
        if self.value_left == 0 {
            self.pad();
        }
    }
}
