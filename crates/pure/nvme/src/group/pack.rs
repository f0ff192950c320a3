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
fn put<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    match out.split_at_mut_checked(bytes.len()) {
        Some((here, rest)) => {
            here.copy_from_slice(bytes);
            rest
        }
        None => &mut [],
    }
}

/// Length, bytes, zeros.
#[inline]
fn put_counted<'a>(out: &'a mut [u8], bytes: &[u8]) -> &'a mut [u8] {
    let out = put(out, &(bytes.len() as u32).to_le_bytes());
    let out = put(out, bytes);
    put(out, [0; LENGTH_BYTES].get(..padded(bytes.len()) - bytes.len()).unwrap_or_default())
}
