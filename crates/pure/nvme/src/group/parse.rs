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
    let mut cursor = Cursor { bytes: payload.len(), rest: payload };
    let count = cursor.number()?;
    if count == 0 {
        return Err(Malformed { at: 0, reason: Reason::Empty });
    }
    for _ in 0..count {
        visit(cursor.entry(form)?);
    }
    if cursor.rest.is_empty() { Ok(count) } else { Err(cursor.wrong(cursor.at(), Reason::Trailing)) }
}

struct Cursor<'a> {
    /// Of the whole payload.
    bytes: usize,
    /// What has not been read.
    rest: &'a [u8],
}

impl Cursor<'_> {
    #[inline]
    fn at(&self) -> usize {
        self.bytes - self.rest.len()
    }

    #[cold]
    fn wrong(&self, at: usize, reason: Reason) -> Malformed {
        Malformed { at: at as u32, reason }
    }

    /// The four bytes at the cursor, which moves behind them.
    #[inline]
    fn number(&mut self) -> Result<u32, Malformed> {
        let Some((bytes, rest)) = self.rest.split_first_chunk() else {
            return Err(self.wrong(self.at(), Reason::Truncated));
        };
        self.rest = rest;
        Ok(u32::from_le_bytes(*bytes))
    }

    #[inline]
    fn entry(&mut self, form: Form) -> Result<Entry, Malformed> {
        let op = match form {
            Form::All(op) => op,
            Form::Mixed => self.op()?,
        };
        let at = self.at();
        let key_bytes = self.number()? as usize;
        if key_bytes == 0 || key_bytes > KEY_BYTES_MAX {
            return Err(self.wrong(at, Reason::KeySize));
        }
        let key = self.padded_bytes(at, key_bytes)?;
        let value = if op == Op::Store { self.value()? } else { 0..0 };
        Ok(Entry { op, key, value })
    }

    /// A type: the bits above its number are reserved.
    #[inline]
    fn op(&mut self) -> Result<Op, Malformed> {
        let at = self.at();
        let number = self.number()?;
        Op::from_number(number).ok_or_else(|| self.wrong(at, Reason::Type))
    }

    #[inline]
    fn value(&mut self) -> Result<Range<u32>, Malformed> {
        let at = self.at();
        let bytes = self.number()? as usize;
        self.padded_bytes(at, bytes)
    }

    /// `bytes` bytes at the cursor, and the zeros behind them. `told_at`: where their number is.
    #[inline]
    fn padded_bytes(&mut self, told_at: usize, bytes: usize) -> Result<Range<u32>, Malformed> {
        let start = self.at();
        // A length is below 2^32 and a payload is in memory: no sum of the two overflows 64 bits.
        let Some((here, rest)) = self.rest.split_at_checked(padded(bytes)) else {
            return Err(self.wrong(told_at, Reason::Truncated));
        };
        if !bytes.is_multiple_of(LENGTH_BYTES) && here.iter().skip(bytes).any(|b| *b != 0) {
            return Err(self.wrong(start + bytes, Reason::Padding));
        }
        self.rest = rest;
        Ok(start as u32..(start + bytes) as u32)
    }
}

// Offsets are 32 bits wide and sums of two lengths must not overflow.
const _: () = assert!(usize::BITS >= 64 && COUNT_BYTES == LENGTH_BYTES);
