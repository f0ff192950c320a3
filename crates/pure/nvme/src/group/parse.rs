// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading a payload: every byte of it is checked before anybody acts on any of it.

use core::ops::Range;

use super::layout::{COUNT_BYTES, Form, KEY_BYTES_MAX, LENGTH_BYTES, Op, padded};
use crate::Status;

/// An entry: what it asks for, and where its key and value lie in the payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it asks for.
    pub op: Op,
    /// The key, 1 to 255 bytes. Its length is in the four bytes before it.
    pub key: Range<u32>,
    /// The value; empty unless `op` is a store, whose length is then in the four bytes before it.
    pub value: Range<u32>,
}

/// Why a payload is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has no entries.
    Empty,
    /// A count or a length leads past its end.
    Truncated,
    /// There are bytes behind the last entry.
    Trailing,
    /// A key length of 0 or above 255.
    KeySize,
    /// A pad byte is not zero.
    Padding,
    /// A type is unknown, or a reserved bit of it is set.
    Type,
    /// A version of another length.
    Version,
    /// A range that is too short, or ends with what cannot be a key.
    Range,
}

/// A payload that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed group at byte {at}: {reason:?}")]
pub struct Malformed {
    /// Offset in the payload of the field that is wrong.
    pub at: u32,
    /// What is wrong with it.
    pub reason: Reason,
}

impl Malformed {
    /// The status that tells a host.
    #[must_use]
    pub const fn status(self) -> Status {
        match self.reason {
            Reason::KeySize => Status::INVALID_KEY_SIZE,
            _ => Status::INVALID_FIELD,
        }
    }
}

/// Reads a payload of at most 4 GiB and shows each entry to `visit`. All of it must be one: `visit` may have seen entries
/// before the error is found.
///
/// # Errors
/// [`Malformed`]: the first thing that is wrong.
#[inline]
pub fn parse(form: Form, payload: &[u8], mut visit: impl FnMut(Entry)) -> Result<u32, Malformed> {
    let mut left = count(payload)?;
    let mut at = COUNT_BYTES;
    while left.take() {
        let (entry, end) = entry_at(form, payload, at)?;
        visit(entry);
        at = end;
    }
    left.ends(payload, at)
}

/// The same for a payload whose reader marks it as it goes: `visit` gets the bytes of the entry from its key length on, too, and may
/// change them.
///
/// # Errors
/// As [`parse`].
#[inline]
pub fn parse_mut(
    form: Form,
    payload: &mut [u8],
    mut visit: impl FnMut(Entry, &mut [u8]),
) -> Result<u32, Malformed> {
    let mut left = count(payload)?;
    let mut at = COUNT_BYTES;
    while left.take() {
        let (entry, end) = entry_at(form, payload, at)?;
        if let Some(bytes) = payload.get_mut(at + form.lead_bytes()..end) {
            visit(entry, bytes);
        }
        at = end;
    }
    left.ends(payload, at)
}

/// How many entries are still to come, of how many.
pub(super) struct Left {
    count: u32,
    taken: u32,
}

impl Left {
    /// Whether there is another one.
    #[inline]
    pub(super) fn take(&mut self) -> bool {
        let more = self.taken < self.count;
        self.taken += u32::from(more);
        more
    }

    #[inline]
    pub(super) fn ends(&self, payload: &[u8], at: usize) -> Result<u32, Malformed> {
        if at == payload.len() { Ok(self.count) } else { Err(wrong(at, Reason::Trailing)) }
    }
}

#[inline]
pub(super) fn count(payload: &[u8]) -> Result<Left, Malformed> {
    match number(payload, 0)? {
        0 => Err(wrong(0, Reason::Empty)),
        count => Ok(Left { count, taken: 0 }),
    }
}

#[cold]
pub(super) fn wrong(at: usize, reason: Reason) -> Malformed {
    Malformed { at: at as u32, reason }
}

/// The four bytes at `at`.
#[inline]
pub(super) fn number(payload: &[u8], at: usize) -> Result<u32, Malformed> {
    match payload.get(at..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => Ok(u32::from_le_bytes(*bytes)),
        None => Err(wrong(at, Reason::Truncated)),
    }
}

/// The entry at `at`, and where it ends.
#[inline(always)]
fn entry_at(form: Form, payload: &[u8], at: usize) -> Result<(Entry, usize), Malformed> {
    let op = match form {
        Form::All(op) => op,
        // The bits above its number are reserved.
        Form::Mixed => Op::from_number(number(payload, at)?).ok_or_else(|| wrong(at, Reason::Type))?,
    };
    let at = at + form.lead_bytes();
    let key_bytes = number(payload, at)? as usize;
    if key_bytes == 0 || key_bytes > KEY_BYTES_MAX {
        return Err(wrong(at, Reason::KeySize));
    }
    let (key, end) = padded_bytes(payload, at, key_bytes)?;
    if op != Op::Store {
        return Ok((Entry { op, key, value: 0..0 }, end));
    }
    let value_bytes = number(payload, end)? as usize;
    let (value, end) = padded_bytes(payload, end, value_bytes)?;
    Ok((Entry { op, key, value }, end))
}

/// The `bytes` bytes behind their length, which is at `at`, and where the zeros behind them end.
#[inline]
pub(super) fn padded_bytes(
    payload: &[u8],
    at: usize,
    bytes: usize,
) -> Result<(Range<u32>, usize), Malformed> {
    let start = at + LENGTH_BYTES;
    // A length is below 2^32 and a payload is in memory: no sum of the two overflows 64 bits.
    let (stop, end) = (start + bytes, start + padded(bytes));
    let Some(zeros) = payload.get(stop..end) else { return Err(wrong(at, Reason::Truncated)) };
    if stop != end && zeros.iter().any(|b| *b != 0) {
        return Err(wrong(stop, Reason::Padding));
    }
    Ok((start as u32..stop as u32, end))
}

// Offsets are 32 bits wide and sums of two lengths must not overflow.
const _: () = assert!(usize::BITS >= 64 && COUNT_BYTES == LENGTH_BYTES);
