// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Building a payload in memory that is there: one copy per key and value.

use super::layout::{COUNT_BYTES, Form, KEY_BYTES_MAX, LENGTH_BYTES, Op, entry_bytes, padded};

/// Why an entry was not added. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The payload would outgrow its memory.
    #[error("the group is full")]
    Full,
    /// The key is empty or longer than 255 bytes.
    #[error("a key of a group has 1 to 255 bytes")]
    KeySize,
    /// Groups that are not mixed have entries of one type.
    #[error("the group has entries of another type")]
    Type,
}

/// A payload that grows within a buffer.
#[derive(Debug)]
pub struct Packer<'a> {
    form: Form,
    buffer: &'a mut [u8],
    bytes: usize,
    count: u32,
}

impl<'a> Packer<'a> {
    /// An empty payload in `buffer`; `None` if it has no room for the count.
    #[inline]
    #[must_use]
    pub fn new(form: Form, buffer: &'a mut [u8]) -> Option<Self> {
        (buffer.len() >= COUNT_BYTES).then_some(Self { form, buffer, bytes: COUNT_BYTES, count: 0 })
    }

    /// A payload of `count` entries in the first `bytes` bytes of `buffer`, as [`Packer::parts`] left it.
    #[inline]
    #[must_use]
    pub fn resume(form: Form, buffer: &'a mut [u8], (bytes, count): (usize, u32)) -> Option<Self> {
        let fits = bytes >= COUNT_BYTES && bytes <= buffer.len();
        fits.then_some(Self { form, buffer, bytes, count })
    }

    /// Bytes and entries so far.
    #[inline]
    #[must_use]
    pub fn parts(&self) -> (usize, u32) {
        (self.bytes, self.count)
    }

    /// Adds an entry. `value` counts for stores only.
    ///
    /// # Errors
    /// [`Refused`].
    #[inline]
    pub fn push(&mut self, op: Op, key: &[u8], value: &[u8]) -> Result<(), Refused> {
        let lead = match self.form {
            Form::All(only) if only != op => return Err(Refused::Type),
            Form::All(_) => None,
            Form::Mixed => Some(op as u32),
        };
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return Err(Refused::KeySize);
        }
        let length = self.form.lead_bytes() + entry_bytes(op, key.len(), value.len());
        let end = self.bytes + length;
        let Some(mut out) = self.buffer.get_mut(self.bytes..end) else { return Err(Refused::Full) };
        if let Some(kind) = lead {
            out = put(out, &kind.to_le_bytes());
        }
        out = put_counted(out, key);
        if op == Op::Store {
            put_counted(out, value);
        }
        self.bytes = end;
        self.count += 1;
        Ok(())
    }

    /// Writes the count; returns the bytes of the payload. An empty one is refused by every device.
    #[inline]
    pub fn finish(self) -> usize {
        put(self.buffer, &self.count.to_le_bytes());
        self.bytes
    }
}

/// Copies `bytes` to the beginning of `out`; returns what is behind them.
#[inline]
pub(super) fn put<'a>(out: &'a mut [u8], bytes: &[u8; LENGTH_BYTES]) -> &'a mut [u8] {
    match out.split_first_chunk_mut() {
        Some((here, rest)) => {
            *here = *bytes;
            rest
        }
        None => &mut [],
    }
}

/// Length, bytes, zeros.
#[inline]
pub(super) fn put_counted<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let out = put(out, &(bytes.len() as u32).to_le_bytes());
    match out.split_at_mut_checked(padded(bytes.len())) {
        Some((here, rest)) => {
            if bytes.len() <= FEW_BYTES {
                put_few(here, bytes)
            } else {
                put_many(here, bytes)
            }
            rest
        }
        None => &mut [],
    }
}

/// Up to so many bytes are copied in place: a call takes longer.
const FEW_BYTES: usize = 64;

/// By words of eight and four bytes; `out` has room for the zeros behind the last.
#[inline]
fn put_few(mut out: &mut [u8], bytes: &[u8]) {
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let Some((here, behind)) = out.split_first_chunk_mut() else { return };
        *here = *word;
        out = behind;
    }
    let (halves, last) = rest.as_chunks::<4>();
    for half in halves {
        out = put(out, half);
    }
    if !last.is_empty() {
        put(
            out,
            &last.iter().rev().fold(0, |number: u32, byte| number << 8 | u32::from(*byte)).to_le_bytes(),
        );
    }
}

fn put_many(out: &mut [u8], bytes: &[u8]) {
    if let Some((here, zeros)) = out.split_at_mut_checked(bytes.len()) {
        here.copy_from_slice(bytes);
        zeros.fill(0);
    }
}
